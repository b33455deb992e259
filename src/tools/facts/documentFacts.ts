import { isObject, isList, type Json } from '../../api/http/validation.ts';
import * as documents from '../../api/nerdgraph/documents.ts';
import { goldenMetric } from '../../api/nerdgraph/entityLists.ts';
import { applicationIdOf } from '../../api/nerdgraph/lists.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import { goldenQuery, recordId, sourceKey, UnreadableDefinition } from '../../nrql/goldenMetric.ts';
import { parseDefinition } from '../../collect/inventory/entityRecords.ts';
import type { AskedAccount } from './askedAccount.ts';
import { observeCount, decide, observeRatio, leaveUndecided, observeWord, type Judged } from './evidence.ts';
import { judgeAcceptance, numberAt, objectsIn } from './judges.ts';

/** Reads a page of an entity search. Uses a document of the exporter, so that facts see the same data. */
async function readPage(account: AskedAccount, document: documents.Document, what: string, more: Json = {}) {
  const search = `${what}${what === '' ? '' : ' AND '}accountId = ${await account.accountId()}`;
  const found = await account.read(document, { search, cursor: null, ...more });
  const results = isObject(found['results']) ? found['results'] : {};
  return { entities: objectsIn(results['entities']), next: results['nextCursor'], total: numberAt(found, 'count') };
}

export async function checkEntityPages(account: AskedAccount): Promise<Judged> {
  const first = await readPage(account, documents.APPLICATIONS, '');
  const size = observeCount('rows', first.entities.length);
  if (first.total <= 200 && first.entities.length === first.total) return leaveUndecided('too few entities', size);
  if (typeof first.next !== 'string') return decide(false, size);
  const second = await readPage(account, documents.APPLICATIONS, '', { cursor: first.next });
  const known = new Set(first.entities.map(({ guid }) => guid));
  const isNew = second.entities.length > 0 && second.entities.every(({ guid }) => !known.has(guid));
  return decide(isNew && first.entities.length === 200, size);
}

const hasNumber = ({ tags }: Json): boolean => {
  const isNumber = (id: unknown): boolean => typeof id === 'string' && /^\d{1,15}$/.test(id);
  return objectsIn(tags).some(({ key, values }) => key === 'keyTransactionId' && isList(values) && isNumber(values[0]));
};
const hasId = ({ guid }: Json): boolean => typeof guid === 'string' && applicationIdOf(guid) !== undefined;

/** Checks a page of key transactions: a number in the tags of each, or an id in the guid of each owner. */
export const checkKeyTransactions =
  (judged: 'tags' | 'owners') =>
  async (account: AskedAccount): Promise<Judged> => {
    const what = "domain = 'EXT' AND type = 'KEY_TRANSACTION'";
    const { entities } = await readPage(account, documents.KEY_TRANSACTIONS, what);
    const guids = judged === 'owners' ? entities.slice(0, 25).map(({ guid }) => guid) : [];
    const details = guids.length === 0 ? {} : await account.read(documents.KEY_TRANSACTION_DETAILS, { guids });
    const owners = objectsIn(details['entities']).flatMap(({ application }) => objectsIn([application]));
    const areGood = judged === 'owners' ? owners.map(hasId) : entities.map(hasNumber);
    if (areGood.length === 0) return leaveUndecided('no key transaction');
    const part = areGood.filter(Boolean).length / areGood.length;
    return decide(part === 1, observeRatio('seen by expected', part));
  };

export async function checkUserId(account: AskedAccount): Promise<Judged> {
  const { id } = await account.read(documents.USER, {});
  return decide(typeof id === 'number', observeWord('shape', id === null ? 'null' : typeof id));
}

/** Types whose golden metrics read timeslices. These types come first. */
const TIMESLICE_TYPES = ['APM-APPLICATION', 'EXT-KEY_TRANSACTION', 'EXT-SERVICE', 'MOBILE-APPLICATION'];
/** Limits: types to list (many have no golden metrics), types to read, entities of each type. */
const MAX = { listed: 8, read: 5, entities: 3 };

/** Runs a query for each type. No definition may lack a member; each query must be accepted; one must have values. */
export async function checkGoldenValues(account: AskedAccount): Promise<Judged> {
  const rankOf = (type: string): number => (TIMESLICE_TYPES.includes(type) ? 0 : 1);
  const types = (await account.types()).toSorted((a, b) => rankOf(a.type) - rankOf(b.type) || b.count - a.count);
  const missing = new Set<string>();
  const ends: NrqlEnd[] = [];
  for (const { type } of types.slice(0, MAX.listed)) {
    if (ends.length === MAX.read) break;
    const [domain = '', ...rest] = type.split('-');
    const search = `domain = '${domain}' AND type = '${rest.join('-')}' AND reporting = 'true'`;
    const { entities } = await readPage(account, documents.ENTITIES, search, { limit: MAX.entities });
    const columns = entities.flatMap((entity) => readColumns(entity, missing));
    const [first] = columns;
    if (first === undefined) continue;
    const alike = columns.filter(({ source }) => sourceKey(source) === sourceKey(first.source));
    const selects = [...new Set(alike.map(({ select }) => select))];
    const ids = [...new Set(alike.map(({ id }) => id))];
    const range = { from: account.to - 600, to: account.to };
    ends.push(await account.tryQuery(goldenQuery(first.source, selects, ids, range, 'separate')));
  }
  if (missing.size > 0) return decide(false, ...[...missing].map((field) => observeWord('field', field)));
  if (ends.length === 0) return leaveUndecided('too few entities');
  const refused = ends.find((end) => end instanceof UpstreamError);
  if (refused !== undefined) return judgeAcceptance(refused);
  const hasValue = (row: Json): boolean => Object.keys(row).some((key) => /^m\d/.test(key) && row[key] !== null);
  const valued = ends.filter((end) => isObject(end) && objectsIn(end['results']).some(hasValue));
  return decide(valued.length > 0, observeRatio('seen by expected', valued.length / ends.length));
}

/** Returns the golden metrics of an entity, with its record id. Adds the members that definitions lack to `missing`. */
function readColumns({ guid, goldenMetrics }: Json, missing: Set<string>) {
  const metrics = isObject(goldenMetrics) ? objectsIn(goldenMetrics['metrics']) : [];
  return metrics.flatMap((metric) => {
    const { data, error } = goldenMetric.safeParse(metric);
    for (const { path } of error?.issues ?? []) missing.add(String(path.at(-1)));
    const id = data && recordId(String(guid), data.definition.eventObjectId);
    const column = data && parseDefinition(data);
    if (id === undefined || column === undefined || column instanceof UnreadableDefinition) return [];
    return [{ id, ...column }];
  });
}
