import { columnsOf, conditionOf, type Batch } from './batching.ts';
import { all, completeRowsOf, isNotNull, nearWindow, TIMESLICE, type Attribute, type Selection } from './nrql.ts';
import { takeRows, withoutPadding, type RowsRead } from './rows.ts';
import type { NrqlEnd, NrqlRead } from './transport.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { Facets } from '../../nrql/facets.ts';
import {
  goldenQuery,
  isCanonicalInteger,
  recordId,
  type GoldenSource,
  type IdListForm,
} from '../../nrql/goldenMetric.ts';
import { BOUNDS } from '../http/bounds.ts';
import { CallFailure } from '../http/callFailure.ts';
import { hasMembers, type Discarded, type Json } from '../http/validation.ts';
import { UpstreamError } from '../types.ts';

/** The count is the first function, because New Relic ranks the returned facets by the first function. */
const COUNT = { of: 'count', from: TIMESLICE, as: 'c' } as const;
const SUMS = [
  COUNT,
  { of: 'sum', from: TIMESLICE, as: 't' },
  { of: 'sum', from: `${TIMESLICE}['totalExclusive']`, as: 'x' },
] as const;
const VALUES = [...SUMS, { of: 'min', from: TIMESLICE, as: 'mn' }, { of: 'max', from: TIMESLICE, as: 'mx' }] as const;
const SELECTIONS: Readonly<Record<'names' | 'sums' | 'values' | 'squares', readonly [Selection, ...Selection[]]>> = {
  names: [COUNT],
  sums: SUMS,
  values: VALUES,
  squares: [...VALUES, { of: 'sum', from: `${TIMESLICE}['sumOfSquares']`, as: 'q' }],
};
const OF_KEY_TRANSACTIONS = [
  { of: 'count', from: 'apm.key.transaction.duration', as: 'c' },
  { of: 'sum', from: 'apm.key.transaction.duration', as: 't' },
  { of: 'count', from: 'apm.key.transaction.error.count', as: 'x' },
] as const;

const FACETS: Readonly<Record<'application' | 'host' | 'key_transaction', readonly Attribute[]>> = {
  application: ['appId', 'metricTimesliceName'],
  host: ['appId', 'host', 'metricTimesliceName'],
  key_transaction: ['entity.guid'],
};

/**
 * Runs the query of a batch, and stores its rows. `too_big`: also if rows are missing. Rejects only with the signal's reason.
 *
 * @param isAlone true: the batch is what failed alone; its failure says nothing of how ids may be written
 */
export async function queryBatch(
  read: RowsRead,
  batch: Batch,
  retries: NonNullable<NrqlRead['retries']>,
  isAlone = false,
): Promise<NrqlEnd> {
  const { group, range, columns = 'values', groupBy, bucketMinutes, golden } = read.query;
  if (golden !== undefined) return queryGolden(read, batch, golden, retries, isAlone);
  if (groupBy === 'entity') throw new RangeError('a query of golden metrics needs their source');
  const condition = conditionOf(batch, groupBy);
  // Data other than timeslices may have an application's id, too.
  const where = columns === 'names' ? all([condition, isNotNull(TIMESLICE)]) : condition;
  const select = groupBy === 'key_transaction' ? OF_KEY_TRANSACTIONS : SELECTIONS[columns];
  const facet = FACETS[groupBy];
  const query = { select, where, facet, range, bucketMinutes };
  // Reads of counters have few rows, so that other work need not wait for a response of the size that backfill may have.
  const bounds = bucketMinutes === undefined || group === 'counters' ? BOUNDS.query : BOUNDS.series;
  return run(read, { group, account: read.accountId, query, retries, bounds }, (result, discarded) =>
    takeRows(read, facet, batch, result, discarded),
  );
}

