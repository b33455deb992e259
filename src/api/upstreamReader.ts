import type { AlertSettings } from './alerts.ts';
import type { GoldenColumn, GoldenDefinition } from '../nrql/goldenMetric.ts';
import type { RowReading, RowRules } from '../nrql/queryRows.ts';
import {
  UpstreamError,
  type FailureReason,
  type Application,
  type Host,
  type Instance,
  type KeyTransaction,
  type MetricName,
  type RollingValues,
  type Timeslice,
} from './types.ts';

/** Why a call for many subjects is read again in parts. */
export const SPLIT_REASONS = ['truncated', 'timeout', 'error'] as const;

export type SplitReason = (typeof SPLIT_REASONS)[number];

/** Observer of an account's calls: the exporter's own metrics and the log. */
export interface CallObserver {
  /** A call goes out. */
  started(endpoint: string): void;
  /** Its response is there, or not: `code` is the HTTP status, or `error` without one. */
  ended(endpoint: string, code: number | 'error', seconds: number): void;
  /** A call failed, or a part of a response was left out (`invalid_response`); `message` carries no secret. */
  failed(endpoint: string, reason: FailureReason, message: string): void;
  /** A failed call will be tried again after `delayMs`. */
  retried(endpoint: string, reason: FailureReason, delayMs: number): void;
  /** A call for many subjects is read again in parts. */
  split(reason: SplitReason): void;
  /** The service says something about a response that is good; `message` carries no secret. Once an hour of each endpoint. */
  serviceMessage(endpoint: string, message: string): void;
}

/** The vendor's two interfaces: the REST API (version 2) and NerdGraph (GraphQL and NRQL). */
export const APIS = ['rest', 'nerdgraph'] as const;

export type Api = (typeof APIS)[number];

/** Upstream said that it is overloaded, and perhaps for how long (milliseconds from now): the whole account pauses. */
export interface Overload {
  readonly waitMs: number | undefined;
}

/** The right to make one call now; the budget behind it is spent when it is granted. */
export interface RateLimiter {
  /**
   * Waits for a place and a call of the budget. The caller calls the function that it gets when the call has ended, with
   * the overload if that was the response, so that no other call slips out before the pause.
   */
  acquire(signal: AbortSignal): Promise<(overload?: Overload) => void>;
}

/** What every read takes with it: how it may be stopped, and who grants its calls (retries, pages and parts included). */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly limiter: RateLimiter;
  /**
   * True: a call that is answered with an overload is made again once the limiter lets it in after the pause, and one that
   * timed out is tried again. Commands ask so. The daemon does not: its scheduler comes back, for the window of then.
   */
  readonly patient?: boolean;
}

/** A time range, Unix seconds in whole minutes; `to` is exclusive. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** What became of one subject of a read: its failure is its own. */
export type Outcome<V> = { readonly value: V } | { readonly error: UpstreamError };

/** A call that was planned for the first of some subjects: what was planned is what is read. */
export interface PlannedCall<V> {
  /** It carries the first `count` of them, at least 1. */
  readonly count: number;
  /** How many calls these take when nothing fails: 1, or more where the first alone needs several. */
  readonly calls: number;
  /**
   * Reads them; gives one outcome for each, in their order. What fails as a whole is read again in parts, so that no subject
   * fails because of another. Rejects only with the reason of the signal.
   */
  readonly read: (call: CallOptions) => Promise<readonly Outcome<V>[]>;
}

/** A kind of data that is read for many subjects at a time, as many as one call carries. */
export interface BatchRead<S, V, R extends TimeRange = TimeRange> {
  /**
   * Plans the next call for these subjects, of which there is at least one, over one range. They are taken only as far as they
   * fit: what a reader knows of them (sizes, earlier failures) decides.
   */
  plan(subjects: Iterable<S>, range: R): PlannedCall<V>;
}

