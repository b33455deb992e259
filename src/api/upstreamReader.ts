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

/** Reasons for reading a call for many subjects again in parts. */
export const SPLIT_REASONS = ['truncated', 'timeout', 'error'] as const;

export type SplitReason = (typeof SPLIT_REASONS)[number];

/** Observer of an account's calls: the exporter's own metrics and the log. */
export interface CallObserver {
  /** A call goes out. */
  started(endpoint: string): void;
  /** The call has ended: `code` is the HTTP status, or `error` without a response. */
  ended(endpoint: string, code: number | 'error', seconds: number): void;
  /** A call failed, or a part of a response was left out; `message` carries no secret. */
  failed(endpoint: string, reason: FailureReason, message: string): void;
  /** A failed call will be retried after `delayMs`. */
  retried(endpoint: string, reason: FailureReason, delayMs: number): void;
  /** A call for many subjects is read again in parts. */
  split(reason: SplitReason): void;
  /** A part of a response was left out, of which `failed` is called, too. Called once an hour for each endpoint and reason. */
  leftOut(endpoint: string, reason: FailureReason, message: string): void;
  /** New Relic added a message to a successful response; `message` carries no secret. Called once an hour for each endpoint. */
  serviceMessage(endpoint: string, message: string): void;
}

/** New Relic's two interfaces: the REST API (version 2) and NerdGraph (GraphQL and NRQL). */
export const APIS = ['rest', 'nerdgraph'] as const;

export type Api = (typeof APIS)[number];

/** Grants calls one at a time, retries, pages and parts too; each grant spends a call of the budget. */
export interface RateLimiter {
  /**
   * Waits for a place and a call of the budget, for a repeat one of half of the places. The returned function ends the call: good
   * means answered without a failure.
   */
  acquire(signal: AbortSignal, isRepeat?: boolean): Promise<(isGood: boolean, overload?: Overload) => void>;
}

/** Options of every read: above all the signal that stops it. */
export interface CallOptions {
  readonly signal: AbortSignal;
  /** True, for commands: repeated after an overload or a timeout. The daemon tries again later, for the window of that time. */
  readonly patient?: boolean;
  /** True for the parts of what failed, and for what is set apart: such calls take at most half of the places. */
  readonly isRepeat?: boolean;
}

/** A time range, Unix seconds in whole minutes; `to` is exclusive. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** The time that two ranges share; it ends before it begins where they share none. */
export function sharedRange(a: TimeRange, b: TimeRange): TimeRange {
  return { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
}

/** The window of a query or a golden metric, in place of the range of a refresh. */
export function resolveWindow(
  { window, endsBefore }: Pick<QuerySubject, 'window' | 'endsBefore'>,
  range: TimeRange,
): TimeRange {
  const to = range.to - endsBefore;
  return { from: to - (window ?? range.to - range.from), to };
}

/** The result of one subject of a read, which fails independently of the others. */
export type Outcome<V> = { readonly value: V } | { readonly error: UpstreamError };

/** Subjects that are read together. */
export interface NextBatch<S> {
  /** The first one, and others in their order. */
  readonly subjects: readonly S[];
  /** The number of calls when nothing fails: 1, or more if the first subject alone needs several. */
  readonly calls: number;
}

/** Data that are read for many subjects in one call. */
export interface BatchRead<S, V, R extends TimeRange = TimeRange> {
  /** Takes at least one subject, and what else fits into its call, by known sizes and failures. */
  take<T extends S>(subjects: Iterable<T>, range: R): NextBatch<T>;
  /** Reads a batch; its outcomes are in the order of its subjects. Rejects only with the signal's reason. */
  read(subjects: readonly S[], range: R, call: CallOptions): Promise<readonly Outcome<V>[]>;
}

/** The batches that together have all of these subjects, which are asked for as the batches need them. */
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
    const next = passed.length > 0 ? undefined : others.next();
    if (next?.done === true) return;
    if (next !== undefined) passed.push(next.value);
    const batch = read.take(offered(), range);
    yield batch;
    const taken = new Set(batch.subjects.length === passed.length ? [] : batch.subjects);
    passed = taken.size === 0 ? [] : passed.filter((subject) => !taken.has(subject));
  }
}

