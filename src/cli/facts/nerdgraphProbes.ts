import { isList, isObject, type Json } from '../../api/http/readRecords.ts';
import type { Document } from '../../api/nerdgraph/failures.ts';
import { applicationIdOf } from '../../api/nerdgraph/keyTransactions.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import {
  all,
  allRowsOf,
  equals,
  filled,
  isIn,
  isLike,
  isNotNull,
  nrql,
  TIMESLICE,
  type Condition,
  type Attribute,
  type QueryParts,
} from '../../api/nerdgraph/nrql.ts';
import { APPLICATIONS, KEY_TRANSACTION_DETAILS, KEY_TRANSACTIONS } from '../../api/nerdgraph/transport.ts';
import { UpstreamError, type Application } from '../../api/types.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import {
  before,
  DAY,
  errorOf,
  HOUR,
  numberAt,
  TEN_MINUTES,
  valueOf,
  type AskedGraph,
  type Probe,
  type Verdicts,
} from './asked.ts';
import { count, holds, ratio, undecided, word, type Judged } from './evidence.ts';
import type { FactId } from './facts.ts';
import { judgeCut, judgeFirstFunction, judgeLimitMax, judgeOtherResult, sum } from './judges.ts';
import { NO_METRIC, readMinutes } from './restProbes.ts';
import { readAll } from '../upstream/readForCommand.ts';
import type { MetricDataSubject } from '../../api/upstreamReader.ts';

const NAME = 'metricTimesliceName';
/** An account that cannot exist: the largest number that NerdGraph accepts. */
const FOREIGN_ACCOUNT = 2_147_483_647;
const LIMIT = 5;
const MOST_CHARACTERS = 8_000;
const SUMS = [METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex, METRIC.memory, METRIC.cpu] as const;

function counting(where: Condition, range: QueryParts['range'], facet: readonly Attribute[] = []): QueryParts {
  return { select: [{ of: 'count', from: TIMESLICE, as: 'c' }], where, facet, range };
}

function rowsIn(result: Json): readonly unknown[] {
  return isList(result['results']) ? result['results'] : [];
}

const countIn = (result: Json): number => sum(rowsIn(result).map((row) => numberAt(row, 'c')));

const facetOf = (row: unknown): string => (isObject(row) ? [row['facet'] ?? []].flat().map(String).join('\n') : '');

/** The largest application; without one, the probes of one application do not run. */
function idOf({ largest: [largest] }: AskedGraph): number {
  return largest?.id ?? 0;
}

async function askAppId(asked: AskedGraph): Promise<Verdicts> {
  const { graph, to } = asked;
  const ask = async (id: number | string) => {
    const where = all([equals('appId', id), equals(NAME, SIGN_OF_LIFE)]);
    const sign = countIn(await graph.result(counting(where, before(to, TEN_MINUTES))));
    if (sign > 0) return sign;
    const web = all([equals('appId', id), equals(NAME, METRIC.web)]);
    return countIn(await graph.result(counting(web, before(to, TEN_MINUTES))));
  };
  const id = idOf(asked);
  if ((await ask(id)) > 0) return { nerdgraph_app_id: holds(true, word('shape', 'without quotes')) };
  const quoted = await ask(String(id));
  return { nerdgraph_app_id: quoted > 0 ? holds(false, word('shape', 'in quotes')) : undecided('no traffic') };
}

async function askLimitMax({ graph, largest, to }: AskedGraph): Promise<Verdicts> {
  const ids = filled(largest.map(({ id }) => id));
  if (ids === undefined) return {};
  const facet = ['appId', 'host', NAME] as const;
  const result = await graph.result(counting(isIn('appId', ids), before(to, TEN_MINUTES), facet));
  const { rows, facets } = allRowsOf(result);
  const others = numberAt(result['otherResult'], 'c');
  return {
    nerdgraph_limit_max: judgeLimitMax(rows.length, others),
    nerdgraph_facets: judgeFacets(rows, facets, facet, new Set(ids.map(String))),
  };
}