/** Plans the calls that read all of these subjects, in their order. */
export function* planAll<S, V, R extends TimeRange>(
  read: BatchRead<S, V, R>,
  subjects: readonly S[],
  range: R,
): Generator<{ readonly subjects: readonly S[]; readonly planned: PlannedCall<V> }> {
  for (let start = 0; start < subjects.length;) {
    const planned = read.plan(from(subjects, start), range);
    const end = start + planned.count;
    yield { subjects: subjects.slice(start, end), planned };
    start = end;
  }
}

function* from<S>(subjects: readonly S[], start: number): Generator<S> {
  for (let index = start; index < subjects.length; index += 1) yield subjects[index] as S;
}

/** How many calls it takes to read all of these when nothing fails. */
export function countCalls<S, V, R extends TimeRange>(
  read: BatchRead<S, V, R>,
  subjects: readonly S[],
  range: R,
): number {
  let calls = 0;
  for (const { planned } of planAll(read, subjects, range)) calls += planned.calls;
  return calls;
}

/**
 * Reads of one subject a call.
 *
 * @param read reads one subject; rejects with an UpstreamError, or with the reason of the signal
 * @param callsOf how many calls a subject takes when nothing fails
 */
export function oneByOne<S, V, R extends TimeRange = TimeRange>(
  read: (subject: S, range: R, call: CallOptions) => Promise<V>,
  callsOf: (subject: S) => number = () => 1,
): BatchRead<S, V, R> {
  return {
    plan: (subjects, range) => {
      const [subject] = subjects;
      if (subject === undefined) throw new RangeError('no subjects');
      return {
        count: 1,
        calls: Math.max(1, callsOf(subject)),
        read: async (call) => [await outcomeOf(read(subject, range, call))],
      };
    },
  };
}

/** What became of a read; rejects with anything else than an UpstreamError. */
export async function outcomeOf<V>(read: Promise<V>): Promise<Outcome<V>> {
  try {
    return { value: await read };
  } catch (error) {
    if (error instanceof UpstreamError) return { error };
    throw error;
  }
}

/** An application, by its id. */
export interface ApplicationSubject {
  readonly applicationId: number;
}

/** An application, or one of its hosts, and the metric names to ask for. */
export interface MetricDataSubject extends ApplicationSubject {
  /** `Host.key` of the host; undefined: the application itself. */
  readonly hostKey: string | undefined;
  /** In names of the REST interface. A reader without `datastores` adds the datastore types by itself. */
  readonly names: readonly string[];
  /** The values that are wanted of a metric; undefined: all. */
  readonly values?: (metricName: string) => readonly string[];
}

/** What upstream says of an application or a host over one window. */
export interface MetricDataResult {
  /**
   * The window as it was answered, Unix seconds in whole minutes; it may differ a little from the one that was asked for.
   * Counts and rates are of this window.
   */
  readonly window: TimeRange;
  /**
   * By metric name, as it was asked for, and value name: only what was asked for. A metric without an entry was not
   * answered. One without values was, but nobody knows them: it could not be read, or upstream refused it.
   */
  readonly metrics: ReadonlyMap<string, Readonly<Record<string, number>>>;
  /**
   * The datastore metrics (`Datastore/TYPE/allWeb`) that count for this response, sorted; undefined where the reader does
   * not find them by itself: then they are those that were asked for.
   */
  readonly datastores: readonly string[] | undefined;
}

/** A part of a long range that one read of a series covers, Unix seconds. */
export interface SeriesChunk extends TimeRange {
  /** What is asked for begins here: earlier than `from` where only a longer range has the wanted timeslices. */
  readonly readFrom: number;
  /** Seconds per timeslice that upstream is expected to answer. */
  readonly granule: number;
}

/** The timeslices of one subject over one chunk; plain values that can be stored as JSON. */
export interface MetricSeries {
  /** Seconds per timeslice as answered. */
  readonly granule: number;
  /** By metric name, oldest first. The values have the names that this reader's `summarize` reads. */
  readonly metrics: readonly (readonly [name: string, timeslices: readonly Timeslice[]])[];
}