/** A batch of one subject, where subjects share no call. */
export function takeOne<S>(subject: S | undefined, calls = 1): NextBatch<S> {
  if (subject === undefined) throw new RangeError('no subjects');
  return { subjects: [subject], calls };
}

/** The outcome of a read; rejects with any error other than an UpstreamError. */
export async function outcomeOf<V>(read: Promise<V>): Promise<Outcome<V>> {
  try {
    return { value: await read };
  } catch (error) {
    if (error instanceof UpstreamError) return { error };
    throw error;
  }
}

export interface ApplicationSubject {
  readonly applicationId: number;
}

/** Requested metrics: one object for all subjects with the same request, because readers keep what they make of it. */
export interface MetricSelection {
  /** Metric names of the REST interface. A reader without `datastores` adds the datastore types itself. */
  readonly names: readonly string[];
  /** By metric, the values that custom metrics read, under New Relic's names; all columns are read in any case. */
  readonly values?: ReadonlyMap<string, readonly string[]>;
}

/** An application, or one of its hosts, and the requested metrics. */
export interface MetricDataSubject extends ApplicationSubject {
  /** `Host.key` of the host; undefined: the application itself. */
  readonly hostKey: string | undefined;
  readonly metrics: MetricSelection;
}

/** The metric data of an application or a host over one window. */
export interface MetricDataResult {
  /** The window of the response, to which counts refer; it may differ a little from the requested one. */
  readonly window: TimeRange;
  /** By metric name. One without columns is unknown: it could not be read, or New Relic refused it. */
  readonly metrics: ReadonlyMap<string, Columns>;
  /** The datastore metrics of this response, sorted; undefined where the reader finds none itself: the requested ones apply. */
  readonly datastores?: readonly string[] | undefined;
}

/** A part of a long range that one read of a series covers, Unix seconds. */
export interface SeriesChunk extends TimeRange {
  /** Start of the requested range; before `from` where New Relic returns this granule only for a longer or an aligned range. */
  readonly readFrom: number;
  /** Expected seconds per timeslice. */
  readonly granule: number;
}

/** Limits for the chunks of one call, in seconds. */
export interface SeriesLimits {
  /** The longest ranges that are returned by the minute, and by the hour. */
  readonly longestByMinute: number;
  readonly longestByHour: number;
  /** The shortest range that is returned by the hour. */
  readonly shortestByHour: number;
  /** The step for a range of this length: both of its ends must be multiples of the step. */
  readonly stepOf: (seconds: number) => number;
}

/** The timeslices of one subject over one chunk; plain values that can be stored as JSON. */
export interface MetricSeries {
  /** Seconds per timeslice of the response. */
  readonly granule: number;
  /** Timeslices by metric name, oldest first. */
  readonly metrics: readonly (readonly [name: string, timeslices: readonly Timeslice[]])[];
}

/** Reads metric data as series, for windows of the past. */
export interface SeriesRead extends BatchRead<MetricDataSubject, MetricSeries, SeriesChunk> {
  readonly limits: SeriesLimits;
  /** The result that `metricData` would have of a window, from its timeslices; empty where the entity did not report. */
  summarize(timeslices: ReadonlyMap<string, readonly Timeslice[]>, range: TimeRange, granule: number): MetricDataResult;
}

/** The minutes of one application, for counters. */
export interface MinuteSeries {
  /** The range that the response names, cut to the requested one. Without a timeslice, a minute had nothing to report. */
  readonly window: TimeRange;
  /** By metric name, in any order. A timeslice that lacks a column, or is not one minute long, could not be read. */
  readonly metrics: ReadonlyMap<string, readonly Timeslice[]>;
}

/** An application, or one of its hosts, or a key transaction. */
export interface RollingSubject {
  readonly applicationId?: number | undefined;
  readonly hostKey?: string | undefined;
  readonly keyTransactionId?: number | undefined;
}

