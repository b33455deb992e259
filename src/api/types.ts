import type { Columns } from '../formulas/metricInputs.ts';
import type { UpstreamError } from './upstreamError.ts';

// New Relic's records after validation, in base units: seconds, rates per second, ratios. An undefined field was
// missing or invalid in the response.

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
  readonly hosts?: number | undefined;
  readonly instances?: number | undefined;
  /** Undefined: the interface does not return tags. */
  readonly tags?: readonly Tag[] | undefined;
}

/** Data that were cut at a limit, in words that follow "has" in a warning: `more than 20 pages of names`. */
export type Cut = readonly string[];

export interface Tag {
  readonly key: string;
  readonly values: readonly string[];
}

export interface Host {
  /** Identifies the host within its application: the id of the REST interface; over NerdGraph the name. */
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
  /** The error of the separate call that reads the fields below. Then only id and name are known. */
  readonly unread?: UpstreamError | undefined;
  readonly transactionName?: string | undefined;
  readonly healthStatus?: string | undefined;
  readonly reporting?: boolean | undefined;
  /** Unix time in seconds. */
  readonly lastReportedAt?: number | undefined;
  readonly applicationId?: number | undefined;
}

export interface MetricName {
  readonly name: string;
  /** Names of the values in a timeslice of the metric; undefined: the interface does not return them. */
  readonly values: readonly string[] | undefined;
}

export interface Timeslice {
  /** Unix times in seconds, as in the response. `to` may be inclusive; `endOf` returns the exclusive end. */
  readonly from: number;
  readonly to: number;
  /** Empty: the response has the metric, but no readable value of it. */
  readonly columns: Columns;
}

/** Returns the seconds of a timeslice: whole minutes, because `to` may be inclusive (`:59`), and at least one. */
export function secondsOf({ from, to }: Pick<Timeslice, 'from' | 'to'>): number {
  return Math.max(60, Math.round((to - from) / 60) * 60);
}

/** The longest timeslice that the exporter requests, in seconds. */
const LONGEST_TIMESLICE = 3_600;

/** True if a timeslice overlaps a range, and begins less than the longest timeslice before it. */
export function isAbout(range: Pick<Timeslice, 'from' | 'to'>, { from, to }: Pick<Timeslice, 'from' | 'to'>): boolean {
  return from < range.to && to > range.from && from > range.from - LONGEST_TIMESLICE;
}

/** Returns the exclusive end of a timeslice in Unix seconds. */
export function endOf(timeslice: Pick<Timeslice, 'from' | 'to'>): number {
  return timeslice.from + secondsOf(timeslice);
}