/** Facets are assumed in the order of metadata.facets; if so, the application is at the expected index. */
function judgeFacets(
  rows: readonly unknown[],
  answered: readonly string[],
  asked: readonly string[],
  ids: ReadonlySet<string>,
): Judged {
  if (rows.length === 0) return undecided('too few rows');
  const place = (answered.length === asked.length ? answered : asked).indexOf('appId');
  const facets = rows.map((row) => (isObject(row) ? row['facet'] : undefined));
  if (!facets.every((facet) => isList(facet) && ids.has(String(facet[place]))))
    return holds(false, word('shape', 'other'));
  const areTexts = facets.every((facet) => isList(facet) && facet.every((each) => typeof each === 'string'));
  return holds(areTexts, word('shape', areTexts ? 'list of texts' : 'list'));
}

async function askOtherResult(asked: AskedGraph): Promise<Verdicts> {
  const where = all([equals('appId', idOf(asked)), isNotNull(TIMESLICE)]);
  const text = nrql(counting(where, before(asked.to, TEN_MINUTES), [NAME])).replace('LIMIT MAX', `LIMIT ${LIMIT}`);
  const result = await asked.graph.result(text);
  const counts = rowsIn(result).map((row) => numberAt(row, 'c'));
  const others = isObject(result['otherResult']) ? numberAt(result['otherResult'], 'c') : undefined;
  return {
    nerdgraph_other_result: judgeOtherResult(counts, LIMIT, others),
    nerdgraph_first_function: judgeFirstFunction(counts, LIMIT),
  };
}

async function askNoRow(asked: AskedGraph): Promise<Verdicts> {
  const where = all([equals('appId', idOf(asked)), isIn(NAME, [METRIC.web, SIGN_OF_LIFE, NO_METRIC])]);
  const rows = rowsIn(await asked.graph.result(counting(where, before(asked.to, TEN_MINUTES), [NAME])));
  const isThere = rows.some((row) => facetOf(row) === NO_METRIC);
  return {
    nerdgraph_no_row:
      rows.length === 0 ? undecided('no traffic') : holds(!isThere, word('shape', isThere ? 'zeros' : 'absent')),
  };
}

/** A minute of the hour that is no multiple of 5, 10, 15, 20, 30 or 60 minutes. */
const OFF_MINUTE = 27;

/** Checks by how much New Relic cuts a range of this length that ends off every such step. */
async function askWindow(asked: AskedGraph, seconds: number, most: number): Promise<Judged> {
  const to = asked.to - ((asked.to - OFF_MINUTE * 60) % HOUR);
  const range = before(to, seconds);
  const where = all([equals('appId', idOf(asked)), equals(NAME, SIGN_OF_LIFE)]);
  const { window } = allRowsOf(await asked.graph.result(counting(where, range)));
  return judgeCut(range, window, most);
}

async function askTimeout(asked: AskedGraph): Promise<Verdicts> {
  const where = all([equals('appId', idOf(asked)), equals(NAME, SIGN_OF_LIFE)]);
  const query = counting(where, before(asked.to, TEN_MINUTES));
  for (const timeout of [5, 30]) {
    const { meaning, errorClass } = await asked.graph.ask(query, undefined, timeout);
    const isRefused = meaning === 'other' || meaning === 'invalid_response';
    if (isRefused) return { nerdgraph_timeout: holds(false, word('error class', errorClass)) };
  }
  return { nerdgraph_timeout: holds(true) };
}

/** Checks the hosts of the largest applications, and the metric data of some, both read as by the exporter. */
async function askHosts({ graph, largest, listed, to }: AskedGraph): Promise<Verdicts> {
  const subjects = largest.map(({ id }) => ({ applicationId: id }));
  const range = before(to, HOUR);
  const outcomes = await readAll(graph.reader.hosts, subjects, range, graph.call);
  const failed = outcomes.map(errorOf).find((error) => error !== undefined);
  if (failed !== undefined) throw failed;
  const ids = new Set(largest.map(({ id }) => id));
  const expected = sum(listed.filter(({ id }) => ids.has(id)).map(({ hosts = 0 }) => hosts));
  const found = outcomes.map((outcome) => valueOf(outcome) ?? []);
  const seen = sum(found.map((hosts) => hosts.length));
  const metrics = graph.reader.select([METRIC.web, METRIC.memory, SIGN_OF_LIFE]);
  const data = found
    .flatMap((hosts, index) => hosts.slice(0, 1).map(({ key }) => ({ key, id: subjects[index]?.applicationId ?? 0 })))
    .slice(0, 3)
    .map(({ key, id }) => ({ applicationId: id, hostKey: key, metrics }));
  return {
    // Tolerates differences, because two hosts may share a name, and one may have come or gone within the hour.
    nerdgraph_hosts:
      expected === 0
        ? undecided('no host')
        : holds(
            seen / expected > 0.75 && seen / expected < 1.34,
            count('hosts', seen),
            ratio('seen by expected', seen / expected),
          ),
    nerdgraph_host_query: await judgeHostQuery({ graph, to }, data),
  };
}

