import * as z from 'zod';
import {
  APPLICATIONS,
  ENTITIES,
  KEY_TRANSACTION_DETAILS,
  KEY_TRANSACTIONS,
  USER,
  type Document,
} from '../../api/nerdgraph/documents.ts';
import { hasMembers, isList, type Json } from '../../api/http/validation.ts';
import { applicationIdOf } from '../../api/nerdgraph/keyTransactions.ts';
import type { Application } from '../../api/types.ts';
import type { GoldenResult, GoldenSubject, Outcome } from '../../api/upstreamReader.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import { readDefinition, sourceKey, UnreadableDefinition, type GoldenSource } from '../../nrql/goldenMetric.ts';
import { readAll } from '../upstream/readForCommand.ts';
import { before, probe, type GraphAccount, type Probe, type Verdicts } from './connections.ts';
import { count, holds, ratio, undecided, word, type Judged } from './evidence.ts';
import { TEN_MINUTES } from './factRow.ts';
import { numberAt, objectsIn } from './judges.ts';
import { APP_ID, queryProbes, rowsFor } from './queryProbes.ts';

const COUNT = 'SELECT count(newrelic.timeslice.value) AS c FROM Metric WHERE';
/** Metrics that show that an application has data. */
const SIGNS = `metricTimesliceName IN ('${SIGN_OF_LIFE}', '${METRIC.web}', '${METRIC.nonWeb}', '${METRIC.memory}')`;

/** Reads a page of an entity search with a GraphQL document of the exporter, so that probes see what the exporter sees. */
async function readPage(
  { graph, accountId }: Pick<GraphAccount, 'graph' | 'accountId'>,
  document: Document,
  what: string,
  more: Json = {},
) {
  const search = `${what}${what === '' ? '' : ' AND '}accountId = ${accountId}`;
  const found = await graph.read(document, { search, cursor: null, ...more });
  const results = hasMembers(found['results']) ? found['results'] : {};
  return { entities: objectsIn(results['entities']), next: results['nextCursor'], total: numberAt(found, 'count') };
}

const PAGE = 200;

/** The largest applications with NerdGraph's numbers of hosts. The search is by id: a list of all takes too many calls. */
export async function readLargest(account: Pick<GraphAccount, 'graph' | 'accountId' | 'largest'>) {
  const ids = account.largest.map(({ id }) => `'${id}'`).join(', ');
  const search = `domain = 'APM' AND type = 'APPLICATION' AND domainId IN (${ids})`;
  const { entities } = await readPage(account, APPLICATIONS, search);
  return account.largest.flatMap((application): readonly Application[] => {
    const found = entities.find(({ applicationId }) => applicationId === application.id);
    return found === undefined ? [] : [{ ...application, hosts: numberAt(found['apmSummary'], 'hostCount') }];
  });
}