/** Reads metric data as series, for windows of the past. */
export interface SeriesRead extends BatchRead<MetricDataSubject, MetricSeries, SeriesChunk> {
  /**
   * The chunks that give each sample of the range its window, oldest first. Empty when upstream keeps only hours of that
   * time and no whole hour ends in the range.
   *
   * @param window seconds, whole minutes
   * @param now Unix seconds
   */
  chunks(range: TimeRange, window: number, now: number): readonly SeriesChunk[];
  /**
   * What a summarized read of one window would have answered, from the timeslices that lie in it; empty where the entity
   * did not report.
   *
   * @param range the window; its length is that of the answered timeslices
   * @param granule seconds per timeslice
   */
  summarize(timeslices: ReadonlyMap<string, readonly Timeslice[]>, range: TimeRange, granule: number): MetricDataResult;
}

/** The minutes of one application, for counters. */
export interface MinuteSeries {
  /** What was answered, on whole minutes. A minute of it of which a metric has no timeslice had nothing to report. */
  readonly window: TimeRange;
  /**
   * By metric name, in any order, with values under the names of the REST interface. A timeslice that lacks a wanted value, or
   * is not one minute long, could not be read.
   */
  readonly metrics: ReadonlyMap<string, readonly Timeslice[]>;
}

/** Whose rolling values are read. */
export type RollingSubject =
  | { readonly kind: 'application'; readonly applicationId: number }
  | { readonly kind: 'host'; readonly applicationId: number; readonly hostKey: string }
  | { readonly kind: 'key_transaction'; readonly keyTransactionId: number };

/** The metric names of an application that contain any of these texts. */
export interface CustomNamesSubject extends ApplicationSubject {
  readonly filters: readonly string[];
}

/** A query of the language NRQL, without time and limit. */
export interface QuerySubject {
  readonly nrql: string;
  /** Seconds, whole minutes: the time before the end of the range that is asked for; undefined: the range itself. */
  readonly window: number | undefined;
  readonly rules: RowRules;
}

/** The rows of a query, all of them, as series. */
export interface QueryResult {
  /** As answered: it may end a few minutes earlier than was asked for. */
  readonly window: TimeRange;
  /** As the service gave them. */
  readonly rows: readonly unknown[];
  /** What `facet` of a row lists, in its order. */
  readonly facets: readonly string[];
  readonly reading: RowReading;
}

/** An entity of any type, as the search finds it. */
export interface MonitoredEntity {
  readonly guid: string;
  readonly name: string;
  readonly reporting: boolean;
  /** In words of the REST interface; undefined where nothing is said. */
  readonly healthStatus: string | undefined;
  readonly tags: readonly { readonly key: string; readonly values: readonly string[] }[];
  /** Entities whose metrics are defined alike have the same object. */
  readonly metrics: readonly GoldenMetric[];
}

/** A golden metric as New Relic defines it. */
export interface GoldenMetric {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly definition: GoldenDefinition;
}

/** Golden metrics of one entity. */
export interface GoldenSubject {
  /** `DOMAIN-TYPE`: entities of one type share queries. */
  readonly type: string;
  readonly guid: string;
  /** Entities that ask for the same have the same object, and equal sources are one object. */
  readonly columns: readonly (GoldenColumn & { readonly name: string })[];
  /** Seconds, whole minutes: the time before the end of the range that is asked for; undefined: the range itself. */
  readonly window: number | undefined;
}

/** What was read of one entity. */
export interface GoldenResult {
  readonly window: TimeRange;
  /** By golden metric; without those that have no value. A value has a percentile where there are several. */
  readonly values: ReadonlyMap<string, readonly { readonly percentile: string | undefined; readonly value: number }[]>;
  /** Golden metrics that could not be read while others were. */
  readonly failures: ReadonlyMap<string, UpstreamError>;
  /** Golden metrics whose column is no number. */
  readonly notNumbers: readonly string[];
}

/** Reads entities of any type, through NerdGraph whatever the interface of the account is. */
export interface EntityReader {
  /** All entities of a type, `DOMAIN-TYPE`, in any order. */
  list(type: string, call: CallOptions): Promise<readonly MonitoredEntity[]>;
  /** How many calls a list of this length takes. */
  listCalls(type: string, entities: number): number;
  readonly goldenMetrics: BatchRead<GoldenSubject, GoldenResult>;
  /** The types of the account, sorted, with how many entities each has. */
  types(call: CallOptions): Promise<readonly { readonly type: string; readonly count: number }[]>;
}