async function queryGolden(
  read: RowsRead,
  batch: Batch,
  source: GoldenSource,
  retries: NonNullable<NrqlRead['retries']>,
  isAlone: boolean,
): Promise<NrqlEnd> {
  const { group, range } = read.query;
  const { memory } = read.account;
  const columns = columnsOf(batch);
  const ids = batch.map(({ id }) => recordId(String(id), source.eventObjectId) ?? '');
  const runIn = (form: IdListForm): Promise<NrqlEnd> => {
    const query = goldenQuery(source, columns, ids, range, form);
    const post = { group, account: read.accountId, query, retries, bounds: BOUNDS.query, keyHeader: 'Api-Key' };
    return run(read, post, (result, discarded) => takeGoldenRows(read, source, columns, batch, result, discarded));
  };
  const hasNumbers = source.eventObjectId === 'DOMAIN_IDS' && ids.some(isCanonicalInteger);
  const end = await runIn(memory.idListForm ?? 'mixed');
  if (!hasNumbers || memory.idListForm !== undefined) return end;
  if (end.kind === 'result') memory.idListForm = 'mixed';
  // New Relic may refuse a list with numbers and texts (not documented), so two lists are tried.
  if (isAlone || end.kind !== 'failed' || end.error.failure.reason !== 'other') return end;
  const again = await runIn('separate');
  if (again.kind !== 'failed') memory.idListForm = 'separate';
  return again;
}

/** Runs a query, and reads its response; returns `too_big` where rows are missing. */
async function run(
  { account: { transport }, call }: RowsRead,
  query: NrqlRead,
  take: (result: Json, discarded: Discarded) => Promise<boolean>,
): Promise<NrqlEnd> {
  const end = await transport.nrql(query, call);
  if (end.kind !== 'result') return end;
  try {
    const isWhole = await transport.parseReporting(query.group, (discarded) => take(end.result, discarded));
    return isWhole ? end : { kind: 'too_big' };
  } catch (error) {
    if (error instanceof UpstreamError) return { kind: 'failed', error };
    throw error;
  }
}

/**
 * Stores the rows of one response under their entities, with only the columns that each entity has; false where rows are missing.
 * Throws a CallFailure, and stores nothing, where a row does not say which entity it is about.
 */
async function takeGoldenRows(
  { account, query: { group, range }, found }: RowsRead,
  source: GoldenSource,
  columns: readonly string[],
  batch: Batch,
  result: Json,
  discarded: Discarded,
): Promise<boolean> {
  const attributes = [source.attribute];
  const response = completeRowsOf(result, attributes, false);
  if (response === undefined) return false;
  const window = nearWindow(response, range);
  const facets = new Facets(response.facets, attributes);
  const parts = new Map<string, Batch>();
  for (const part of batch) {
    const id = withoutPadding(recordId(String(part.id), source.eventObjectId) ?? '');
    const rows = found.get(part.id);
    if (id !== '') parts.set(id, [...(parts.get(id) ?? []), part]);
    else if (rows !== undefined)
      rows.failure = account.transport.invalid(group, `the guid of ${part.displayName ?? part.id} has no id`);
  }
  const byId: (readonly [id: string, row: Json])[] = [];
  await inSlices(response.rows, (row) => {
    const keys = hasMembers(row) ? facets.keysOf(row) : undefined;
    if (!hasMembers(row) || keys === undefined) {
      throw new CallFailure('invalid_response', 'a row does not say which entity it is about');
    }
    byId.push([withoutPadding(keys[0] ?? ''), row]);
  });
  const taken = new Set<string>();
  await inSlices(byId, ([id, row]) => {
    const [part, other] = parts.get(id) ?? [];
    const rows = part === undefined ? undefined : found.get(part.id);
    if (part === undefined || other !== undefined || rows === undefined) {
      discarded.record('results.facet');
      return;
    }
    // A second row for an entity makes both unreliable.
    if (taken.has(id)) {
      rows.failure ??= account.transport.invalid(
        group,
        `two rows are about one entity (${part.displayName ?? part.id})`,
      );
    }
    taken.add(id);
    rows.window = window;
    for (const [index, column] of columns.entries()) {
      if (part.selector.names.includes(column)) rows.columns.set(column, row[`m${index}`] ?? null);
    }
  });
  for (const { id } of batch) {
    const rows = found.get(id);
    if (rows !== undefined) rows.window ??= window;
  }
  return true;
}