/** Reads the key transactions of the first page: their guids, and the ids in their tags. */
async function readKeyTransactions(account: GraphAccount) {
  const { entities } = await readPage(account, KEY_TRANSACTIONS, "domain = 'EXT' AND type = 'KEY_TRANSACTION'");
  return entities.flatMap(({ guid, tags }) => {
    if (typeof guid !== 'string') return [];
    const tag = objectsIn(tags).find(({ key }) => key === 'keyTransactionId');
    const [text] = isList(tag?.['values']) ? tag['values'] : [];
    return [{ guid, id: typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined }];
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
const goldenMetric = z.object({
  name: z.string(),
  definition: z.object({
    ...{ select: z.string(), from: z.string(), where: z.string().nullish(), eventId: z.string() },
    eventObjectId: z.enum(['ENTITY_GUIDS', 'DOMAIN_IDS']),
  }),
});

/** Reads a few entities of up to five types with golden metrics, and the values of these as the exporter does. */
async function checkGolden(account: GraphAccount): Promise<Verdicts | Judged> {
  const { reader, call } = account.graph;
  const types = (await reader.entities?.types(call)) ?? [];
  const rankOf = ({ type }: (typeof types)[number]): number => (OF_TIMESLICES.includes(type) ? 0 : 1);
  const ranked = types.toSorted((a, b) => rankOf(a) - rankOf(b) || b.count - a.count);
  const missing = new Set<string>();
  // Entities share a query where their columns have the same source object.
  const sources = new Map<string, GoldenSource>();
  const read: (readonly Outcome<GoldenResult>[])[] = [];
  for (const { type } of ranked.slice(0, MAX_TYPES.listed)) {
    if (reader.entities === undefined || read.length === MAX_TYPES.read) break;
    const [domain = '', ...rest] = type.split('-');
    const search = `domain = '${domain}' AND type = '${rest.join('-')}' AND reporting = 'true'`;
    const { entities } = await readPage(account, ENTITIES, search, { limit: ENTITIES_OF_TYPE });
    const defined = entities.map(({ guid, goldenMetrics }): GoldenSubject => {
      const metrics = hasMembers(goldenMetrics) ? objectsIn(goldenMetrics['metrics']) : [];
      return {
        type,
        guid: String(guid),
        columns: columnsOf(metrics, sources, missing),
        window: undefined,
        endsBefore: 0,
      };
    });
    // One query of a type is enough: that of its first source.
    const source = defined.find(({ columns }) => columns.length > 0)?.columns[0]?.source;
    const subjects = defined
      .map((each) => ({ ...each, columns: each.columns.filter((column) => column.source === source) }))
      .filter(({ columns }) => columns.length > 0);
    if (subjects.length === 0) continue;
    read.push(await readAll(reader.entities.goldenMetrics, subjects, before(account.to, TEN_MINUTES), call));
  }
  if (read.length === 0 && missing.size === 0) return undecided('too few entities');
  return {
    nerdgraph_golden_metrics: holds(missing.size === 0, ...[...missing].map((field) => word('field', field))),
    nerdgraph_golden_query: judgeGolden(read),
  };
}

/** The columns that the exporter would read; the members that definitions lack are added to `missing`. */
function columnsOf(
  metrics: readonly Json[],
  sources: Map<string, GoldenSource>,
  missing: Set<string>,
): GoldenSubject['columns'] {
  return metrics.flatMap((metric) => {
    const { data, error } = goldenMetric.safeParse(metric);
    for (const { path } of error?.issues ?? []) missing.add(String(path.at(-1)));
    if (data === undefined) return [];
    try {
      const { source, select } = readDefinition(data.definition);
      const key = sourceKey(source);
      const shared = sources.get(key) ?? source;
      sources.set(key, shared);
      return [{ name: data.name, source: shared, select }];
    } catch (error_) {
      if (error_ instanceof UnreadableDefinition) return [];
      throw error_;
    }
  });
}

/** Decides whether the queries of each type were accepted, and those of any type had values. */
function judgeGolden(types: readonly (readonly Outcome<GoldenResult>[])[]): Judged {
  const outcomes = types.flat();
  const failures = outcomes.flatMap((each) => ('error' in each ? each.error : [...each.value.failures.values()]));
  const refused = failures.find(({ failure }) => failure.reason === 'other' || failure.reason === 'invalid_response');
  const valued = outcomes.filter((each) => 'value' in each && each.value.values.size > 0).length;
  const seen = ratio('seen by expected', valued / outcomes.length);
  const [failed] = failures;
  if (refused !== undefined) return holds(false, word('error class', refused.failure.code ?? 'none'), seen);
  if (failed !== undefined) throw failed;
  return outcomes.length === 0 ? undecided('too few entities') : holds(valued > 0, seen);
}

/** The probes that `check --facts` makes over NerdGraph, in this order. */
export const NERDGRAPH_PROBES: readonly Probe<GraphAccount>[] = [
  probe(APP_ID, async (account) => {
    const hasData = async (id: string): Promise<boolean> =>
      (await rowsFor(account, `${COUNT} appId = ${id} AND ${SIGNS} {time}`)).some((row) => numberAt(row, 'c') > 0);
    if (await hasData('{app}')) return holds(true, word('shape', 'without quotes'));
    return (await hasData("'{app}'")) ? holds(false, word('shape', 'in quotes')) : undecided('no traffic');
  }),
  ...queryProbes('nerdgraph_'),
  { ...probe('nerdgraph_sign_of_life', checkLanguages), needs: APP_ID },
  probe('nerdgraph_entity_page', async (account) => {
    const first = await readPage(account, APPLICATIONS, '');
    const size = count('rows', first.entities.length);
    if (first.total <= PAGE && first.entities.length === first.total) return undecided('too few entities', size);
    if (typeof first.next !== 'string') return holds(false, word('shape', 'no cursor'), size);
    const second = await readPage(account, APPLICATIONS, '', { cursor: first.next });
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
  ...queryProbes('pack_'),
];

/** The probe whose number of calls depends on the account, so it is last. */
export const GOLDEN_PROBE = probe<GraphAccount>(['nerdgraph_golden_metrics', 'nerdgraph_golden_query'], checkGolden);