async function judgeHostQuery(
  { graph, to }: Pick<AskedGraph, 'graph' | 'to'>,
  subjects: readonly MetricDataSubject[],
): Promise<Judged> {
  if (subjects.length === 0) return undecided('no host');
  const outcomes = await readAll(graph.reader.metricData, subjects, before(to, TEN_MINUTES), graph.call);
  const error = outcomes.map(errorOf).find((each) => each !== undefined);
  if (error === undefined) return holds(true, count('hosts', subjects.length));
  if (error.failure.reason !== 'other') throw error;
  return holds(false, word('failure', error.failure.reason));
}

/** Checks up to three applications of each language for one that runs without the metric SIGN_OF_LIFE. */
async function askSignOfLife({ graph, largest, listed, to }: AskedGraph): Promise<Verdicts> {
  const languages = new Map<string, Application[]>();
  const reporting = listed.filter(({ reporting: reports }) => reports !== false);
  for (const application of [...largest, ...reporting]) {
    const language = application.language ?? '';
    const chosen = languages.get(language) ?? [];
    if (chosen.length < 3 && !chosen.some(({ id }) => id === application.id))
      languages.set(language, [...chosen, application]);
  }
  const chosen = [...languages.values()].flat();
  const ids = filled(chosen.map(({ id }) => id));
  if (ids === undefined) return {};
  const names = [METRIC.web, METRIC.nonWeb, METRIC.memory, SIGN_OF_LIFE] as const;
  const where = all([isIn('appId', ids), isIn(NAME, names)]);
  const rows = rowsIn(await graph.result(counting(where, before(to, TEN_MINUTES), ['appId', NAME]))).map(facetOf);
  const has = (id: number, name: string): boolean => rows.includes(`${id}\n${name}`);
  const isAlive = ({ id }: Application): boolean => names.some((name) => has(id, name));
  const alive = [...languages].filter(([, applications]) => applications.some(isAlive));
  const without = alive.filter(([, applications]) => !applications.some(({ id }) => has(id, SIGN_OF_LIFE)));
  if (alive.length === 0) return { nerdgraph_sign_of_life: undecided('no traffic') };
  const shown = without.length === 0 ? alive : without;
  return {
    nerdgraph_sign_of_life: holds(without.length === 0, ...shown.map(([language]) => word('language', language))),
  };
}

async function askLike(asked: AskedGraph): Promise<Verdicts> {
  const ask = async (condition: Condition) =>
    countIn(
      await asked.graph.result(counting(all([equals('appId', idOf(asked)), condition]), before(asked.to, TEN_MINUTES))),
    );
  const found = await ask(isLike(NAME, SIGN_OF_LIFE.toLowerCase()));
  if (found > 0) return { nerdgraph_like: holds(true) };
  const isThere = (await ask(equals(NAME, SIGN_OF_LIFE))) > 0;
  return { nerdgraph_like: isThere ? holds(false, word('shape', 'absent')) : undecided('no traffic') };
}

async function askInList(asked: AskedGraph): Promise<Verdicts> {
  const id = idOf(asked);
  const where = all([isIn('appId', [id, String(id)]), equals(NAME, SIGN_OF_LIFE)]);
  const { meaning, errorClass } = await asked.graph.ask(counting(where, before(asked.to, TEN_MINUTES)));
  return { nerdgraph_in_list: judgeRefusal(meaning, errorClass) };
}

/** Decides whether a query was accepted: a complaint about it means that the fact differs, any other error is a failure. */
function judgeRefusal(meaning: Awaited<ReturnType<AskedGraph['graph']['ask']>>['meaning'], errorClass: string): Judged {
  if (meaning === undefined || meaning === 'unmatched') return holds(true);
  if (meaning === 'other' || meaning === 'too_big' || meaning === 'invalid_response') {
    return holds(false, word('error class', errorClass));
  }
  return undecided('the call failed', word('failure', meaning), word('error class', errorClass));
}

