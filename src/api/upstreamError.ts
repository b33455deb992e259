/** Why a call failed: the values of the label `reason` of newrelic_exporter_api_failures_total. */
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

/** A call that failed, after its retries. The message contains endpoint and status, never a key or a body. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly failure: {
    readonly reason: FailureReason;
    readonly status?: number | undefined;
    /** True if New Relic itself calls the failure transient. */
    readonly isTransient?: boolean | undefined;
    /** True if New Relic reports that the request or its result is too big or too complex. */
    readonly isTooBig?: boolean | undefined;
    /** New Relic's code of the error in the body. */
    readonly code?: string | undefined;
  };

  constructor(message: string, failure: UpstreamError['failure']) {
    super(message);
    this.failure = failure;
  }
}
