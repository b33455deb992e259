import type { GoldenColumn, GoldenDefinition } from '../nrql/goldenMetric.ts';
import type { Columns } from '../formulas/metricInputs.ts';
import type { RowReading, RowRules } from '../nrql/queryRows.ts';
import type {
  Application,
  Cut,
  Host,
  Instance,
  KeyTransaction,
  MetricName,
  RollingValues,
  Tag,
  Timeslice,
} from './types.ts';
import { UpstreamError, type FailureReason, type Overload } from './upstreamError.ts';

/** The reasons why a reader divides a batch that failed. */
export const SPLIT_REASONS = ['truncated', 'timeout', 'error'] as const;

export type SplitReason = (typeof SPLIT_REASONS)[number];

export interface CallObserver {
  started(endpoint: string): void;
  /** `code` is the HTTP status, or `error` without a response. */
  ended(endpoint: string, code: number | 'error', seconds: number): void;
  /** A call failed, or the reader left out a part of a response. `message` contains no secret. */
  failed(endpoint: string, reason: FailureReason, message: string): void;
  retried(endpoint: string, reason: FailureReason, delayMs: number): void;
  split(reason: SplitReason): void;
  /** Like `failed` for a part of a response, but at most once an hour for each endpoint and reason. */
  leftOut(endpoint: string, reason: FailureReason, message: string): void;
  /** New Relic added a message, without secrets, to a good response. At most once an hour for each endpoint. */
  serviceMessage(endpoint: string, message: string): void;
}

export const APIS = ['rest', 'nerdgraph'] as const;

export type Api = (typeof APIS)[number];

/** Admits every call, also retries, pages and parts of batches. Each one spends a call of the budget. */
export interface RateLimiter {
  /** Waits for a place and a call of the budget. Returns the function that releases the place after the call. */
  acquire(signal: AbortSignal, isRepeat?: boolean): Promise<(isGood: boolean, overload?: Overload) => void>;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  /** True for commands, which retry after an overload or a timeout. The daemon reads a later window instead. */
  readonly patient?: boolean;
  /** True for parts of a failed batch, and for subjects set apart. Such calls take at most half of the places. */
  readonly isRepeat?: boolean;
}

