import { columnsOf, writeCondition, type Batch, type QueryKind, type QueryPart } from './batching.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import {
  joinWithAnd,
  readCompleteRows,
  Incomplete,
  checkWindow,
  writeNrql,
  TIMESLICE,
  type Attribute,
} from './nrql.ts';
import type { NrqlEnd, NrqlRead } from './transport.ts';
import { isNeverNegative } from './metricSelector.ts';
import { BOUNDS } from '../http/response.ts';
import type { SubjectId } from './failureMemory.ts';
import { hasMembers, type Json, type Discarded } from '../http/validation.ts';
import { sharedRange, type CallOptions, type TimeRange } from '../upstreamReader.ts';
import { isAbout, type Timeslice } from '../types.ts';
import { UpstreamError, CallFailure } from '../upstreamError.ts';
import { isDatastore, type Columns } from '../../formulas/metricInputs.ts';
import { Facets } from '../../nrql/facets.ts';
import { goldenQuery, isCanonicalInteger, recordId, type GoldenSource } from '../../nrql/goldenMetric.ts';
import { READS } from '../../reads/reads.ts';

/** The key in place of a host name for a subject without hosts, and of a metric name for a row without a metric. */
export const ITSELF = '';

/** The rows that were read for one application, key transaction or entity. */
export class SubjectRows {
  /** Rows by host, or `ITSELF`, and metric. */
  readonly rows = new Map<string, Map<string, Columns>>();
  /** Rows of buckets by host and metric, in any order. */
  readonly buckets = new Map<string, Map<string, Timeslice[]>>();
  /** Values of an entity's golden metrics as in the response, by the text of their column. */
  readonly columns = new Map<string, unknown>();
  /** Failures by host, and by the text of a column that fails even when it is read alone. */
  readonly failures = new Map<string, UpstreamError>();
  failure: UpstreamError | undefined;
  /** The window of all responses; for buckets, the time that they share. */
  window: TimeRange | undefined;

  /** Adds the rows of another response, with other metrics or a later range. */
  append(other: SubjectRows): void {
    this.failure ??= other.failure;
    for (const [key, failure] of other.failures) this.failures.set(key, failure);
    for (const [column, value] of other.columns) {
      this.columns.set(column, value);
      this.failures.delete(column);
    }
    for (const [host, metrics] of other.rows) {
      const before = this.rows.get(host);
      if (before === undefined) this.rows.set(host, metrics);
      else for (const [name, row] of metrics) before.set(name, row);
    }
    for (const [host, metrics] of other.buckets) {
      const bucketsByName = getOrAdd(this.buckets, host, () => new Map<string, Timeslice[]>());
      for (const [name, rows] of metrics) getOrAdd(bucketsByName, name, () => []).push(...rows);
    }
  }

  /** Records the window of a response; false: it differs from the earlier one. */
  recordWindow(window: TimeRange, isBucketed: boolean): boolean {
    const before = this.window ?? window;
    // Buckets have times of their own, so their responses may differ.
    this.window = isBucketed ? sharedRange(before, window) : before;
    return isBucketed || (before.from === window.from && before.to === window.to);
  }

  /** The failure of the whole subject; otherwise that of the host, or without a host the first of any host. */
  failureOf(host: string | undefined): UpstreamError | undefined {
    return this.failure ?? (host === undefined ? this.failures.values().next().value : this.failures.get(host));
  }

  /** The number of datastore metrics of the host with the most, or of `ITSELF`; undefined where nothing was read. */
  countDatastores(): number | undefined {
    const hosts = [...this.rows.values(), ...this.buckets.values()];
    if (this.failure !== undefined || hosts.length === 0) return undefined;
    return hosts.reduce((highest, metrics) => {
      let datastores = 0;
      for (const name of metrics.keys()) if (isDatastore(name)) datastores += 1;
      return Math.max(highest, datastores);
    }, 0);
  }
}

export type FoundRows = ReadonlyMap<SubjectId, SubjectRows>;

/** Parts that are read in as few queries as possible. */
export interface TimesliceQuery extends QueryKind {
  readonly parts: readonly QueryPart[];
  readonly range: TimeRange;
}

/** How the query of a batch ended. */
export type BatchEnd = Exclude<NrqlEnd, 'too_big'> | Incomplete;

/** A read of batches; the rows of its queries are stored in `found`. */
export interface RowsRead {
  readonly account: NerdGraphAccount;
  readonly accountId: number;
  readonly query: TimesliceQuery;
  readonly found: FoundRows;
  readonly call: CallOptions;
}