/** The metric names of an application that contain any of these texts. */
export interface CustomNamesSubject extends ApplicationSubject {
  readonly filters: readonly string[];
}

/** The metric names that contain a filter. */
export interface CustomNames {
  readonly names: readonly string[];
  readonly cut?: Cut | undefined;
}

/** A query of the language NRQL, without time and limit. */
export interface QuerySubject {
  /** The length of its window in seconds, whole minutes; undefined: as long as the range of the refresh. */
  readonly window: number | undefined;
  /** Seconds, whole minutes, by which its window ends before that range; negative: after it. */
  readonly endsBefore: number;
  readonly nrql: string;
  readonly rules: RowRules;
}

/** All rows of a query, as series. */
export interface QueryResult {
  /** The window of the response, which may end a few minutes before the requested one. */
  readonly window: TimeRange;
  readonly rows: readonly unknown[];
  /** The attributes in `facet` of a row, in its order. */
  readonly facets: readonly string[];
  readonly reading: RowReading;
}

export interface MonitoredEntity {
  readonly guid: string;
  readonly name: string;
  readonly reporting: boolean;
  /** In the words of the REST interface. */
  readonly healthStatus: string | undefined;
  readonly tags: readonly Tag[];
  /** Golden metrics; entities with equal definitions share one object. */
  readonly metrics: readonly GoldenMetric[];
  /** The error if its golden metrics were never read. */
  readonly unread?: UpstreamError | undefined;
  readonly cut?: Cut | undefined;
}

/** A golden metric as New Relic defines it. */
export interface GoldenMetric {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly definition: GoldenDefinition;
}

/** Golden metrics of one entity. */
export interface GoldenSubject extends Pick<QuerySubject, 'window' | 'endsBefore'> {
  /** `DOMAIN-TYPE`: entities of one type share queries. */
  readonly type: string;
  readonly guid: string;
  /** Requested columns. Entities with the same request share this list, and columns with equal sources share the source. */
  readonly columns: readonly (GoldenColumn & { readonly name: string })[];
  /** The error if its golden metrics were never read, so that there are no columns. */
  readonly unread?: UpstreamError | undefined;
}

export interface GoldenResult {
  readonly window: TimeRange;
  /** With `percentile` where there are several of one metric; metrics without a value are left out. */
  readonly values: readonly {
    readonly metric: string;
    readonly percentile: string | undefined;
    readonly value: number;
  }[];
  /** Golden metrics that failed while others were read. */
  readonly failures: readonly (readonly [metric: string, error: UpstreamError])[];
  /** Golden metrics whose column is not a number. */
  readonly notNumbers: readonly string[];
}

/** A type of entities, `DOMAIN-TYPE`, and the number of its entities in the account. */
export interface EntityTypeCount {
  readonly type: string;
  readonly count: number;
}

/** Reads entities of any type, always through NerdGraph. */
export interface EntityReader {
  /** All entities of a type, `DOMAIN-TYPE`, in any order. */
  list(type: string, call: CallOptions): Promise<readonly MonitoredEntity[]>;
  /** The number of calls for a list of this length. */
  listCalls(type: string, entities: number): number;
  readonly goldenMetrics: BatchRead<GoldenSubject, GoldenResult>;
  /** The entity types of the account, sorted. */
  types(call: CallOptions): Promise<readonly EntityTypeCount[]>;
}

export interface MetricNameQuery extends ApplicationSubject {
  readonly hostKey?: string;
  /** A substring that the names contain. */
  readonly name?: string;
  /** The end of the day whose names are read, where the interface needs one; default: now. */
  readonly to?: number;
  /** Reading stops after this many pages, where the interface has pages. */
  readonly maxPages?: number;
}

export interface MetricNameList {
  readonly names: readonly MetricName[];
  /** False when the list continues after the pages that were read. */
  readonly complete: boolean;
}

/** An account that a key sees, with New Relic's name of it; empty where there is none. */
export interface ListedAccount {
  readonly id: number;
  readonly name: string;
}

