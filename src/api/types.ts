/**
 * What the upstream service says, after validation (specification, "Resources and their fields"; api-facts 3 and 4).
 * Units are the upstream's: milliseconds, per-minute rates. A field that is absent, or was left out as bad, is undefined.
 */

/** `application_summary` or `end_user_summary`. */
export interface RollingSummary {
  readonly responseTime: number | undefined;
  readonly throughput: number | undefined;
  readonly errorRate: number | undefined;
  readonly apdexTarget: number | undefined;
  readonly apdexScore: number | undefined;
  readonly hostCount: number | undefined;
  readonly instanceCount: number | undefined;
  readonly concurrentInstanceCount: number | undefined;
}

export interface ApplicationSettings {
  readonly apdexThreshold: number | undefined;
  readonly endUserApdexThreshold: number | undefined;
  readonly realUserMonitoring: boolean | undefined;
  readonly serverSideConfig: boolean | undefined;
}

export interface Application {
  readonly id: number;
  readonly name: string;
  readonly language: string | undefined;
  readonly healthStatus: string | undefined;
  readonly reporting: boolean | undefined;
  /** Unix time in seconds. */
  readonly lastReportedAt: number | undefined;
  readonly summary: RollingSummary | undefined;
  readonly endUserSummary: RollingSummary | undefined;
  readonly settings: ApplicationSettings | undefined;
  readonly alertPolicyId: number | undefined;
  /** Undefined when the body has no such list, as with `exclude_links`. */
  readonly hostIds: readonly number[] | undefined;
  readonly instanceIds: readonly number[] | undefined;
}

export interface Host {
  readonly id: number;
  readonly host: string;
  readonly language: string | undefined;
  readonly healthStatus: string | undefined;
  readonly summary: RollingSummary | undefined;
}

export interface Instance extends Host {
  readonly port: number | undefined;
  readonly hostId: number | undefined;
}

export interface KeyTransaction {
  readonly id: number;
  readonly name: string;
  readonly transactionName: string | undefined;
  readonly healthStatus: string | undefined;
  readonly reporting: boolean | undefined;
  /** Unix time in seconds. */
  readonly lastReportedAt: number | undefined;
  readonly summary: RollingSummary | undefined;
  readonly endUserSummary: RollingSummary | undefined;
  readonly applicationId: number | undefined;
}

/** An entry of the metric name list. */
export interface MetricName {
  readonly name: string;
  readonly values: readonly string[];
}

/** One timeslice of one metric. */
export interface Timeslice {
  /** Unix times in seconds; `to` as answered (it may be inclusive, so round differences to the minute). */
  readonly from: number;
  readonly to: number;
  readonly values: Readonly<Record<string, number>>;
}

/** The answer to one metric data call: timeslices by metric name, oldest first. */
export type MetricData = ReadonlyMap<string, readonly Timeslice[]>;