async function askUnmatched(asked: AskedGraph): Promise<Verdicts> {
  const where = all([isIn('appId', [idOf(asked), 1]), equals(NAME, SIGN_OF_LIFE)]);
  const { meaning } = await asked.graph.ask(counting(where, before(asked.to, TEN_MINUTES), ['appId']));
  const isAnswered = meaning === undefined;
  return { nerdgraph_unmatched: holds(isAnswered, word('shape', isAnswered ? 'present' : 'error')) };
}

/** Checks the names of a day, read as by the exporter, and a query made as long as the exporter makes one. */
async function askNames(asked: AskedGraph): Promise<Verdicts> {
  const { graph, to } = asked;
  const applicationId = idOf(asked);
  const read = await graph.reader
    .listMetricNames({ applicationId, to: to - (to % 600) }, graph.call)
    .catch((error: unknown) => {
      if (error instanceof UpstreamError && error.failure.reason === 'other') return error;
      throw error;
    });
  const names = read instanceof UpstreamError ? [] : read.names.map(({ name }) => name);
  return {
    nerdgraph_names:
      read instanceof UpstreamError
        ? holds(false, word('failure', read.failure.reason))
        : names.length === 0
          ? undecided('too few metric names')
          : holds(true, count('names', names.length)),
    nerdgraph_query_length: await askLength(asked, names),
  };
}

async function askLength(asked: AskedGraph, names: readonly string[]): Promise<Judged> {
  const chosen: string[] = [];
  let length = 200;
  for (let index = 0; length < MOST_CHARACTERS - 150; index += 1) {
    const name =
      names[index]?.length === undefined || (names[index]?.length ?? 0) > 120
        ? `${NO_METRIC}/${index}`
        : (names[index] ?? '');
    chosen.push(name);
    length += name.length + 3;
  }
  const where = all([equals('appId', idOf(asked)), isIn(NAME, [METRIC.web, ...chosen])]);
  const { meaning, errorClass } = await asked.graph.ask(counting(where, before(asked.to, TEN_MINUTES)));
  return judgeRefusal(meaning, errorClass);
}

async function askRollupScope(asked: AskedGraph): Promise<Verdicts> {
  const where = all([equals('appId', idOf(asked)), isIn(NAME, SUMS), isNotNull('scope')]);
  const rows = rowsIn(await asked.graph.result(counting(where, before(asked.to, TEN_MINUTES), [NAME])));
  const scoped = rows.filter((row) => numberAt(row, 'c') > 0);
  return { nerdgraph_rollup_scope: holds(scoped.length === 0, count('rows', scoped.length)) };
}

async function askSeries(asked: AskedGraph): Promise<Verdicts> {
  try {
    const read = await readMinutes(asked.graph, idOf(asked), [METRIC.web], before(asked.to, TEN_MINUTES));
    return { nerdgraph_series: holds(read.length === 10) };
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.failure.reason !== 'invalid_response') throw error;
    return { nerdgraph_series: holds(false, word('failure', error.failure.reason)) };
  }
}

async function askSyntaxError(asked: AskedGraph): Promise<Verdicts> {
  const where = all([equals('appId', idOf(asked)), equals(NAME, METRIC.web)]);
  const text = nrql(counting(where, before(asked.to, 60))).replace(/ SINCE .*/, ' FACET');
  const { meaning, errorClass } = await asked.graph.ask(text);
  return { nerdgraph_syntax_error: holds(meaning === 'other', word('error class', errorClass)) };
}

async function askForeignAccount(asked: AskedGraph): Promise<Verdicts> {
  const where = all([equals('appId', 1), equals(NAME, METRIC.web)]);
  const { meaning, errorClass } = await asked.graph.ask(counting(where, before(asked.to, 60)), FOREIGN_ACCOUNT);
  return { nerdgraph_foreign_account: holds(meaning === 'forbidden', word('error class', errorClass)) };
}

