import type { Columns } from '../formulas/metricInputs.ts';
import type { UpstreamError } from './upstreamError.ts';

// The types below are New Relic's records after validation, in base units: seconds, rates per second, ratios. A field is undefined
// where the response lacks it or has an invalid value.

/** `application_summary` or `end_user_summary`. */
export interface RollingSummary {
  readonly responseTime?: number | undefined;
  readonly requestRate?: number | undefined;
  readonly errorRate?: number | undefined;
  readonly apdexTarget?: number | undefined;
  readonly apdexScore?: number | undefined;
  readonly hostCount?: number | undefined;
  readonly instanceCount?: number | undefined;
  readonly concurrentInstanceCount?: number | undefined;
}

/** The rolling values of an application, a host or a key transaction. */
export interface RollingValues {
  readonly summary?: RollingSummary | undefined;
  readonly endUserSummary?: RollingSummary | undefined;
}

export interface Application extends RollingValues {
  readonly id: number;
  readonly name: string;
  readonly language?: string | undefined;
  readonly healthStatus?: string | undefined;
  readonly reporting?: boolean | undefined;
  /** Unix time in seconds. */
  readonly lastReportedAt?: number | undefined;
  readonly apdexThreshold?: number | undefined;
  readonly endUserApdexThreshold?: number | undefined;
  readonly realUserMonitoring?: boolean | undefined;
  readonly serverSideConfig?: boolean | undefined;
  readonly alertPolicyId?: number | undefined;
  /** The number of hosts and instances linked to the application. */
  readonly hosts?: number | undefined;
  readonly instances?: number | undefined;
  /** Undefined where the interface does not return tags. */
  readonly tags?: readonly Tag[] | undefined;
}

/** What is used only in part: the words behind "has" in a warning, such as `more than 20 pages of names`. */
export type Cut = readonly string[];

/** A tag in New Relic's spelling. */
export interface Tag {
  readonly key: string;
  readonly values: readonly string[];
}

export interface Host {
  /** The key that identifies the host within its application: the id of the REST interface, or the name if there is none. */
  readonly key: string;
  readonly host: string;
  readonly language?: string | undefined;
  readonly healthStatus?: string | undefined;
  readonly summary?: RollingSummary | undefined;
}

export interface Instance extends Omit<Host, 'key'> {
  readonly id: number;
  readonly port?: number | undefined;
  readonly hostId?: number | undefined;
}

export interface KeyTransaction extends RollingValues {
  readonly id: number;
  readonly name: string;
  /** The error of the call for the fields below, where the interface reads them separately: only id and name are known. */
  readonly unread?: UpstreamError | undefined;
  readonly transactionName?: string | undefined;
  readonly healthStatus?: string | undefined;
  readonly reporting?: boolean | undefined;
  /** Unix time in seconds. */
  readonly lastReportedAt?: number | undefined;
  readonly applicationId?: number | undefined;
}

/** An entry of the metric name list. */
export interface MetricName {
  readonly name: string;
  /** The names of the values in a timeslice of the metric; undefined: the interface does not return them. */
  readonly values: readonly string[] | undefined;
}

export interface Timeslice {
  /** Unix times in seconds; `to` as in the response, where it may be inclusive: `endOf` gives the exclusive end. */
  readonly from: number;
  readonly to: number;
  /** Empty where the metric was in the response, but nothing of it can be read. */
  readonly columns: Columns;
}

/** Length of a timeslice in seconds: whole minutes, because `to` may be inclusive (`:59`), and at least one, the shortest. */
export function secondsOf({ from, to }: Pick<Timeslice, 'from' | 'to'>): number {
  return Math.max(60, Math.round((to - from) / 60) * 60);
}

/** The longest timeslice of a series that is ever requested, in seconds. */
const LONGEST_TIMESLICE = 3_600;

/** True where a timeslice says something about a range, which it may begin before by no more than its longest length. */
export function isAbout(range: Pick<Timeslice, 'from' | 'to'>, { from, to }: Pick<Timeslice, 'from' | 'to'>): boolean {
  return from < range.to && to > range.from && from > range.from - LONGEST_TIMESLICE;
}

/** The exclusive end of a timeslice in Unix seconds. */
export function endOf(timeslice: Pick<Timeslice, 'from' | 'to'>): number {
  return timeslice.from + secondsOf(timeslice);
}