/** The count is the first function, because New Relic ranks the returned facets by the first function. */
const COUNT = `count(${TIMESLICE}) AS c`;
const SUMS = `${COUNT}, sum(${TIMESLICE}) AS t, sum(${TIMESLICE}['totalExclusive']) AS x`;
const VALUES = `${SUMS}, min(${TIMESLICE}) AS mn, max(${TIMESLICE}) AS mx`;
const COLUMNS = {
  names: COUNT,
  sums: SUMS,
  values: VALUES,
  squares: `${VALUES}, sum(${TIMESLICE}['sumOfSquares']) AS q`,
};
const KEY_TRANSACTION_COLUMNS =
  'count(apm.key.transaction.duration) AS c, sum(apm.key.transaction.duration) AS t, ' +
  'count(apm.key.transaction.error.count) AS x';

const FACETS: Readonly<Record<'application' | 'host' | 'key_transaction', readonly Attribute[]>> = {
  application: ['appId', 'metricTimesliceName'],
  host: ['appId', 'host', 'metricTimesliceName'],
  key_transaction: ['entity.guid'],
};

/** How messages name the subject of a row, before its name or id. */
const SUBJECTS = { application: 'application ', host: 'application ', key_transaction: 'key transaction ', entity: '' };

export function describeSubject({ displayName, id }: QueryPart, groupBy: QueryKind['groupBy']): string {
  return `${SUBJECTS[groupBy]}${displayName ?? id}`;
}

/**
 * Runs the query of a batch, and stores its rows; an Incomplete also if rows are missing. Rejects only with the reason of the
 * signal.
 *
 * @param isAlone true: its failure says nothing of how ids may be written
 */
export async function queryBatch(
  read: RowsRead,
  batch: Batch,
  retries: NonNullable<NrqlRead['retries']>,
  isAlone = false,
): Promise<BatchEnd> {
  const { range, columns = 'values', groupBy, bucketMinutes, golden } = read.query;
  const { group } = READS[read.query.read];
  if (golden !== undefined) return queryGolden(read, batch, golden, retries, isAlone);
  if (groupBy === 'entity') throw new RangeError('a query of golden metrics needs their source');
  const condition = writeCondition(batch, groupBy);
  // Data other than timeslices may have an application's id, too.
  const where = joinWithAnd([condition, columns === 'names' ? `${TIMESLICE} IS NOT NULL` : '']);
  const select = groupBy === 'key_transaction' ? KEY_TRANSACTION_COLUMNS : COLUMNS[columns];
  const facet = FACETS[groupBy];
  const query = writeNrql({ select, where, facet, range, bucketMinutes });
  // Reads of counters have few rows, so that other work need not wait for a response of the size that backfill may have.
  const bounds = bucketMinutes === undefined || group === 'counters' ? BOUNDS.query : BOUNDS.series;
  return runBatchQuery(read, batch, { group, account: read.accountId, query, retries, bounds }, facet);
}

async function queryGolden(
  read: RowsRead,
  batch: Batch,
  source: GoldenSource,
  retries: NonNullable<NrqlRead['retries']>,
  isAlone: boolean,
): Promise<BatchEnd> {
  const { range } = read.query;
  const { group } = READS[read.query.read];
  const { memory } = read.account;
  const columns = columnsOf(batch, read.query);
  const ids = batch.map(({ id }) => recordId(String(id), source.eventObjectId) ?? '');
  const runWithForm = (form: 'mixed' | 'separate'): Promise<BatchEnd> => {
    const query = goldenQuery(source, columns, ids, range, form);
    const post = { group, account: read.accountId, query, retries, bounds: BOUNDS.query, keyHeader: 'Api-Key' };
    return runBatchQuery(read, batch, post, [source.attribute]);
  };
  const hasNumbers = source.eventObjectId === 'DOMAIN_IDS' && ids.some(isCanonicalInteger);
  const end = await runWithForm(memory.idListForm ?? 'mixed');
  if (!hasNumbers || memory.idListForm !== undefined) return end;
  const isFailed = typeof end === 'string' || end instanceof UpstreamError || end instanceof Incomplete;
  if (!isFailed) memory.idListForm = 'mixed';
  // New Relic may refuse a list with numbers and texts (not documented), so two lists are tried.
  if (isAlone || !(end instanceof UpstreamError) || end.failure.reason !== 'other') return end;
  const again = await runWithForm('separate');
  if (!(again instanceof UpstreamError)) memory.idListForm = 'separate';
  return again;
}

