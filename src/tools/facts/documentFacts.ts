import { hasMembers, isList, type Json } from '../../api/http/validation.ts';
import {
  APPLICATIONS,
  ENTITIES,
  KEY_TRANSACTION_DETAILS,
  KEY_TRANSACTIONS,
  USER,
  type Document,
} from '../../api/nerdgraph/documents.ts';
import { goldenMetric } from '../../api/nerdgraph/entityLists.ts';
import { applicationIdOf } from '../../api/nerdgraph/lists.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import { goldenQuery, readDefinition, recordId, sourceKey, UnreadableDefinition } from '../../nrql/goldenMetric.ts';
import type { AskedAccount } from './askedAccount.ts';
import { count, holds, ratio, undecided, word, type Judged } from './evidence.ts';
import { accepted, numberAt, objectsIn } from './judges.ts';

/** Reads a page of an entity search with a GraphQL document of the exporter, so that facts see what the exporter sees. */
async function readPage(account: AskedAccount, document: Document, what: string, more: Json = {}) {
  const search = `${what}${what === '' ? '' : ' AND '}accountId = ${await account.accountId()}`;
  const found = await account.read(document, { search, cursor: null, ...more });
  const results = hasMembers(found['results']) ? found['results'] : {};
  return { entities: objectsIn(results['entities']), next: results['nextCursor'], total: numberAt(found, 'count') };
}

export async function entityPage(account: AskedAccount): Promise<Judged> {
  const first = await readPage(account, APPLICATIONS, '');
  const size = count('rows', first.entities.length);
  if (first.total <= 200 && first.entities.length === first.total) return undecided('too few entities', size);
  if (typeof first.next !== 'string') return holds(false, word('shape', 'no cursor'), size);
  const second = await readPage(account, APPLICATIONS, '', { cursor: first.next });
  const known = new Set(first.entities.map(({ guid }) => guid));
  const isNew = second.entities.length > 0 && second.entities.every(({ guid }) => !known.has(guid));
  return holds(isNew && first.entities.length === 200, size);
}

const readKeyTransactions = async (account: AskedAccount) =>
  (await readPage(account, KEY_TRANSACTIONS, "domain = 'EXT' AND type = 'KEY_TRANSACTION'")).entities;

/** Decides whether all key transactions are as assumed. */
function judgeAll(areGood: readonly boolean[]): Judged {
  const part = areGood.filter(Boolean).length / areGood.length;
  return areGood.length === 0 ? undecided('no key transaction') : holds(part === 1, ratio('seen by expected', part));
}

export async function keyTransactionIds(account: AskedAccount): Promise<Judged> {
  const isId = (id: unknown): boolean => typeof id === 'string' && /^\d{1,15}$/.test(id);
  const hasId = ({ tags }: Json): boolean =>
    objectsIn(tags).some(({ key, values }) => key === 'keyTransactionId' && isList(values) && isId(values[0]));
  return judgeAll((await readKeyTransactions(account)).map(hasId));
}

export async function ownerGuids(account: AskedAccount): Promise<Judged> {
  const guids = (await readKeyTransactions(account)).slice(0, 25).map(({ guid }) => guid);
  const details = guids.length === 0 ? {} : await account.read(KEY_TRANSACTION_DETAILS, { guids });
  const owners = objectsIn(details['entities']).flatMap(({ application }) =>
    hasMembers(application) ? [application['guid']] : [],
  );
  return judgeAll(owners.map((guid) => typeof guid === 'string' && applicationIdOf(guid) !== undefined));
}

export async function userId(account: AskedAccount): Promise<Judged> {
  const { id } = await account.read(USER, {});
  return holds(typeof id === 'number', word('shape', id === null ? 'null' : typeof id));
}

/** Types whose golden metrics read timeslices: they are asked first. */
const OF_TIMESLICES = ['APM-APPLICATION', 'EXT-KEY_TRANSACTION', 'EXT-SERVICE', 'MOBILE-APPLICATION'];
/** The most types whose entities are read, many of which have no golden metrics, and the most whose values are read. */
const MAX_TYPES = { listed: 8, read: 5 };
const ENTITIES_OF_TYPE = 3;

/** The golden metrics of a few entities of up to five types, and the members that definitions lack. */
async function readGolden(account: AskedAccount) {
  const rankOf = (type: string): number => (OF_TIMESLICES.includes(type) ? 0 : 1);
  const types = (await account.types()).toSorted((a, b) => rankOf(a.type) - rankOf(b.type) || b.count - a.count);
  const missing = new Set<string>();
  const found: ReturnType<typeof columnsOf>[] = [];
  for (const { type } of types.slice(0, MAX_TYPES.listed)) {
    if (found.length === MAX_TYPES.read) break;
    const [domain = '', ...rest] = type.split('-');
    const search = `domain = '${domain}' AND type = '${rest.join('-')}' AND reporting = 'true'`;
    const { entities } = await readPage(account, ENTITIES, search, { limit: ENTITIES_OF_TYPE });
    const columns = entities.flatMap((entity) => columnsOf(entity, missing));
    if (columns.length > 0) found.push(columns);
  }
  return { found, missing };
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

export async function goldenDefinitions(account: AskedAccount): Promise<Judged> {
  const { found, missing } = await readGolden(account);
  if (found.length === 0 && missing.size === 0) return undecided('too few entities');
  return holds(missing.size === 0, ...[...missing].map((field) => word('field', field)));
}

/** Runs one query for each type, that of its first source. All should be accepted, and one at least have values. */
export async function goldenValues(account: AskedAccount): Promise<Judged> {
  const ends: NrqlEnd[] = [];
  for (const columns of (await readGolden(account)).found) {
    const [first] = columns;
    if (first === undefined) continue;
    const alike = columns.filter(({ source }) => sourceKey(source) === sourceKey(first.source));
    const selects = [...new Set(alike.map(({ select }) => select))];
    const range = { from: account.to - 600, to: account.to };
    const ids = [...new Set(alike.map(({ id }) => id))];
    ends.push(await account.tryQuery(goldenQuery(first.source, selects, ids, range, 'separate')));
  }
  const refused = ends.find((end) => end instanceof UpstreamError);
  if (refused !== undefined) return accepted(refused);
  const hasValue = (row: Json): boolean => Object.keys(row).some((key) => /^m\d/.test(key) && row[key] !== null);
  const valued = ends.filter(
    (end) => typeof end !== 'string' && 'results' in end && objectsIn(end.results).some(hasValue),
  );
  return ends.length === 0
    ? undecided('too few entities')
    : holds(valued.length > 0, ratio('seen by expected', valued.length / ends.length));
}
