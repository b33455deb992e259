/**
 * The reasons why a call fails (the label `reason` of newrelic_exporter_api_failures_total), each with the remedy for
 * an operator (docs/errors.md, "Failed calls").
 */
export const REMEDIES = {
  auth: 'use a valid user key (NRAK-...), and set "region" to the region of its account: us, eu, gov or jp',
  forbidden:
    "check the permissions of the key's user: it needs access to the account; set account_id to an account that the " +
    'user sees, and "region" to the region of this account: us, eu, gov or jp',
  not_found: 'check that base_url is the address of New Relic',
  rate_limited: "lower limits.requests_per_minute, and find what else uses the account's limit",
  timeout:
    'check the network and the proxy between the exporter and New Relic; a longer limits.request_timeout may help',
  network:
    'check DNS, the proxy settings (HTTPS_PROXY) and the route to New Relic; tls.ca_file adds an authority of your own',
  server: 'New Relic itself fails: check its status page, and wait',
  redirect: 'correct base_url: the exporter does not send the key to the target of the redirect',
  invalid_response:
    'report it with this message, unless the message says that something else answers instead of New Relic',
  too_large:
    'read less, as the message says; if it names nothing in your configuration, check what answers at this address',
  other: 'correct what the message names; if it names nothing in your configuration, report it with this message',
};

export type FailureReason = keyof typeof REMEDIES;

export const FAILURE_REASONS = Object.keys(REMEDIES) as readonly FailureReason[];

/** An overload that New Relic reports, with the announced pause in milliseconds. */
export interface Overload {
  readonly waitMs: number | undefined;
}

/** The failure of a call after its retries. The message contains endpoint and status, never a key or a body. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly failure: {
    readonly reason: FailureReason;
    readonly status?: number | undefined;
    /** True for New Relic's own refusal and for an unreadable response. Neither makes the account fail. */
    readonly isAnswer?: boolean | undefined;
    /** True for a subject that is set apart from now on (docs/nerdgraph.md, "What breaks a batch"). */
    readonly isSetApart?: boolean | undefined;
    /** New Relic's code for the error in the body. */
    readonly code?: string | undefined;
  };

  constructor(message: string, failure: UpstreamError['failure']) {
    super(message);
    this.failure = failure;
  }
}

/** A failed attempt at a call. It carries no `cause`: errors of the HTTP library contain parts of responses. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly reason: FailureReason;
  readonly circumstances: Omit<UpstreamError['failure'], 'reason'> & {
    /** True if a retry of the same call may succeed. */
    readonly retriable?: boolean;
    readonly overload?: Overload | undefined;
    /** True for an overload that may last for hours. No caller waits for its end. */
    readonly isLasting?: boolean;
  };

  constructor(reason: FailureReason, words: string, circumstances: CallFailure['circumstances'] = {}) {
    super(words);
    this.reason = reason;
    this.circumstances = circumstances;
  }
}

/** Awaits a read. If it is too large, `words` before the message name the subject, and what to change. */
export async function explainTooLarge<T>(words: string, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.failure.reason !== 'too_large') throw error;
    throw new UpstreamError(`${words}; ${error.message}`, error.failure);
  }
}
