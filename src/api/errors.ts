/** Bounded causes of a failed call; they become the label `reason` of newrelic_exporter_api_failures_total. */
export const FAILURE_REASONS = [
  'auth',
  'forbidden',
  'not_found',
  'rate_limited',
  'timeout',
  'network',
  'server',
  'redirect',
  'invalid_response',
  'too_large',
  'other',
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

export interface UpstreamFailure {
  readonly reason: FailureReason;
  /** Path template, such as `/applications/{id}/hosts.json`, or `graphql:` and the group whose data are read. */
  readonly endpoint: string;
  readonly status?: number | undefined;
}

/** A call that failed, after its retries. The message names endpoint and status, never a key or a body. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly failure: UpstreamFailure;

  constructor(message: string, failure: UpstreamFailure, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
