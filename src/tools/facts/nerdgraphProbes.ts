import {
  APPLICATIONS,
  ENTITIES,
  KEY_TRANSACTION_DETAILS,
  KEY_TRANSACTIONS,
  USER,
  type Document,
} from '../../api/nerdgraph/documents.ts';
import { hasMembers, isList, type Json } from '../../api/http/validation.ts';
import { goldenMetric } from '../../api/nerdgraph/entityLists.ts';
import { applicationIdOf } from '../../api/nerdgraph/lists.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import type { Application } from '../../api/types.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import { goldenQuery, readDefinition, recordId, sourceKey, UnreadableDefinition } from '../../nrql/goldenMetric.ts';
import { before, probe, TEN_MINUTES } from './factConnections.ts';
import type { GraphAccount, GraphConnection, Probe, Verdicts } from './factConnections.ts';
import { count, holds, ratio, undecided, word, type Judged } from './evidence.ts';
import { COUNT } from './facts.ts';
import { numberAt, objectsIn } from './judges.ts';
import { APP_ID, QUERY_PROBES, REFUSAL_JUDGES, rowsFor } from './queryProbes.ts';

/** Metrics that show that an application has data. */
const SIGNS = `metricTimesliceName IN ('${SIGN_OF_LIFE}', '${METRIC.web}', '${METRIC.nonWeb}', '${METRIC.memory}')`;

/** Reads a page of an entity search with a GraphQL document of the exporter, so that probes see what the exporter sees. */
async function readPage(graph: GraphConnection, document: Document, what: string, more: Json = {}) {
  const search = `${what}${what === '' ? '' : ' AND '}accountId = ${await graph.accountId()}`;
  const found = await graph.read(document, { search, cursor: null, ...more });
  const results = hasMembers(found['results']) ? found['results'] : {};
  return { entities: objectsIn(results['entities']), next: results['nextCursor'], total: numberAt(found, 'count') };
}

/** The largest applications with NerdGraph's numbers of hosts. The search is by id: a list of all takes too many calls. */
export async function readLargest(graph: GraphConnection, largest: readonly Application[]) {
  const ids = largest.map(({ id }) => `'${id}'`).join(', ');
  const search = `domain = 'APM' AND type = 'APPLICATION' AND domainId IN (${ids})`;
  const { entities } = await readPage(graph, APPLICATIONS, search);
  return largest.flatMap((application): readonly Application[] => {
    const found = entities.find(({ applicationId }) => applicationId === application.id);
    return found === undefined ? [] : [{ ...application, hosts: numberAt(found['apmSummary'], 'hostCount') }];
  });
}

/** Decides whether applications of each language have the sign of life, where they have any data. */
async function checkLanguages(account: GraphAccount): Promise<Judged> {
  const languages = new Map<string, Set<number>>();
  const reporting = account.listed.filter(({ reporting: reports }) => reports !== false);
  for (const { id, language = '' } of [...account.largest, ...reporting]) {
    const chosen = languages.get(language) ?? new Set();
    if (chosen.size < 3) languages.set(language, chosen.add(id));
  }
  const ids = [...languages.values()].flatMap((chosen) => [...chosen]).join(', ');
  const query = `${COUNT} appId IN (${ids}) AND ${SIGNS} FACET appId, metricTimesliceName {time} LIMIT MAX`;
  const found = (await rowsFor(account, query)).map(({ facet }) => [facet].flat().map(String));
  const isFound = (chosen: ReadonlySet<number>, name?: string): boolean =>
    found.some(([id, metric]) => chosen.has(Number(id)) && (name === undefined || name === metric));
  const alive = [...languages].filter(([, chosen]) => isFound(chosen));
  const without = alive.filter(([, chosen]) => !isFound(chosen, SIGN_OF_LIFE));
  if (alive.length === 0) return undecided('no traffic');
  const shown = without.length === 0 ? alive : without;
  return holds(without.length === 0, ...shown.map(([language]) => word('language', language)));
}

/** Types whose golden metrics read timeslices: they are asked first. */
const OF_TIMESLICES = ['APM-APPLICATION', 'EXT-KEY_TRANSACTION', 'EXT-SERVICE', 'MOBILE-APPLICATION'];
/** The most types whose entities are read, many of which have no golden metrics, and the most whose values are read. */
const MAX_TYPES = { listed: 8, read: 5 };
const ENTITIES_OF_TYPE = 3;

/** Reads a few entities of up to five types with golden metrics, and their values by one query of each type. */
async function checkGolden(account: GraphAccount): Promise<Verdicts | Judged> {
  const { graph, to } = account;
  const types = (await graph.reader.entities?.types(graph.call)) ?? [];
  const rankOf = ({ type }: (typeof types)[number]): number => (OF_TIMESLICES.includes(type) ? 0 : 1);
  const ranked = types.toSorted((a, b) => rankOf(a) - rankOf(b) || b.count - a.count);
  const missing = new Set<string>();
  const ends: NrqlEnd[] = [];
  for (const { type } of ranked.slice(0, MAX_TYPES.listed)) {
    if (ends.length === MAX_TYPES.read) break;
    const [domain = '', ...rest] = type.split('-');
    const search = `domain = '${domain}' AND type = '${rest.join('-')}' AND reporting = 'true'`;
    const { entities } = await readPage(graph, ENTITIES, search, { limit: ENTITIES_OF_TYPE });
    const columns = entities.flatMap((entity) => columnsOf(entity, missing));
    const [first] = columns;
    if (first === undefined) continue;
    // One query of a type is enough: that of its first source.
    const alike = columns.filter(({ source }) => sourceKey(source) === sourceKey(first.source));
    const selects = [...new Set(alike.map(({ select }) => select))];
    const ids = [...new Set(alike.map(({ id }) => id))];
    ends.push(await graph.tryQuery(goldenQuery(first.source, selects, ids, before(to, TEN_MINUTES), 'separate')));
  }
  if (ends.length === 0 && missing.size === 0) return undecided('too few entities');
  return {
    nerdgraph_golden_metrics: holds(missing.size === 0, ...[...missing].map((field) => word('field', field))),
    nerdgraph_golden_query: judgeGolden(ends),
  };
}