/** Runs a query, and reads its response. */
async function runBatchQuery(
  read: RowsRead,
  batch: Batch,
  query: NrqlRead,
  attributes: readonly string[],
): Promise<BatchEnd> {
  const { transport } = read.account;
  const end = await transport.runNrql(query, read.call);
  if (end === 'too_big') return new Incomplete('New Relic says that it is too big', true);
  if (typeof end === 'string' || end instanceof UpstreamError) return end;
  try {
    const incomplete = await transport.parseReporting(query.group, (discarded) =>
      takeRows(read, attributes, batch, end, discarded),
    );
    return incomplete ?? end;
  } catch (error) {
    if (error instanceof UpstreamError) return error;
    throw error;
  }
}

interface RowsTarget {
  readonly part: QueryPart;
  readonly hosts: ReadonlySet<string> | undefined;
  readonly rows: SubjectRows;
  /** Hosts with an unreadable count or sum, or two rows of one metric. */
  readonly bad: Set<string>;
}

/** A response whose rows are being stored. */
interface RowsResponse {
  readonly query: TimesliceQuery;
  /** Targets by the id in a row's first facet, a guid without its padding; undefined for an id of several entities. */
  readonly targets: ReadonlyMap<string, RowsTarget | undefined>;
  readonly facets: Facets;
  /** The columns of golden metrics that the query selects, with their keys in a row. */
  readonly columns: readonly (readonly [column: string, key: string])[];
  readonly window: TimeRange | undefined;
  readonly discarded: Discarded;
}

/** The columns of a row whose name alone is used, or of one that cannot be read. */
const NO_COLUMNS: Columns = Object.freeze({});
const NO_SUBJECT = 'a row does not say what it is about';

/** Stores the rows of a response; returns why not where rows are missing. Throws a CallFailure where they cannot be read. */
function takeRows(
  { account, query, found }: RowsRead,
  attributes: readonly string[],
  batch: Batch,
  result: Json,
  discarded: Discarded,
): Incomplete | undefined {
  const isBucketed = query.bucketMinutes !== undefined;
  const isNames = query.columns === 'names';
  const response = readCompleteRows(result, attributes, isBucketed);
  if (response instanceof Incomplete) return response;
  const window = isBucketed || isNames ? response.window : checkWindow(response.window, query.range);
  if (window === undefined && !isNames) {
    throw new CallFailure('invalid_response', 'the response does not say which time it is for');
  }
  const { golden, groupBy } = query;
  const fail = (words: string): UpstreamError => account.transport.failure(READS[query.read].group, words);
  const failPart = (part: QueryPart, words: string): UpstreamError =>
    fail(`${words} (${describeSubject(part, groupBy)})`);
  const targets = new Map<string, RowsTarget | undefined>();
  const allTargets = batch.map((part): RowsTarget => {
    const hosts = part.hosts === undefined ? undefined : new Set(part.hosts);
    const target = { part, hosts, rows: new SubjectRows(), bad: new Set<string>() };
    const id = golden === undefined ? String(part.id) : recordId(String(part.id), golden.eventObjectId);
    if (id === undefined) target.rows.failure = fail(`the guid of ${part.displayName ?? part.id} has no id`);
    else targets.set(trimPadding(id), targets.has(trimPadding(id)) ? undefined : target);
    return target;
  });
  const columns = columnsOf(batch, query).map((column, index) => [column, `m${index}`] as const);
  const stored = { query, targets, facets: new Facets(response.facets, attributes), columns, window, discarded };
  // Promises of the call keep its response until a full garbage collection: without its rows it is small.
  for (const row of response.rows.splice(0)) takeRow(stored, row);
  for (const { part, bad, rows: subjectRows } of allTargets) {
    const rows = found.get(part.id);
    if (rows === undefined) continue;
    if (golden !== undefined && bad.size > 0) subjectRows.failure ??= failPart(part, 'two rows are about one entity');
    else if (bad.size > 0) {
      const failure = failPart(part, 'a count or a sum cannot be read');
      for (const host of bad) subjectRows.failures.set(host, failure);
    }
    rows.append(subjectRows);
    if (!isNames && window !== undefined && !rows.recordWindow(window, isBucketed) && golden === undefined) {
      rows.failure = failPart(part, 'two responses are for different times');
    }
  }
  return undefined;
}