async function askPercentile(asked: AskedGraph): Promise<Verdicts> {
  const { from, to } = before(asked.to, HOUR);
  const times = `SINCE ${from * 1000} UNTIL ${to * 1000}`;
  const text = `SELECT count(*) AS n, percentile(duration, 75) AS p FROM Transaction WHERE appId = ${idOf(asked)} ${times}`;
  const [row] = rowsIn(await asked.graph.result(text));
  if (numberAt(row, 'n') === 0) return { nerdgraph_percentile: undecided('too few events') };
  const value = isObject(row) ? row['p'] : undefined;
  const keys = isObject(value) ? Object.keys(value) : [];
  const shape = isObject(value) ? `key "${keys.join()}"` : value === null ? 'null' : typeof value;
  const isKnown = keys.length === 1 && ['75', '75.0'].includes(keys[0] ?? '');
  return { nerdgraph_percentile: holds(isKnown, word('shape', shape)) };
}

/** A page of an entity search, as the exporter's documents request it. */
async function readPage({ graph }: AskedGraph, document: Document, search: string, cursor?: string) {
  const { meaning, found, errorClass } = await graph.post(document, { search, cursor: cursor ?? null });
  if (meaning !== undefined) {
    throw new UpstreamError(`an entity search failed (${errorClass})`, { reason: 'other', endpoint: 'facts' });
  }
  const results = isObject(found['results']) ? found['results'] : {};
  const entities = (isList(results['entities']) ? results['entities'] : []).filter(isObject);
  return { entities, next: results['nextCursor'], total: numberAt(found, 'count') };
}

const PAGE = 200;

async function askEntityPage(asked: AskedGraph): Promise<Verdicts> {
  const search = `accountId = ${asked.accountId}`;
  const first = await readPage(asked, APPLICATIONS, search);
  const size = count('rows', first.entities.length);
  if (first.total <= PAGE && first.entities.length === first.total) {
    return { nerdgraph_entity_page: undecided('too few entities', size) };
  }
  if (typeof first.next !== 'string') return { nerdgraph_entity_page: holds(false, word('shape', 'no cursor'), size) };
  const second = await readPage(asked, APPLICATIONS, search, first.next);
  const known = new Set(first.entities.map(({ guid }) => guid));
  const isNew = second.entities.length > 0 && second.entities.every(({ guid }) => !known.has(guid));
  return { nerdgraph_entity_page: holds(isNew && first.entities.length === PAGE, size) };
}

/** Reads the key transactions of the first page: their guids, and the ids in their tags. */
export async function readKeyTransactions(asked: AskedGraph) {
  const search = `domain = 'EXT' AND type = 'KEY_TRANSACTION' AND accountId = ${asked.accountId}`;
  const { entities } = await readPage(asked, KEY_TRANSACTIONS, search);
  return entities.flatMap(({ guid, tags }) => {
    if (typeof guid !== 'string') return [];
    const tag = (isList(tags) ? tags : []).filter(isObject).find(({ key }) => key === 'keyTransactionId');
    const [text] = isList(tag?.['values']) ? tag['values'] : [];
    return [{ guid, id: typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined }];
  });
}

async function askKeyTransactions(asked: AskedGraph): Promise<Verdicts> {
  const found = await readKeyTransactions(asked);
  if (found.length === 0) {
    return {
      nerdgraph_key_transaction_id: undecided('no key transaction'),
      nerdgraph_application_guid: undecided('no key transaction'),
    };
  }
  const guids = found.slice(0, 25).map(({ guid }) => guid);
  const { found: details } = await asked.graph.post(KEY_TRANSACTION_DETAILS, { guids });
  const owners = (isList(details['entities']) ? details['entities'] : [])
    .filter(isObject)
    .flatMap(({ application }) => (isObject(application) ? [application['guid']] : []));
  const readable = owners.filter((guid) => typeof guid === 'string' && applicationIdOf(guid) !== undefined);
  const tagged = found.filter(({ id }) => id !== undefined).length / found.length;
  return {
    nerdgraph_key_transaction_id: holds(tagged === 1, ratio('seen by expected', tagged)),
    nerdgraph_application_guid:
      owners.length === 0
        ? undecided('no key transaction')
        : holds(readable.length === owners.length, ratio('seen by expected', readable.length / owners.length)),
  };
}

const USER: Document = { text: 'query { actor { user { id } } }', root: ['actor'], list: ['user'] };

async function askUser({ graph }: AskedGraph): Promise<Verdicts> {
  const { found } = await graph.post(USER, {});
  const id = isObject(found['user']) ? found['user']['id'] : undefined;
  const isId = typeof id === 'number';
  return { nerdgraph_user: holds(isId, word('shape', isId ? 'number' : id === null ? 'null' : typeof id)) };
}

