import {
  APPLICATIONS,
  ENTITIES,
  KEY_TRANSACTION_DETAILS,
  KEY_TRANSACTIONS,
  USER,
  type Document,
} from '../../api/nerdgraph/documents.ts';
import { applicationIdOf } from '../../api/nerdgraph/keyTransactions.ts';
import {
  all,
  rowsOf,
  equals,
  filled,
  isIn,
  isLike,
  isNotNull,
  nrql,
  TIMESLICE,
  type Attribute,
  type Condition,
  type QueryParts,
} from '../../api/nerdgraph/nrql.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import { isList, hasMembers, type Json } from '../../api/http/validation.ts';
import { UpstreamError, type Application, type FailureReason } from '../../api/types.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import { readEach } from '../upstream/readForCommand.ts';
import { before, numberAt, objectsIn, probe, TEN_MINUTES } from './connections.ts';
import type { GraphAccount, Probe } from './connections.ts';
import { count, holds, ratio, undecided, word, type Judged, type Seen } from './evidence.ts';
import type { FactId } from './facts.ts';
import {
  judgeCut,
  judgeFacets,
  judgeFields,
  judgeFirstFunction,
  judgeLimitMax,
  judgeOtherResult,
  sum,
} from './judges.ts';
import { DAY, HOUR, PACK_FACTS, type PackFact } from './nerdgraphFacts.ts';
import { NO_METRIC, readMinutes } from './restProbes.ts';

const NAME = 'metricTimesliceName';
/** An account that cannot exist: the largest number that NerdGraph accepts. */
const FOREIGN_ACCOUNT = 2_147_483_647;
/** The limit of a query that has to leave rows out. */
const FEW_ROWS = 5;
/** The length of the longest query that the exporter writes. */
const MAX_CHARACTERS = 8_000;
/** Sums over a whole application: none of their rows should have a scope, which is a single transaction. */
const SUMS = [METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex, METRIC.memory, METRIC.cpu] as const;
const IS_ALIVE = equals(NAME, SIGN_OF_LIFE);

function counting(where: Condition, range: QueryParts['range'], facet: readonly Attribute[] = []): QueryParts {
  return { select: [{ of: 'count', from: TIMESLICE, as: 'c' }], where, facet, range };
}

/** The query that counts timeslices of the largest application over ten minutes. */
function countingOfLargest(account: GraphAccount, where: Condition, facet: readonly Attribute[] = []): QueryParts {
  return counting(all([equals('appId', account.first.id), where]), before(account.to, TEN_MINUTES), facet);
}

const rowsIn = (result: Json): readonly Json[] => objectsIn(result['results']);

async function hasRows({ graph, to }: GraphAccount, where: Condition): Promise<boolean> {
  const rows = rowsIn(await graph.result(counting(where, before(to, TEN_MINUTES))));
  return rows.some((row) => numberAt(row, 'c') > 0);
}

const facetOf = (row: Json): string => [row['facet'] ?? []].flat().map(String).join('\n');

/** A minute of the hour that is on none of the steps (5, 10, 15, 20, 30 or 60 minutes) to which New Relic may cut a range. */
const OFF_MINUTE = 27;

/**
 * Checks that New Relic moves neither end of a range by more than the exporter assumes, even where the range ends off every step.
 *
 * @param seconds the length of the range
 * @param most the longest move that is assumed, in seconds
 */
function checkWindow(seconds: number, maxShift: number): (account: GraphAccount) => Promise<Judged> {
  return async (account) => {
    const range = before(account.to - ((account.to - OFF_MINUTE * 60) % HOUR), seconds);
    const { window } = rowsOf(await account.graph.result({ ...countingOfLargest(account, IS_ALIVE), range }));
    return judgeCut(range, window, maxShift);
  };
}

async function checkHostQuery(
  { graph, to }: Pick<GraphAccount, 'graph' | 'to'>,
  hosts: readonly { readonly id: number; readonly key: string }[],
): Promise<Judged> {
  if (hosts.length === 0) return undecided('no host');
  const metrics = graph.reader.select([METRIC.web, METRIC.memory, SIGN_OF_LIFE]);
  const subjectOf = ({ id, key }: (typeof hosts)[number]) => ({ applicationId: id, hostKey: key, metrics });
  return heldUnless('other', async () => {
    await readEach(graph.reader.metricData, hosts, subjectOf, before(to, TEN_MINUTES), graph.call);
    return holds(true, count('hosts', hosts.length));
  });
}