/** The golden metrics of an entity, with its id in records; the members that definitions lack are added to `missing`. */
function columnsOf({ guid, goldenMetrics }: Json, missing: Set<string>) {
  const metrics = hasMembers(goldenMetrics) ? objectsIn(goldenMetrics['metrics']) : [];
  return metrics.flatMap((metric) => {
    const { data, error } = goldenMetric.safeParse(metric);
    for (const { path } of error?.issues ?? []) missing.add(String(path.at(-1)));
    const id = data && recordId(String(guid), data.definition.eventObjectId);
    if (data === undefined || id === undefined) return [];
    try {
      return [{ id, ...readDefinition(data.definition) }];
    } catch (error_) {
      if (error_ instanceof UnreadableDefinition) return [];
      throw error_;
    }
  });
}

/** Decides whether the queries of all types were accepted, and those of any type had values. */
function judgeGolden(ends: readonly NrqlEnd[]): Judged {
  const refused = ends.filter((end) => end instanceof UpstreamError).map((end) => REFUSAL_JUDGES.accepted(end));
  const rows = ends.map((end) =>
    typeof end === 'string' || end instanceof UpstreamError ? [] : objectsIn(end['results']),
  );
  const valued = rows.filter((each) =>
    each.some((row) => Object.keys(row).some((key) => /^m\d/.test(key) && row[key] !== null)),
  );
  if (refused[0] !== undefined) return refused[0];
  return ends.length === 0
    ? undecided('too few entities')
    : holds(valued.length > 0, ratio('seen by expected', valued.length / ends.length));
}

/** Decides whether all key transactions are as assumed. */
function judgeAll(areGood: readonly boolean[]): Judged {
  const part = areGood.filter(Boolean).length / areGood.length;
  return areGood.length === 0 ? undecided('no key transaction') : holds(part === 1, ratio('seen by expected', part));
}

/** The probes that `check --facts` makes over NerdGraph, in this order. */
export const NERDGRAPH_PROBES: readonly Probe<GraphAccount>[] = [
  probe(APP_ID, async (account) => {
    const hasData = async (id: string): Promise<boolean> =>
      (await rowsFor(account, `${COUNT} appId = ${id} AND ${SIGNS} {time}`)).some((row) => numberAt(row, 'c') > 0);
    if (await hasData('{app}')) return holds(true, word('shape', 'without quotes'));
    return (await hasData("'{app}'")) ? holds(false, word('shape', 'in quotes')) : undecided('no traffic');
  }),
  ...QUERY_PROBES,
  probe('nerdgraph_sign_of_life', checkLanguages, APP_ID),
  probe('nerdgraph_entity_page', async (account) => {
    const first = await readPage(account.graph, APPLICATIONS, '');
    const size = count('rows', first.entities.length);
    if (first.total <= 200 && first.entities.length === first.total) return undecided('too few entities', size);
    if (typeof first.next !== 'string') return holds(false, word('shape', 'no cursor'), size);
    const second = await readPage(account.graph, APPLICATIONS, '', { cursor: first.next });
    const known = new Set(first.entities.map(({ guid }) => guid));
    const isNew = second.entities.length > 0 && second.entities.every(({ guid }) => !known.has(guid));
    return holds(isNew && first.entities.length === 200, size);
  }),
  probe(['nerdgraph_key_transaction_id', 'nerdgraph_application_guid'], async ({ graph }) => {
    const search = "domain = 'EXT' AND type = 'KEY_TRANSACTION'";
    const { entities } = await readPage(graph, KEY_TRANSACTIONS, search);
    const guids = entities.slice(0, 25).map(({ guid }) => guid);
    if (guids.length === 0) return undecided('no key transaction');
    const details = await graph.read(KEY_TRANSACTION_DETAILS, { guids });
    const owners = objectsIn(details['entities']).flatMap(({ application }) =>
      hasMembers(application) ? [application['guid']] : [],
    );
    const isId = (id: unknown): boolean => typeof id === 'string' && /^\d{1,15}$/.test(id);
    const hasId = ({ tags }: Json): boolean =>
      objectsIn(tags).some(({ key, values }) => key === 'keyTransactionId' && isList(values) && isId(values[0]));
    const isOwner = (guid: unknown): boolean => typeof guid === 'string' && applicationIdOf(guid) !== undefined;
    return {
      nerdgraph_key_transaction_id: judgeAll(entities.map(hasId)),
      nerdgraph_application_guid: judgeAll(owners.map(isOwner)),
    };
  }),
  probe('nerdgraph_user', async ({ graph }) => {
    const { id } = await graph.read(USER, {});
    return holds(typeof id === 'number', word('shape', id === null ? 'null' : typeof id));
  }),
];

/** The probe whose number of calls depends on the account, so it is last. */
export const GOLDEN_PROBE = probe<GraphAccount>(['nerdgraph_golden_metrics', 'nerdgraph_golden_query'], checkGolden);
