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
import { isObject, type Json, type Discarded } from '../http/validation.ts';
import { outcomeOf, sharedRange, type CallOptions, type TimeRange } from '../upstreamReader.ts';
import { getOrAdd } from '../maps.ts';
import { isAbout, type Timeslice } from '../types.ts';
import { UpstreamError, CallFailure } from '../upstreamError.ts';
import { isDatastore, type Columns } from '../../formulas/metricInputs.ts';
import { Facets } from '../../nrql/facets.ts';
import { goldenQuery, isCanonicalInteger, recordId, type GoldenSource } from '../../nrql/goldenMetric.ts';
import { READS } from '../../reads/reads.ts';

/** Key in place of a host for a subject without hosts, and in place of a metric for a row without a metric. */
export const ITSELF = '';

/** Holds the rows of one application, key transaction or entity. */
export class SubjectRows {
  /** By host, or `ITSELF`, and metric. */
  readonly rows = new Map<string, Map<string, Columns>>();
  /** Like `rows`, in any order. */
  readonly buckets = new Map<string, Map<string, Timeslice[]>>();
  readonly columns = new Map<string, unknown>();
  /** Failures by host, or by the text of a column of golden metrics. */
  readonly failures = new Map<string, UpstreamError>();
  failure: UpstreamError | undefined;
  /** Window of all responses; for buckets, the time that all responses share. */
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
      const before = getOrAdd(this.rows, host, () => metrics);
      if (before !== metrics) for (const [name, row] of metrics) before.set(name, row);
    }
    for (const [host, metrics] of other.buckets) {
      const before = getOrAdd(this.buckets, host, () => new Map<string, Timeslice[]>());
      for (const [name, rows] of metrics) getOrAdd(before, name, () => []).push(...rows);
    }
  }

  /** Records the window of a response; false if it differs from the earlier window. */
  recordWindow(window: TimeRange, isBucketed: boolean): boolean {
    const before = this.window ?? window;
    // Each bucket says its time, so responses with buckets may differ.
    this.window = isBucketed ? sharedRange(before, window) : before;
    return isBucketed || (before.from === window.from && before.to === window.to);
  }

  /** Without a host, returns the first failure of any host. */
  failureOf(host: string | undefined): UpstreamError | undefined {
    return this.failure ?? (host === undefined ? this.failures.values().next().value : this.failures.get(host));
  }

  /** Returns the highest number of any host; undefined if nothing was read. */
  countDatastores(): number | undefined {
    const hosts = [...this.rows.values(), ...this.buckets.values()];
    if (this.failure !== undefined || hosts.length === 0) return undefined;
    return Math.max(...hosts.map((metrics) => [...metrics.keys()].filter(isDatastore).length));
  }
}

export type FoundRows = ReadonlyMap<SubjectId, SubjectRows>;

export interface TimesliceQuery extends QueryKind {
  readonly parts: readonly QueryPart[];
  readonly range: TimeRange;
}

/** The end of the query of a batch: its result, or why it has none. */
export type BatchEnd = Exclude<NrqlEnd, 'too_big'> | Incomplete;

export interface RowsRead {
  readonly account: NerdGraphAccount;
  readonly accountId: number;
  readonly query: TimesliceQuery;
  readonly found: FoundRows;
  readonly call: CallOptions;
}

/** The count comes first, because New Relic ranks facets by the first function. */
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

const SUBJECTS = { application: 'application ', host: 'application ', key_transaction: 'key transaction ', entity: '' };

export function describeSubject({ displayName, id }: QueryPart, groupBy: QueryKind['groupBy']): string {
  return `${SUBJECTS[groupBy]}${displayName ?? id}`;
}

/**
 * Runs the query of a batch, and stores its rows. Rejects only with the reason of the signal.
 *
 * @param isAlone true for a subject that is apart: its failure does not show how New Relic accepts ids
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
  // Other metric data may have an application's id, too.
  const where = joinWithAnd([condition, columns === 'names' ? `${TIMESLICE} IS NOT NULL` : '']);
  const select = groupBy === 'key_transaction' ? KEY_TRANSACTION_COLUMNS : COLUMNS[columns];
  const facet = FACETS[groupBy];
  const query = writeNrql({ select, where, facet, range, bucketMinutes });
  // Counters have few rows. A lower bound keeps other work from waiting for a response as large as a backfill's.
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
  // New Relic may refuse a list of numbers and texts (not documented). The query then runs again with two lists.
  if (isAlone || !(end instanceof UpstreamError) || end.failure.reason !== 'other') return end;
  const again = await runWithForm('separate');
  if (!(again instanceof UpstreamError)) memory.idListForm = 'separate';
  return again;
}

async function runBatchQuery(
  read: RowsRead,
  batch: Batch,
  query: NrqlRead,
  attributes: readonly string[],
): Promise<BatchEnd> {
  const { transport } = read.account;
  const end = await transport.runNrql(query, read.call);
  if (end === 'too_big') return new Incomplete('New Relic says that the query or its result is too big', true);
  if (typeof end === 'string' || end instanceof UpstreamError) return end;
  const outcome = await outcomeOf(
    transport.parseReporting(query.group, (discarded) => takeRows(read, attributes, batch, end, discarded)),
  );
  return 'error' in outcome ? outcome.error : (outcome.value ?? end);
}

interface RowsTarget {
  readonly part: QueryPart;
  readonly hosts: ReadonlySet<string> | undefined;
  readonly rows: SubjectRows;
  /** Hosts with an unreadable count or sum, or with two rows for one metric. */
  readonly bad: Set<string>;
}