/** The verdict of a read. Only a failure for this reason shows that the fact differs; any other is thrown. */
async function heldUnless(reason: 'other' | 'invalid_response', read: () => Promise<Judged>): Promise<Judged> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.failure.reason !== reason) throw error;
    return holds(false, word('failure', reason));
  }
}

/** Decides whether a query was accepted: a complaint about it means that the fact differs, any other error is a failure. */
function judgeRefusal(end: NrqlEnd): Judged {
  if (end.kind !== 'failed') return holds(end.kind !== 'too_big');
  const { reason } = end.error.failure;
  if (reason === 'other' || reason === 'invalid_response') return holds(false, errorClassOf(end));
  return undecided('the call failed', word('failure', reason), errorClassOf(end));
}

function errorClassOf(end: NrqlEnd): Seen {
  return word('error class', (end.kind === 'failed' ? end.error.failure.code : undefined) ?? 'none');
}

/** The verdict on a query that New Relic should refuse, and for this reason. */
function judgeReason(end: NrqlEnd, reason: FailureReason): Judged {
  return holds(end.kind === 'failed' && end.error.failure.reason === reason, errorClassOf(end));
}

async function checkLength(account: GraphAccount, names: readonly string[]): Promise<Judged> {
  const chosen: string[] = [];
  let length = 200;
  for (let index = 0; length < MAX_CHARACTERS - 150; index += 1) {
    const { [index]: given = '' } = names;
    const name = given === '' || given.length > 120 ? `${NO_METRIC}/${index}` : given;
    chosen.push(name);
    length += name.length + 3;
  }
  return judgeRefusal(await account.graph.tryQuery(countingOfLargest(account, isIn(NAME, [METRIC.web, ...chosen]))));
}

/** The time clauses of a query that a probe writes as text, because `nrql` builds only queries of metrics. */
function timesOf({ to }: GraphAccount, seconds: number): string {
  const range = before(to, seconds);
  return `SINCE ${range.from * 1000} UNTIL ${range.to * 1000}`;
}

/** Makes the check of one pack: each field that it reads should be on at least one event. */
function checkFields({ from, fields, over, ofApplication, where, counted = '*', minEvents }: PackFact) {
  return async (account: GraphAccount): Promise<Judged> => {
    const condition = ofApplication === true ? `appId = ${account.first.id}` : where;
    const query = [
      `SELECT count(${counted}) AS n, ${fields.map((field, index) => `count(${field}) AS f${index}`).join(', ')}`,
      `FROM ${from}${condition === undefined ? '' : ` WHERE ${condition}`}`,
      timesOf(account, over),
    ].join(' ');
    const [row] = rowsIn(await account.graph.result(query));
    const missing = fields.filter((_, index) => numberAt(row, `f${index}`) === 0);
    return judgeFields(numberAt(row, 'n'), missing, minEvents);
  };
}

/** Reads a page of an entity search with a GraphQL document of the exporter, so that probes see what the exporter sees. */
async function readPage({ graph }: Pick<GraphAccount, 'graph'>, document: Document, search: string, more: Json = {}) {
  const found = await graph.read(document, { search, cursor: null, ...more });
  const results = hasMembers(found['results']) ? found['results'] : {};
  return { entities: objectsIn(results['entities']), next: results['nextCursor'], total: numberAt(found, 'count') };
}

const PAGE = 200;

/** The largest applications with NerdGraph's numbers of hosts. The search is by id: a list of all takes too many calls. */
export async function readLargest(account: Pick<GraphAccount, 'graph' | 'accountId' | 'largest'>) {
  const ids = account.largest.map(({ id }) => `'${id}'`).join(', ');
  const search = `domain = 'APM' AND type = 'APPLICATION' AND accountId = ${account.accountId} AND domainId IN (${ids})`;
  const { entities } = await readPage(account, APPLICATIONS, search);
  return account.largest.flatMap((application): readonly Application[] => {
    const found = entities.find(({ applicationId }) => applicationId === application.id);
    return found === undefined ? [] : [{ ...application, hosts: numberAt(found['apmSummary'], 'hostCount') }];
  });
}

