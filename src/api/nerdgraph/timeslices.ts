import type { AccountMemory } from './accountMemory.ts';
import {
  columnsOf,
  isShared,
  keyOf,
  packBatches,
  planQueries,
  selectColumns,
  type ApartBatch,
  type Batch,
  type QueryKind,
  type QueryPart,
} from './batching.ts';
import { endingOf, failBatch, failureOf, markSetApart, recordIfDone, type Ending } from './batchEnds.ts';
import { Division } from './division.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { queryBatch, SubjectRows, type BatchEnd, type FoundRows, type RowsRead, type TimesliceQuery } from './rows.ts';
import { textOf, type ApartKey } from './failureMemory.ts';
import type { CallOptions } from '../upstreamReader.ts';
import { UpstreamError } from '../upstreamError.ts';

/** If more subjects than this are apart, one read of each interval first tries them together. */
const READ_TOGETHER_ABOVE = 10;

/** Counts the calls of these queries if nothing fails. */
export function countQueries(memory: AccountMemory, queries: readonly TimesliceQuery[]): number {
  return queries.reduce((sum, query) => {
    const { batches, apart } = planQueries(query.parts, memory, query);
    return sum + batches.length + apart.length;
  }, 0);
}

/** Reads the rows of a query, by subject. Rejects only with the reason of the signal. */
export async function readTimeslices(
  account: NerdGraphAccount,
  query: TimesliceQuery,
  call: CallOptions,
): Promise<FoundRows> {
  const { memory } = account;
  const { batches, apart } = planQueries(query.parts, memory, query);
  const parts = [...batches, ...apart.map(({ batch }) => batch)].flat();
  const found = new Map(parts.map(({ id }) => [id, new SubjectRows()]));
  if (parts.length === 0) return found;
  try {
    const read: RowsRead = { account, accountId: await account.resolveId(call), query, found, call };
    const repeats: RowsRead = { ...read, call: { ...call, isRepeat: true } };
    await Promise.all([...batches.map((batch) => readBatch(read, batch)), readApart(repeats, apart)]);
    for (const part of parts) recordFoundSizes(memory, part, query, found.get(part.id));
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    for (const rows of found.values()) rows.failure = error;
  }
  return found;
}

/** Reads one planned batch, and divides it if its query breaks. */
async function readBatch(read: RowsRead, batch: Batch): Promise<void> {
  const { account, query, call } = read;
  const { memory, transport } = account;
  const { failures } = memory;
  const ids = batch.map(({ id }) => id);
  let end: BatchEnd | undefined;
  if (!isShared(batch) || !failures.isPassingAgain(query.read, ids) || transport.http.isFailing(call)) {
    end = await queryBatch(read, batch, isShared(batch) ? 'but_timeouts' : 'all');
  }
  const ending = end === undefined ? undefined : endingOf(end);
  if (ending === 'passing') failures.recordPassing(query.read, ids);
  else failures.clearPassing(query.read, ids);
  if (end !== undefined && recordIfDone(read, batch, end)) return;
  if (isDivided(batch, query, ending) && !transport.http.isFailing(call)) {
    // An account divides one batch at a time.
    const division = memory.lastDivision.then(() => new Division(read, batch).run(end));
    memory.lastDivision = division.catch(() => undefined);
    const apart = await division;
    for (const key of query.golden === undefined ? [] : apart) await readOtherColumns(read, batch, key);
  } else if (end !== undefined) {
    failBatch(read, batch, failureOf(read, batch, end));
  }
}

/** Reads golden metrics that a division did not read, because other golden metrics set their entity apart. */
async function readOtherColumns(read: RowsRead, batch: Batch, key: ApartKey): Promise<void> {
  const { query, found, account } = read;
  const isBad = account.memory.failures.lastOf(key)?.badColumns;
  const part = batch.filter(({ id }) => id === key.id);
  const open = columnsOf(part, query).filter(
    (name) => found.get(key.id)?.columns.has(name) !== true && isBad?.has(name) !== true,
  );
  if (open.length > 0) await readAlone(read, { key, batch: selectColumns(part, open) });
}

