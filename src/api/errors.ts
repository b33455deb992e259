/** Bounded causes of a failed call; they become the label `reason` (contract 5.5). */
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
  /** Path template, such as `/applications/{id}/hosts.json`. */
  readonly endpoint: string;
  readonly status?: number | undefined;
  /** Unix time in milliseconds before which upstream asked for no further call (429, or 503 with Retry-After). */
  readonly retryAt?: number | undefined;
  /** True when upstream said that it is overloaded (429, or 503 with Retry-After): the whole account pauses. */
  readonly overload?: boolean;
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