/** Reads the key transactions of the first page: their guids, and the ids in their tags. */
export async function readKeyTransactions(account: GraphAccount) {
  const search = `domain = 'EXT' AND type = 'KEY_TRANSACTION' AND accountId = ${account.accountId}`;
  const { entities } = await readPage(account, KEY_TRANSACTIONS, search);
  return entities.flatMap(({ guid, tags }) => {
    if (typeof guid !== 'string') return [];
    const tag = objectsIn(tags).find(({ key }) => key === 'keyTransactionId');
    const [text] = isList(tag?.['values']) ? tag['values'] : [];
    return [{ guid, id: typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined }];
  });
}

/** Members that a golden metric needs; `where` may be null. */
const NEEDED = ['select', 'from', 'eventId'] as const;

/** The fact that all queries of an application's metrics need: a wrong form of its id would leave them empty. */
const APP_ID: FactId = 'nerdgraph_app_id';

/** The probes of an application's metrics. */
const METRIC_PROBES: readonly Probe<GraphAccount>[] = [
  probe(['nerdgraph_limit_max', 'nerdgraph_facets'], async ({ graph, largest, to }) => {
    const ids = filled(largest.map(({ id }) => id));
    if (ids === undefined) return {};
    const facet = ['appId', 'host', NAME] as const;
    const result = await graph.result(counting(isIn('appId', ids), before(to, TEN_MINUTES), facet));
    const { rows, facets } = rowsOf(result);
    return {
      nerdgraph_limit_max: judgeLimitMax(rows.length, numberAt(result['otherResult'], 'c')),
      nerdgraph_facets: judgeFacets(rows, facets, facet, new Set(ids.map(String))),
    };
  }),
  probe(['nerdgraph_other_result', 'nerdgraph_first_function'], async (account) => {
    const text = nrql(countingOfLargest(account, isNotNull(TIMESLICE), [NAME])).replace(
      'LIMIT MAX',
      `LIMIT ${FEW_ROWS}`,
    );
    const result = await account.graph.result(text);
    const counts = rowsIn(result).map((row) => numberAt(row, 'c'));
    const others = hasMembers(result['otherResult']) ? numberAt(result['otherResult'], 'c') : undefined;
    return {
      nerdgraph_other_result: judgeOtherResult(counts, FEW_ROWS, others),
      nerdgraph_first_function: judgeFirstFunction(counts, FEW_ROWS),
    };
  }),
  probe('nerdgraph_no_row', async (account) => {
    const query = countingOfLargest(account, isIn(NAME, [METRIC.web, SIGN_OF_LIFE, NO_METRIC]), [NAME]);
    const rows = rowsIn(await account.graph.result(query));
    const isThere = rows.some((row) => facetOf(row) === NO_METRIC);
    return rows.length === 0 ? undecided('no traffic') : holds(!isThere, word('shape', isThere ? 'zeros' : 'absent'));
  }),
  probe('nerdgraph_half_hour', checkWindow(HOUR / 2, 0)),
  probe('nerdgraph_hour', checkWindow(HOUR, 300)),
  probe('nerdgraph_day', checkWindow(DAY, 600)),
  probe('nerdgraph_timeout', async (account) => {
    for (const timeout of [5, 30]) {
      const judged = judgeRefusal(await account.graph.tryQuery(countingOfLargest(account, IS_ALIVE), { timeout }));
      if (judged.verdict !== 'as assumed') return judged;
    }
    return holds(true);
  }),
  probe(['nerdgraph_hosts', 'nerdgraph_host_query'], async ({ graph, largest, to }) => {
    const subjectOf = ({ id }: Application) => ({ applicationId: id });
    const found = await readEach(graph.reader.hosts, largest, subjectOf, before(to, HOUR), graph.call);
    const expected = sum(largest.map(({ hosts = 0 }) => hosts));
    const seen = sum(found.map(([, hosts]) => hosts.length));
    const first = found.flatMap(([{ id }, [host]]) => (host === undefined ? [] : [{ id, key: host.key }])).slice(0, 3);
    const share = seen / expected;
    return {
      // Tolerates differences, because two hosts may share a name, and one may have come or gone within the hour.
      nerdgraph_hosts:
        expected === 0
          ? undecided('no host')
          : holds(share > 0.75 && share < 1.34, count('hosts', seen), ratio('seen by expected', share)),
      nerdgraph_host_query: await checkHostQuery({ graph, to }, first),
    };
  }),
  probe('nerdgraph_sign_of_life', async ({ graph, largest, listed, to }) => {
    const languages = new Map<string, Set<number>>();
    const reporting = listed.filter(({ reporting: reports }) => reports !== false);
    for (const { id, language = '' } of [...largest, ...reporting]) {
      const chosen = languages.get(language) ?? new Set();
      if (chosen.size < 3) languages.set(language, chosen.add(id));
    }
    const ids = filled([...languages.values()].flatMap((chosen) => [...chosen]));
    if (ids === undefined) return undecided('no traffic');
    const names = [METRIC.web, METRIC.nonWeb, METRIC.memory, SIGN_OF_LIFE] as const;
    const where = all([isIn('appId', ids), isIn(NAME, names)]);
    const rows = rowsIn(await graph.result(counting(where, before(to, TEN_MINUTES), ['appId', NAME]))).map(facetOf);
    const hasAny = (chosen: ReadonlySet<number>, of: readonly string[]): boolean =>
      [...chosen].some((id) => of.some((name) => rows.includes(`${id}\n${name}`)));
    const alive = [...languages].filter(([, chosen]) => hasAny(chosen, names));
    const without = alive.filter(([, chosen]) => !hasAny(chosen, [SIGN_OF_LIFE]));
    if (alive.length === 0) return undecided('no traffic');
    const shown = without.length === 0 ? alive : without;
    return holds(without.length === 0, ...shown.map(([language]) => word('language', language)));
  }),
  probe('nerdgraph_like', async (account) => {
    const isFound = (where: Condition) => hasRows(account, all([equals('appId', account.first.id), where]));
    if (await isFound(isLike(NAME, SIGN_OF_LIFE.toLowerCase()))) return holds(true);
    return (await isFound(IS_ALIVE)) ? holds(false, word('shape', 'absent')) : undecided('no traffic');
  }),
  probe('nerdgraph_in_list', async (account) => {
    const { id } = account.first;
    const where = all([isIn('appId', [id, String(id)]), IS_ALIVE]);
    return judgeRefusal(await account.graph.tryQuery(counting(where, before(account.to, TEN_MINUTES))));
  }),
  probe('nerdgraph_unmatched', async (account) => {
    const where = all([isIn('appId', [account.first.id, 1]), IS_ALIVE]);
    const { kind } = await account.graph.tryQuery(counting(where, before(account.to, TEN_MINUTES), ['appId']));
    return holds(kind === 'result', word('shape', kind === 'result' ? 'present' : 'error'));
  }),
  probe(['nerdgraph_names', 'nerdgraph_query_length'], async (account) => {
    const { graph, to } = account;
    let names: readonly string[] = [];
    const judged = await heldUnless('other', async () => {
      const subject = { applicationId: account.first.id, to: to - (to % 600) };
      names = (await graph.reader.listMetricNames(subject, graph.call)).names.map(({ name }) => name);
      return names.length === 0 ? undecided('too few metric names') : holds(true, count('names', names.length));
    });
    return { nerdgraph_names: judged, nerdgraph_query_length: await checkLength(account, names) };
  }),
  probe('nerdgraph_rollup_scope', async (account) => {
    const query = countingOfLargest(account, all([isIn(NAME, SUMS), isNotNull('scope')]), [NAME]);
    const scoped = rowsIn(await account.graph.result(query)).filter((row) => numberAt(row, 'c') > 0);
    return holds(scoped.length === 0, count('rows', scoped.length));
  }),
  probe('nerdgraph_series', ({ graph, first, to }) =>
    heldUnless('invalid_response', async () => {
      await readMinutes(graph, first.id, [METRIC.web], before(to, TEN_MINUTES));
      return holds(true);
    }),
  ),
  probe('nerdgraph_percentile', async (account) => {
    const columns = 'count(*) AS n, percentile(duration, 75) AS p';
    const query = `SELECT ${columns} FROM Transaction WHERE appId = ${account.first.id} ${timesOf(account, HOUR)}`;
    const [row] = rowsIn(await account.graph.result(query));
    if (numberAt(row, 'n') === 0) return undecided('too few events');
    const value = row?.['p'];
    const keys = hasMembers(value) ? Object.keys(value) : [];
    const shape = hasMembers(value) ? `key "${keys.join()}"` : value === null ? 'null' : typeof value;
    return holds(keys.length === 1 && ['75', '75.0'].includes(keys[0] ?? ''), word('shape', shape));
  }),
];