/** The accounts that a key sees, each once, as far as they can be read. */
export interface AccountListing {
  readonly accounts: readonly ListedAccount[];
  /** The number of members without a usable id. */
  readonly unreadable: number;
  /** What cannot be read, in words; undefined where all can. */
  readonly problem: string | undefined;
}

/** The findings of a trial of an account (`check --live`), in sentences. */
export interface Diagnosis {
  /** Facts about the data that the key can see. */
  readonly facts: readonly string[];
  /** Problems that need attention. */
  readonly warnings: readonly string[];
}

/**
 * New Relic as the collector and the commands see it, over either interface: both return the same values in the same units
 * (types.ts). Every method rejects with an UpstreamError, or with the reason of the signal.
 */
export interface UpstreamReader {
  readonly api: Api;
  /** The id of the user who owns the key; undefined: nothing goes through NerdGraph, which alone has this id. */
  readonly user?: ((call: CallOptions) => Promise<number>) | undefined;
  /** The number of the only account that the key sees, once it was looked up. */
  readonly onlyAccount?: (() => number | undefined) | undefined;
  /** The accounts that the key sees; undefined: the interface cannot list them. */
  readonly listAccounts?: ((call: CallOptions) => Promise<AccountListing>) | undefined;
  /** Reads all pages; `ids` limits the list to these applications. */
  listApplications(query: { readonly ids?: readonly number[] }, call: CallOptions): Promise<Application[]>;
  /** Undefined, as `readKeyTransaction`: the interface has no such record outside its list. */
  readApplication?(id: number, call: CallOptions): Promise<Application>;
  listKeyTransactions(query: { readonly ids?: readonly number[] }, call: CallOptions): Promise<KeyTransaction[]>;
  readKeyTransaction?(id: number, call: CallOptions): Promise<KeyTransaction>;
  /** The number of calls for a list with `count` entities. */
  listCalls(count: number): number;
  /** The hosts of applications that reported within about an hour. */
  readonly hosts: BatchRead<ApplicationSubject, readonly Host[]>;
  /** Instances; undefined: the interface has none. */
  readonly instances?: BatchRead<ApplicationSubject, readonly Instance[]> | undefined;
  /** Rolling values that the lists do not contain; undefined: the lists contain all of them. */
  readonly rolling?: BatchRead<RollingSubject, RollingValues> | undefined;
  /** The datastore metrics of applications, sorted; undefined: the metric data include them. */
  readonly datastores?: BatchRead<ApplicationSubject, readonly string[]> | undefined;
  /** The names that custom metrics may match; unscoped ones only. */
  readonly customNames: BatchRead<CustomNamesSubject, CustomNames>;
  readonly metricData: BatchRead<MetricDataSubject, MetricDataResult>;
  readonly metricSeries: SeriesRead;
  /** Values of single minutes, never rounded. */
  readonly counters: BatchRead<MetricDataSubject, MinuteSeries>;
  /** Reports that minutes for counters cannot be used, as a failed call, and returns its error. */
  refuseCounters(problem: string): UpstreamError;
  /** Queries of the configuration, one call each; undefined: the account has none. */
  readonly queries: BatchRead<QuerySubject, QueryResult> | undefined;
  /** Entities of other types; undefined: the account is not configured for any. */
  readonly entities?: EntityReader | undefined;
  /** Metric names in the order in which New Relic returns them, each once. */
  listMetricNames(query: MetricNameQuery, call: CallOptions): Promise<MetricNameList>;
  /** Looks for problems that the lists do not show. Called after the lists were read. */
  diagnose(range: TimeRange, call: CallOptions): Promise<Diagnosis>;
  /** Facts learned about the account, failures included; a reload hands them to the next reader. */
  readonly memory: object;
  /** For a reader that a reload replaces: calls in flight continue, but no connection is kept for a later call. */
  retire(): void;
  /** Closes all connections. Calls in flight are aborted, except those from before `retire`, which only their signals end. */
  close(): Promise<void>;
}