interface RowsResponse {
  readonly query: TimesliceQuery;
  /** Subjects by the id in a row's first facet, without padding of guids; undefined for an id of several entities. */
  readonly targets: ReadonlyMap<string, RowsTarget | undefined>;
  readonly facets: Facets;
  /** Columns of golden metrics, with their keys in a row. */
  readonly columns: readonly (readonly [column: string, key: string])[];
  readonly window: TimeRange | undefined;
  readonly discarded: Discarded;
}

/** Columns of an unreadable row, or of a row that counts by its name only. */
const NO_COLUMNS: Columns = Object.freeze({});
const NO_SUBJECT = 'a row names no subject';

/** Stores the rows of a response. Throws a CallFailure for unreadable rows. */
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
  if (window === undefined && !isNames) throw new CallFailure('invalid_response', 'the response has no time window');
  const { golden, groupBy } = query;
  const fail = (words: string): UpstreamError => account.transport.failure(READS[query.read].group, words);
  const failPart = (part: QueryPart, words: string): UpstreamError =>
    fail(`${words} (${describeSubject(part, groupBy)})`);
  const targets = new Map<string, RowsTarget | undefined>();
  const allTargets = batch.map((part): RowsTarget => {
    const hosts = part.hosts && new Set(part.hosts);
    const target = { part, hosts, rows: new SubjectRows(), bad: new Set<string>() };
    const id = golden === undefined ? String(part.id) : recordId(String(part.id), golden.eventObjectId);
    if (id === undefined) target.rows.failure = fail(`the guid of ${part.displayName ?? part.id} has no id`);
    else targets.set(trimPadding(id), targets.has(trimPadding(id)) ? undefined : target);
    return target;
  });
  const columns = columnsOf(batch, query).map((column, index) => [column, `m${index}`] as const);
  const stored = { query, targets, facets: new Facets(response.facets, attributes), columns, window, discarded };
  // Promises of the call keep its response until a full garbage collection. Without rows, the response is small.
  for (const row of response.rows.splice(0)) takeRow(stored, row);
  for (const { part, bad, rows: subjectRows } of allTargets) {
    const rows = found.get(part.id);
    if (rows === undefined) continue;
    if (golden !== undefined && bad.size > 0)
      subjectRows.failure ??= failPart(part, 'the response has two rows for one entity');
    else if (bad.size > 0) {
      const failure = failPart(part, 'a count or a sum cannot be read');
      for (const host of bad) subjectRows.failures.set(host, failure);
    }
    rows.append(subjectRows);
    if (!isNames && window !== undefined && !rows.recordWindow(window, isBucketed) && golden === undefined) {
      rows.failure = failPart(part, 'two responses cover different time ranges');
    }
  }
  return undefined;
}

function takeRow(response: RowsResponse, row: unknown): void {
  const { query, targets, facets, columns, discarded } = response;
  const keys = isObject(row) ? facets.readKeys(row) : undefined;
  if (!isObject(row) || keys === undefined) throw new CallFailure('invalid_response', NO_SUBJECT);
  const { groupBy } = query;
  const [id = ''] = keys;
  // New Relic does not document how it writes a number among several facets: `7.0` means 7.
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
  const name = groupBy === 'key_transaction' ? ITSELF : target.part.selector.find(keys.at(-1) ?? '');
  if (name === undefined || target.hosts?.has(host) === false) return;
  if (query.bucketMinutes !== undefined) {
    takeBucket(response, row, target, host, name);
    return;
  }
  const isNames = query.columns === 'names';
  const read = isNames ? NO_COLUMNS : readColumns(row, name, discarded);
  const metrics = getOrAdd(target.rows.rows, host, () => new Map<string, Columns>());
  // Two rows for one key are both unreliable.
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
    throw new CallFailure('invalid_response', 'a row has no times of its bucket');
  }
  const covered = sharedRange(query.range, window ?? query.range);
  if (query.keepsUnreadable === true && !isAbout(covered, { from, to })) return;
  const isOutside = window !== undefined && (from < window.from || to > window.to);
  // Only requested buckets must have the full length. The first bucket of a longer response may be shorter.
  const isWanted = from >= query.range.from && to <= query.range.to;
  if (isOutside || (isWanted && to - from !== 60 * (query.bucketMinutes ?? 0))) {
    throw new CallFailure('invalid_response', 'a row is for another bucket than requested');
  }
  if (!isWanted) return;
  // New Relic returns zeros for empty buckets, and null for columns without a value.
  const { c: count, t: sum, x: exclusive } = row;
  if (count === 0 && (sum === 0 || sum === null) && (exclusive === 0 || exclusive === null)) return;
  const read = readColumns(row, name, discarded);
  const metrics = getOrAdd(target.rows.buckets, host, () => new Map<string, Timeslice[]>());
  const list = getOrAdd(metrics, name, () => []);
  if (read !== undefined && !list.some((each) => each.from === from)) list.push({ from, to, columns: read });
  else if (query.keepsUnreadable === true) list.push({ from, to, columns: NO_COLUMNS });
  else target.bad.add(host);
}

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

function readAmount(value: unknown, mayBeNegative: boolean, discarded?: Discarded): number | undefined {
  if (typeof value === 'number' && Number.isFinite(value) && (value >= 0 || mayBeNegative)) return value;
  if (value !== undefined) discarded?.add('value', 'results');
  return undefined;
}

/** Removes the padding of a guid. Guids are base64, with or without padding. */
export function trimPadding(guid: string): string {
  let end = guid.length;
  while (guid[end - 1] === '=') end -= 1;
  return end === guid.length ? guid : guid.slice(0, end);
}