/** A time range, Unix seconds in whole minutes; `to` is exclusive. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** Returns the intersection of two ranges. If it is empty, its `to` is before its `from`. */
export function sharedRange(a: TimeRange, b: TimeRange): TimeRange {
  return { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
}

/** Returns the window of a query or golden metric: its `window` and `endsBefore`, applied to the range of a refresh. */
export function resolveWindow(
  { window, endsBefore }: Pick<QuerySubject, 'window' | 'endsBefore'>,
  range: TimeRange,
): TimeRange {
  const to = range.to - endsBefore;
  return { from: to - (window ?? range.to - range.from), to };
}

export type Outcome<V> = { readonly value: V } | { readonly error: UpstreamError };

export interface NextBatch<S> {
  readonly subjects: readonly S[];
  /** The number of calls without failures: 1, or more if the first subject alone needs several. */
  readonly calls: number;
}

export interface BatchRead<S, V, R extends TimeRange = TimeRange> {
  /** Takes the first subject, and further subjects that fit into its call. Known sizes and failures decide. */
  take<T extends S>(subjects: Iterable<T>, range: R): NextBatch<T>;
  /** Reads a batch. Returns an outcome for each subject, in order. Rejects only with the signal's reason. */
  read(subjects: readonly S[], range: R, call: CallOptions): Promise<readonly Outcome<V>[]>;
}

/** Divides subjects into batches. Iterates over the subjects only as far as each batch needs. */
export function* takeAll<S, R extends TimeRange>(
  read: { take(subjects: Iterable<S>, range: R): NextBatch<S> },
  subjects: Iterable<S>,
  range: R,
): Generator<NextBatch<S>> {
  const others = subjects[Symbol.iterator]();
  let passed: S[] = [];
  const offered = function* (): Generator<S> {
    yield* passed;
    for (let next = others.next(); next.done !== true; next = others.next()) {
      passed.push(next.value);
      yield next.value;
    }
  };
  for (;;) {
    if (passed.length === 0) {
      const next = others.next();
      if (next.done === true) return;
      passed.push(next.value);
    }
    const batch = read.take(offered(), range);
    yield batch;
    const taken = new Set(batch.subjects);
    passed = passed.filter((subject) => !taken.has(subject));
  }
}

/** Returns a batch of one subject, for reads whose subjects share no call. */
export function takeOne<S>(subject: S | undefined, calls = 1): NextBatch<S> {
  if (subject === undefined) throw new RangeError('no subjects');
  return { subjects: [subject], calls };
}

/** Turns a read into an outcome. Rejects with any error other than an UpstreamError. */
export async function outcomeOf<V>(read: Promise<V>): Promise<Outcome<V>> {
  try {
    return { value: await read };
  } catch (error) {
    if (error instanceof UpstreamError) return { error };
    throw error;
  }
}

/** Makes a read whose subjects share no call. `callsOf` returns the calls of a subject; default: 1. */
export function createSingleRead<S, V, R extends TimeRange = TimeRange>(
  read: (subject: S, range: R, call: CallOptions) => Promise<V>,
  callsOf: (subject: S) => number = () => 1,
): BatchRead<S, V, R> {
  return {
    take: ([subject]) => takeOne(subject, subject && callsOf(subject)),
    read: (subjects, range, call) => Promise.all(subjects.map((subject) => outcomeOf(read(subject, range, call)))),
  };
}

export interface ApplicationSubject {
  readonly applicationId: number;
}

/** Requested metrics. Subjects with equal requests share one object, by which readers cache derived data. */
export interface MetricSelection {
  /** Metric names of the REST interface. A reader without `datastores` adds the datastore types itself. */
  readonly names: readonly string[];
  /** By metric, New Relic's names of the values that custom metrics read. Readers return all columns in any case. */
  readonly values?: ReadonlyMap<string, readonly string[]>;
}

export interface MetricDataSubject extends ApplicationSubject {
  /** `Host.key` of the host; undefined: the application itself. */
  readonly hostKey: string | undefined;
  readonly metrics: MetricSelection;
}

export interface MetricDataResult {
  /** The window of the response, to which counts refer. It may differ a little from the requested window. */
  readonly window: TimeRange;
  /** By metric name. A metric without columns is unknown: it was unreadable, or New Relic refused it. */
  readonly metrics: ReadonlyMap<string, Columns>;
  /** The datastore metrics of this response, sorted; undefined: the requested datastores apply. */
  readonly datastores?: readonly string[] | undefined;
}

/** The part of a long range that one read of a series covers, in Unix seconds. */
export interface SeriesChunk extends TimeRange {
  /** Start of the request. Before `from` if New Relic returns this granule only for longer or aligned ranges. */
  readonly readFrom: number;
  /** Expected seconds per timeslice. */
  readonly granule: number;
}

/** Limits for the range of one call, in seconds, by the granule that New Relic returns. */
export interface SeriesLimits {
  readonly longestByMinute: number;
  readonly longestByHour: number;
  readonly shortestByHour: number;
  /** Returns the step for a range of this length. Both ends of the range must be multiples of the step. */
  readonly stepOf: (seconds: number) => number;
}

/** The timeslices of one subject over one chunk, as plain values that JSON can store. */
export interface MetricSeries {
  /** Seconds per timeslice of the response. */
  readonly granule: number;
  /** Oldest first. */
  readonly metrics: readonly (readonly [name: string, timeslices: readonly Timeslice[]])[];
}

export interface SeriesRead extends BatchRead<MetricDataSubject, MetricSeries, SeriesChunk> {
  readonly limits: SeriesLimits;
  /** Returns what `metricData` would for a window of these timeslices; empty if the application did not report. */
  summarize(timeslices: ReadonlyMap<string, readonly Timeslice[]>, range: TimeRange, granule: number): MetricDataResult;
}

export interface MinuteSeries {
  /** The intersection of requested and returned range. A minute in it without a timeslice had no data. */
  readonly window: TimeRange;
  /** By metric name, in any order. A timeslice without a column, or of another length than a minute, is unreadable. */
  readonly metrics: ReadonlyMap<string, readonly Timeslice[]>;
}

export interface RollingSubject {
  readonly applicationId?: number | undefined;
  readonly hostKey?: string | undefined;
  readonly keyTransactionId?: number | undefined;
}

/** The metric names of an application that contain any of these texts. */
export interface CustomNamesSubject extends ApplicationSubject {
  readonly filters: readonly string[];
}

export interface CustomNames {
  readonly names: readonly string[];
  readonly cut?: Cut | undefined;
}

export interface QuerySubject {
  /** The length of its window in seconds, whole minutes; undefined: as long as the range of the refresh. */
  readonly window: number | undefined;
  /** Seconds, whole minutes, by which its window ends before the range of the refresh; negative: after it. */
  readonly endsBefore: number;
  readonly nrql: string;
  readonly rules: RowRules;
}

export interface QueryResult {
  /** The window of the response, which may end a few minutes before the requested window. */
  readonly window: TimeRange;
  readonly rows: readonly unknown[];
  /** Names of the attributes in the `facet` of a row, in order. */
  readonly facets: readonly string[];
  readonly reading: RowReading;
}

export interface MonitoredEntity {
  readonly guid: string;
  readonly name: string;
  readonly reporting: boolean;
  readonly healthStatus: string | undefined;
  readonly tags: readonly Tag[];
  /** Entities with equal golden metrics share one list. */
  readonly metrics: readonly GoldenMetric[];
  /** The error, if no read of its golden metrics ever succeeded. */
  readonly unread?: UpstreamError | undefined;
}

export interface GoldenMetric {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly definition: GoldenDefinition;
}

export interface GoldenSubject extends Pick<QuerySubject, 'window' | 'endsBefore'> {
  /** `DOMAIN-TYPE`. Entities of one type share queries. */
  readonly type: string;
  readonly guid: string;
  /** Requested columns. Entities with equal requests share the list; columns with equal sources share the source. */
  readonly columns: readonly (GoldenColumn & { readonly name: string })[];
  /** The error, if no read of its golden metrics ever succeeded. Then `columns` is empty. */
  readonly unread?: UpstreamError | undefined;
}

export interface GoldenResult {
  readonly window: TimeRange;
  /** `percentile` is set for a metric with several percentiles. Metrics without a value are missing. */
  readonly values: readonly {
    readonly metric: string;
    readonly percentile: string | undefined;
    readonly value: number;
  }[];
  /** Golden metrics that failed, while others had values. */
  readonly failures: readonly (readonly [metric: string, error: UpstreamError])[];
  /** Golden metrics whose column is not a number. */
  readonly notNumbers: readonly string[];
}

export interface EntityTypeCount {
  /** `DOMAIN-TYPE`. */
  readonly type: string;
  readonly count: number;
}

/** Reads entities of any type, always through NerdGraph. */
export interface EntityReader {
  /** Returns all entities of a type, `DOMAIN-TYPE`, in any order. */
  list(type: string, call: CallOptions): Promise<readonly MonitoredEntity[]>;
  /** Returns the number of calls for a list of this length. */
  listCalls(type: string, entities: number): number;
  readonly goldenMetrics: BatchRead<GoldenSubject, GoldenResult>;
  types(call: CallOptions): Promise<readonly EntityTypeCount[]>;
}

export interface MetricNameQuery extends ApplicationSubject {
  readonly hostKey?: string;
  readonly name?: string;
  /** NerdGraph reads the names of the 24 hours before this time; default: now. */
  readonly to?: number;
  /** Reading stops after this many pages, if the interface has pages. */
  readonly maxPages?: number;
}

export interface MetricNameList {
  readonly names: readonly MetricName[];
  readonly complete: boolean;
}

/** An account that a key sees. Its name may be empty. */
export interface ListedAccount {
  readonly id: number;
  readonly name: string;
}

/** The readable accounts that a key sees, without duplicates. */
export interface AccountListing {
  readonly accounts: readonly ListedAccount[];
  /** The number of members without a usable id. */
  readonly unreadable: number;
  /** A sentence about the unreadable members; undefined without one. */
  readonly problem: string | undefined;
}

/** The findings of a test of an account (`check --live`), in sentences. */
export interface Diagnosis {
  readonly facts: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Reads an account over one of New Relic's interfaces. Both readers return the same values in the same units
 * (types.ts). Every method rejects with an UpstreamError, or with the reason of the signal.
 */
export interface UpstreamReader {
  readonly api: Api;
  /** Returns the id of the user who owns the key; undefined: the reader does not use NerdGraph. */
  readonly user?: ((call: CallOptions) => Promise<number>) | undefined;
  /** Returns the id of the only account that the key sees, after its first look-up. */
  readonly onlyAccount?: (() => number | undefined) | undefined;
  /** Lists the accounts that the key sees; undefined: the interface cannot. */
  readonly listAccounts?: ((call: CallOptions) => Promise<AccountListing>) | undefined;
  listApplications(query: { readonly ids?: readonly number[] | undefined }, call: CallOptions): Promise<Application[]>;
  /** Undefined, like `readKeyTransaction`: the interface returns single records only in a list. */
  readApplication?(id: number, call: CallOptions): Promise<Application>;
  listKeyTransactions(
    query: { readonly ids?: readonly number[] | undefined },
    call: CallOptions,
  ): Promise<KeyTransaction[]>;
  readKeyTransaction?(id: number, call: CallOptions): Promise<KeyTransaction>;
  listCalls(count: number): number;
  /** Hosts of applications that reported within about an hour. */
  readonly hosts: BatchRead<ApplicationSubject, readonly Host[]>;
  /** Instances; undefined: the interface has none. */
  readonly instances?: BatchRead<ApplicationSubject, readonly Instance[]> | undefined;
  /** Rolling values; undefined: the lists contain them. */
  readonly rolling?: BatchRead<RollingSubject, RollingValues> | undefined;
  /** The datastore metrics of applications, sorted; undefined: the metric data include them. */
  readonly datastores?: BatchRead<ApplicationSubject, readonly string[]> | undefined;
  /** Metric names that custom metrics may match, without scoped metrics. */
  readonly customNames: BatchRead<CustomNamesSubject, CustomNames>;
  readonly metricData: BatchRead<MetricDataSubject, MetricDataResult>;
  readonly metricSeries: SeriesRead;
  /** Minutes for counters, with values that New Relic did not round. */
  readonly counters: BatchRead<MetricDataSubject, MinuteSeries>;
  /** Reports unusable minutes for counters as a failed call, and returns the error. */
  refuseCounters(problem: string): UpstreamError;
  /** Queries of the configuration, a call for each; undefined: the account has none. */
  readonly queries: BatchRead<QuerySubject, QueryResult> | undefined;
  /** Entities of other types; undefined: the account is not configured for any. */
  readonly entities?: EntityReader | undefined;
  /** Lists metric names without duplicates. */
  listMetricNames(query: MetricNameQuery, call: CallOptions): Promise<MetricNameList>;
  /** Looks for problems that the lists do not show. Call it after reading the lists. */
  diagnose(range: TimeRange, call: CallOptions): Promise<Diagnosis>;
  /** Facts about the account, failures included. A reload hands them to the next reader. */
  readonly memory: object;
  /** Closes all connections and aborts calls in flight. A reader that a reload replaces finishes them instead. */
  close(): Promise<void>;
}