function takeRow(response: RowsResponse, row: unknown): void {
  const { query, targets, facets, columns, discarded } = response;
  const keys = hasMembers(row) ? facets.keysOf(row) : undefined;
  if (!hasMembers(row) || keys === undefined) throw new CallFailure('invalid_response', NO_SUBJECT);
  const { groupBy } = query;
  const [id = ''] = keys;
  // How New Relic writes a number among several facets is not documented: `7.0` means 7.
  const target = targets.get(trimPadding(id)) ?? targets.get(String(Number(id)));
  if (target === undefined) {
    const isSubject = groupBy === 'key_transaction' || groupBy === 'entity' || /^\d{1,16}$/.test(id.slice(0, 20));
    if (!isSubject) throw new CallFailure('invalid_response', NO_SUBJECT);
    discarded.add('record', 'results.facet');
    return;
  }
  if (query.golden !== undefined) {
    const { rows, bad, part } = target;
    if (rows.columns.size > 0) bad.add(ITSELF);
    for (const [column, key] of columns) {
      if (part.selector.names.includes(column)) rows.columns.set(column, row[key] ?? null);
    }
    return;
  }
  const host = groupBy === 'host' ? (keys[1] ?? '') : ITSELF;
  const name = groupBy === 'key_transaction' ? ITSELF : target.part.selector.find(keys[keys.length - 1] ?? '');
  if (name === undefined || target.hosts?.has(host) === false) return;
  if (query.bucketMinutes !== undefined) {
    takeBucket(response, row, target, host, name);
    return;
  }
  const isNames = query.columns === 'names';
  const read = isNames ? NO_COLUMNS : readColumns(row, name, discarded);
  const metrics = getOrAdd(target.rows.rows, host, () => new Map<string, Columns>());
  // A second row for the same key makes both unreliable.
  if (read === undefined || (metrics.has(name) && !isNames)) target.bad.add(host);
  else metrics.set(name, read);
}

function takeBucket(
  { query, window, discarded }: RowsResponse,
  row: Json,
  target: RowsTarget,
  host: string,
  name: string,
): void {
  const { beginTimeSeconds: from, endTimeSeconds: to } = row;
  if (typeof from !== 'number' || typeof to !== 'number') {
    throw new CallFailure('invalid_response', 'a row does not say which bucket it is for');
  }
  const covered = sharedRange(query.range, window ?? query.range);
  if (query.keepsUnreadable === true && !isAbout(covered, { from, to })) return;
  const isOutside = window !== undefined && (from < window.from || to > window.to);
  // Only wanted buckets must have the full length: the first one of a longer response may be incomplete.
  const isWanted = from >= query.range.from && to <= query.range.to;
  if (isOutside || (isWanted && to - from !== 60 * (query.bucketMinutes ?? 0))) {
    throw new CallFailure('invalid_response', 'a row is for another bucket than requested');
  }
  if (!isWanted) return;
  // Empty buckets are returned as zeros; columns without a value may be null.
  const { c: count, t: sum, x: exclusive } = row;
  if (count === 0 && (sum === 0 || sum === null) && (exclusive === 0 || exclusive === null)) return;
  const read = readColumns(row, name, discarded);
  const metrics = getOrAdd(target.rows.buckets, host, () => new Map<string, Timeslice[]>());
  const list = getOrAdd(metrics, name, () => []);
  if (read !== undefined && !list.some((each) => each.from === from)) list.push({ from, to, columns: read });
  else if (query.keepsUnreadable === true) list.push({ from, to, columns: NO_COLUMNS });
  else target.bad.add(host);
}

/** The columns of a row; undefined where its count or its sum cannot be read. */
function readColumns(row: Json, name: string, discarded: Discarded): Columns | undefined {
  const mayBeNegative = name !== ITSELF && !isNeverNegative(name);
  const count = readAmount(row['c'], false);
  const sum = readAmount(row['t'], mayBeNegative);
  if (count === undefined || sum === undefined) return undefined;
  return {
    count,
    sum,
    exclusive: readAmount(row['x'], mayBeNegative, discarded),
    min: readAmount(row['mn'], mayBeNegative, discarded),
    max: readAmount(row['mx'], mayBeNegative, discarded),
    squares: readAmount(row['q'], false, discarded),
  };
}

/** @param discarded what counts an unreadable value as left out */
function readAmount(value: unknown, mayBeNegative: boolean, discarded?: Discarded): number | undefined {
  if (typeof value === 'number' && Number.isFinite(value) && (value >= 0 || mayBeNegative)) return value;
  if (value !== undefined) discarded?.add('value', 'results');
  return undefined;
}

/** The value of a key; a missing value is made by `make`, and stored. */
function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

/** Guids are base64, with its padding or without. */
export function trimPadding(guid: string): string {
  let end = guid.length;
  while (guid[end - 1] === '=') end -= 1;
  return end === guid.length ? guid : guid.slice(0, end);
}