const GOLDEN: Document = {
  text: `query ($search: String!, $cursor: String) {
  actor {
    entitySearch(query: $search, options: { limit: 25 }) {
      count
      results(cursor: $cursor) {
        nextCursor
        entities { guid goldenMetrics { metrics { name title unit definition { select from where eventId eventObjectId } } } }
      }
    }
  }
}`,
  root: ['actor', 'entitySearch'],
  list: ['results', 'entities'],
};

/** Members that a golden metric needs; `where` may be null. */
const NEEDED = ['select', 'from', 'eventId'] as const;

async function askGoldenMetrics(asked: AskedGraph): Promise<Verdicts> {
  const search = `domain IN ('EXT', 'BROWSER', 'INFRA', 'APM') AND reporting = 'true' AND accountId = ${asked.accountId}`;
  const { entities } = await readPage(asked, GOLDEN, search);
  const metrics = entities
    .flatMap(({ goldenMetrics }) => (isObject(goldenMetrics) ? [goldenMetrics['metrics']] : []))
    .flatMap((list) => (isList(list) ? list.filter(isObject) : []));
  if (metrics.length === 0) return { nerdgraph_golden_metrics: undecided('too few entities') };
  const missing = NEEDED.filter((field) =>
    metrics.some(({ definition }) => !isObject(definition) || typeof definition[field] !== 'string'),
  );
  return { nerdgraph_golden_metrics: holds(missing.length === 0, ...missing.map((field) => word('field', field))) };
}

const ONE = 'nerdgraph_app_id' satisfies FactId;

/** The probes of NerdGraph's metrics and entities, in order; every query of metrics names an application. */
export const NERDGRAPH_PROBES: readonly Probe<AskedGraph>[] = [
  { ids: [ONE], ask: askAppId },
  { ids: ['nerdgraph_limit_max', 'nerdgraph_facets'], needs: ONE, ask: askLimitMax },
  { ids: ['nerdgraph_other_result', 'nerdgraph_first_function'], needs: ONE, ask: askOtherResult },
  { ids: ['nerdgraph_no_row'], needs: ONE, ask: askNoRow },
  {
    ids: ['nerdgraph_half_hour'],
    needs: ONE,
    ask: async (asked) => ({ nerdgraph_half_hour: await askWindow(asked, HOUR / 2, 0) }),
  },
  {
    ids: ['nerdgraph_hour'],
    needs: ONE,
    ask: async (asked) => ({ nerdgraph_hour: await askWindow(asked, HOUR, 300) }),
  },
  {
    ids: ['nerdgraph_day'],
    needs: ONE,
    ask: async (asked) => ({ nerdgraph_day: await askWindow(asked, DAY, 600) }),
  },
  { ids: ['nerdgraph_timeout'], needs: ONE, ask: askTimeout },
  { ids: ['nerdgraph_hosts', 'nerdgraph_host_query'], needs: ONE, ask: askHosts },
  { ids: ['nerdgraph_sign_of_life'], needs: ONE, ask: askSignOfLife },
  { ids: ['nerdgraph_like'], needs: ONE, ask: askLike },
  { ids: ['nerdgraph_in_list'], needs: ONE, ask: askInList },
  { ids: ['nerdgraph_unmatched'], needs: ONE, ask: askUnmatched },
  { ids: ['nerdgraph_names', 'nerdgraph_query_length'], needs: ONE, ask: askNames },
  { ids: ['nerdgraph_rollup_scope'], needs: ONE, ask: askRollupScope },
  { ids: ['nerdgraph_series'], needs: ONE, ask: askSeries },
  { ids: ['nerdgraph_syntax_error'], ask: askSyntaxError },
  { ids: ['nerdgraph_foreign_account'], ask: askForeignAccount },
  { ids: ['nerdgraph_percentile'], needs: ONE, ask: askPercentile },
  { ids: ['nerdgraph_entity_page'], ask: askEntityPage },
  { ids: ['nerdgraph_key_transaction_id', 'nerdgraph_application_guid'], ask: askKeyTransactions },
  { ids: ['nerdgraph_user'], ask: askUser },
  { ids: ['nerdgraph_golden_metrics'], ask: askGoldenMetrics },
];