/** The probes of entities and errors. */
const ENTITY_PROBES: readonly Probe<GraphAccount>[] = [
  probe('nerdgraph_syntax_error', async (account) => {
    const text = nrql(countingOfLargest(account, equals(NAME, METRIC.web))).replace(/ SINCE .*/, ' FACET');
    return judgeReason(await account.graph.tryQuery(text), 'other');
  }),
  probe('nerdgraph_foreign_account', async (account) => {
    const where = all([equals('appId', 1), equals(NAME, METRIC.web)]);
    const query = counting(where, before(account.to, 60));
    return judgeReason(await account.graph.tryQuery(query, { account: FOREIGN_ACCOUNT }), 'forbidden');
  }),
  probe('nerdgraph_entity_page', async (account) => {
    const search = `accountId = ${account.accountId}`;
    const first = await readPage(account, APPLICATIONS, search);
    const size = count('rows', first.entities.length);
    if (first.total <= PAGE && first.entities.length === first.total) return undecided('too few entities', size);
    if (typeof first.next !== 'string') return holds(false, word('shape', 'no cursor'), size);
    const second = await readPage(account, APPLICATIONS, search, { cursor: first.next });
    const known = new Set(first.entities.map(({ guid }) => guid));
    const isNew = second.entities.length > 0 && second.entities.every(({ guid }) => !known.has(guid));
    return holds(isNew && first.entities.length === PAGE, size);
  }),
  probe(['nerdgraph_key_transaction_id', 'nerdgraph_application_guid'], async (account) => {
    const none = undecided('no key transaction');
    const found = await readKeyTransactions(account);
    if (found.length === 0) return none;
    const guids = found.slice(0, 25).map(({ guid }) => guid);
    const details = await account.graph.read(KEY_TRANSACTION_DETAILS, { guids });
    const owners = objectsIn(details['entities']).flatMap(({ application }) =>
      hasMembers(application) ? [application['guid']] : [],
    );
    const readable = owners.filter((guid) => typeof guid === 'string' && applicationIdOf(guid) !== undefined);
    const judgePart = (part: number): Judged => holds(part === 1, ratio('seen by expected', part));
    return {
      nerdgraph_key_transaction_id: judgePart(found.filter(({ id }) => id !== undefined).length / found.length),
      nerdgraph_application_guid: owners.length === 0 ? none : judgePart(readable.length / owners.length),
    };
  }),
  probe('nerdgraph_user', async ({ graph }) => {
    const { id } = await graph.read(USER, {});
    return holds(typeof id === 'number', word('shape', id === null ? 'null' : typeof id));
  }),
  probe('nerdgraph_golden_metrics', async (account) => {
    const search = `domain IN ('EXT', 'BROWSER', 'INFRA', 'APM') AND reporting = 'true' AND accountId = ${account.accountId}`;
    const { entities } = await readPage(account, ENTITIES, search, { limit: 25 });
    const metrics = entities.flatMap(({ goldenMetrics }) =>
      hasMembers(goldenMetrics) ? objectsIn(goldenMetrics['metrics']) : [],
    );
    if (metrics.length === 0) return undecided('too few entities');
    const missing = NEEDED.filter((field) =>
      metrics.some(({ definition }) => !hasMembers(definition) || typeof definition[field] !== 'string'),
    );
    return holds(missing.length === 0, ...missing.map((field) => word('field', field)));
  }),
];

/** The probes of metrics and entities that `check --facts` makes over NerdGraph, in this order. */
export const NERDGRAPH_PROBES: readonly Probe<GraphAccount>[] = [
  probe(APP_ID, async (account) => {
    const hasData = (id: number | string): Promise<boolean> =>
      hasRows(account, all([equals('appId', id), isIn(NAME, [SIGN_OF_LIFE, METRIC.web])]));
    const { id } = account.first;
    if (await hasData(id)) return holds(true, word('shape', 'without quotes'));
    return (await hasData(String(id))) ? holds(false, word('shape', 'in quotes')) : undecided('no traffic');
  }),
  ...METRIC_PROBES.map((each) => ({ ...each, needs: APP_ID })),
  ...ENTITY_PROBES,
];

/** The probes of the fields that packs read: one for each pack, with one call. */
export const PACK_PROBES: readonly Probe<GraphAccount>[] = Object.entries<PackFact>(PACK_FACTS).map(([id, pack]) =>
  probe(id as keyof typeof PACK_FACTS, checkFields(pack)),
);