/** A list of metric names for a person. */
export interface MetricNameQuery extends ApplicationSubject {
  readonly hostKey?: string;
  /** A substring that the names contain. */
  readonly name?: string;
  /** Unix seconds, a whole minute: the end of the day whose names are read, where the interface asks for one; default: now. */
  readonly to?: number;
  /** Reading stops after this many pages, where the interface has pages; `complete` then says false. */
  readonly maxPages?: number;
  /** Called after each page with the number of pages and of names read so far. */
  readonly onPage?: (pages: number, names: number) => void;
}

export interface MetricNameList {
  readonly names: readonly MetricName[];
  /** False when the list goes on after the pages that were read. */
  readonly complete: boolean;
}

/** What was found when an account was tried (`check --live`), in sentences. */
export interface Diagnosis {
  /** What the key sees. */
  readonly facts: readonly string[];
  /** Things that somebody should look at. */
  readonly warnings: readonly string[];
}

/**
 * The upstream service as the collector and the commands see it, over either interface: both give the same values in the
 * same units (types.ts). Every method rejects with an UpstreamError, or with the reason of the signal.
 */
export interface UpstreamReader {
  readonly api: Api;
  /** The id of New Relic's user whom the key belongs to; undefined: nothing goes through NerdGraph, which tells it. */
  readonly user?: ((call: CallOptions) => Promise<number>) | undefined;
  /** All pages; `ids` narrows the list to those. */
  listApplications(query: { readonly ids?: readonly number[] }, call: CallOptions): Promise<Application[]>;
  readApplication(id: number, call: CallOptions): Promise<Application>;
  listKeyTransactions(query: { readonly ids?: readonly number[] }, call: CallOptions): Promise<KeyTransaction[]>;
  readKeyTransaction(id: number, call: CallOptions): Promise<KeyTransaction>;
  /** How many calls a list of so many entities takes. */
  listCalls(count: number): number;
  /** The hosts of applications that reported within about an hour. */
  readonly hosts: BatchRead<ApplicationSubject, readonly Host[]>;
  /** Undefined: the interface knows no instances. */
  readonly instances: BatchRead<ApplicationSubject, readonly Instance[]> | undefined;
  /** Rolling values that the lists do not bring; undefined: the lists bring them all. */
  readonly rolling: BatchRead<RollingSubject, RollingValues> | undefined;
  /** The datastore metrics of applications, sorted; undefined: the metric data bring them. */
  readonly datastores: BatchRead<ApplicationSubject, readonly string[]> | undefined;
  /** The names that custom metrics may match; unscoped ones only. */
  readonly customNames: BatchRead<CustomNamesSubject, readonly string[]>;
  readonly metricData: BatchRead<MetricDataSubject, MetricDataResult>;
  readonly metricSeries: SeriesRead;
  /** Values of single minutes, never rounded. */
  readonly counters: BatchRead<MetricDataSubject, MinuteSeries>;
  /** Queries of the configuration, one call each; undefined: the account has none. */
  readonly queries: BatchRead<QuerySubject, QueryResult> | undefined;
  /** Entities of other types; undefined: the account is not configured for any. */
  readonly entities?: EntityReader | undefined;
  /** Metric names in the order in which upstream gives them, each once. */
  listMetricNames(query: MetricNameQuery, call: CallOptions): Promise<MetricNameList>;
  /** The alert policies, conditions and muting rules; undefined: the interface does not tell them. */
  readonly alertSettings?: (call: CallOptions) => Promise<AlertSettings>;
  /** Tries what the lists do not show, after they were read. */
  diagnose(range: TimeRange, call: CallOptions): Promise<Diagnosis>;
  /** What was learned of the account, failures included; the reader that replaces it (reload) is made with it. */
  readonly memory: object;
  /** It is replaced (reload): what is under way goes on, but no connection is kept for a later call. */
  retire(): void;
  /** Closes all connections; calls in flight are aborted. */
  close(): Promise<void>;
}