/** @param ending undefined: the query did not run, because the batch ended in consecutive passing failures */
function isDivided(batch: Batch, query: QueryKind, ending: Ending | undefined): boolean {
  if (ending === 'passing' || ending === 'account') return false;
  return ending === 'too_big' || isShared(batch) || (ending === 'refused' && columnsOf(batch, query).length > 1);
}

/** Reads subjects that are apart: many first together and undivided, then each alone, longest unread first. */
async function readApart(read: RowsRead, apart: readonly ApartBatch[]): Promise<void> {
  const { memory } = read.account;
  const { failures } = memory;
  const subjects = apart.filter(({ batch }) => batch.length === 1);
  const good = new Set<string>();
  if (subjects.length > READ_TOGETHER_ABOVE) {
    const keys = new Map(subjects.map(({ key, batch }) => [batch[0], key]));
    for (const together of packBatches(
      subjects.flatMap(({ batch }) => batch),
      memory,
      read.query,
    )) {
      if (endingOf(await queryBatch(read, together, 'none')) !== 'good') continue;
      for (const key of together.flatMap((part) => keys.get(part) ?? [])) {
        failures.recordGoodRead(key);
        good.add(textOf(key));
      }
    }
  }
  const alone = apart.filter(({ key }) => !good.has(textOf(key)));
  const askedAt = ({ key }: ApartBatch): number => failures.lastOf(key)?.askedAt ?? -Infinity;
  await Promise.all(alone.toSorted((a, b) => askedAt(a) - askedAt(b)).map((each) => readAlone(read, each)));
}

/** Reads one subject or column that is apart, without a retry, within its limit of calls. */
async function readAlone(read: RowsRead, { key, batch }: ApartBatch): Promise<void> {
  const { account, query } = read;
  const { failures } = account.memory;
  const columns = columnsOf(batch, query);
  const bad = failures.lastOf(key)?.badColumns ?? new Set<string>();
  const isBad = (column: string): boolean => bad.has(column);
  // Columns that fail alone would break the query of the other columns.
  const parts =
    bad.size === 0
      ? [batch]
      : [columns.filter((column) => !isBad(column)), columns.filter(isBad)].map((some) => selectColumns(batch, some));
  const found: string[] = [];
  for (const part of parts.filter(({ length }) => length > 0)) {
    if (!failures.beginCallAlone(key, account.options.requestsPerMinute)) {
      const { error } = failures.lastOf(key) ?? {};
      if (error !== undefined) failBatch(read, part, markSetApart(error));
      return;
    }
    const end = await queryBatch(read, part, 'none', true);
    if (recordIfDone(read, part, end)) continue;
    const ending = endingOf(end);
    const isRefusedInPart = ending === 'refused' && part.length === 1 && columnsOf(part, query).length > 1;
    if (ending === 'too_big' || ending === 'unmatched' || isRefusedInPart) {
      const division = new Division(read, part, key);
      await division.run(end);
      found.push(...division.badColumns);
      continue;
    }
    const error = failureOf(read, part, end);
    failBatch(read, part, ending === 'account' ? error : markSetApart(error));
    if (ending === 'account') return;
  }
  const [failure] = batch.flatMap((part) => read.found.get(part.id)?.failureOf(keyOf(part, query).host) ?? []);
  if (failure === undefined) failures.recordGoodRead(key);
  else failures.recordFailureAlone(key, failure, found);
}

/** Stores the sizes found. They predict the size of the next response. */
function recordFoundSizes(
  memory: AccountMemory,
  { id, selector, hosts }: QueryPart,
  query: TimesliceQuery,
  rows: SubjectRows | undefined,
): void {
  const datastores = selector.hasDatastores ? rows?.countDatastores() : undefined;
  // A range of a series may lack datastores, so a series never lowers their number.
  const least = query.bucketMinutes === undefined ? 0 : memory.sizesOf(id).datastores;
  if (datastores !== undefined) memory.recordSizes(id, { datastores: Math.max(least, datastores) });
  if (rows === undefined || rows.failureOf(undefined) !== undefined) return;
  if (selector.filters.length > 0) memory.recordSizes(id, { matches: rows.rows.values().next().value?.size ?? 0 });
  if (query.groupBy === 'host' && hosts === undefined) memory.recordSizes(id, { hosts: rows.rows.size });
}
