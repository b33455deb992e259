import type { FailureReason, UpstreamError } from '../upstreamError.ts';
import type { Overload } from '../upstreamReader.ts';
import { type ResponseHeaders, firstHeader } from './address.ts';

/** A failed attempt at a call. It has no cause, because errors of the HTTP library contain parts of responses. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly reason: FailureReason;
  readonly circumstances: Omit<UpstreamError['failure'], 'reason'> & {
    /** True if the same call may succeed when it is repeated. */
    readonly retriable?: boolean;
    readonly overload?: Overload | undefined;
  };

  constructor(reason: FailureReason, words: string, circumstances: CallFailure['circumstances'] = {}) {
    super(words);
    this.reason = reason;
    this.circumstances = circumstances;
  }
}

/**
 * The overload that a response reports, if any: 429 always, 503 when it has `Retry-After` (docs/errors.md, "Pauses"). Its
 * length is the longest of the headers that tell one; a time in the past is ignored.
 *
 * @param now Unix milliseconds of the wall clock
 */
export function overloadOf(status: number, headers: ResponseHeaders, now: number): Overload | undefined {
  if (status !== 429 && !(status === 503 && firstHeader(headers, 'retry-after') !== undefined)) return undefined;
  return announced(headers, now);
}

/** The overload of a response whose body reports one, for any status; `now` is Unix milliseconds of the wall clock. */
export function announced(headers: ResponseHeaders, now: number): Overload {
  const times = [
    retryAfterTime(firstHeader(headers, 'retry-after'), now),
    unixTime(firstHeader(headers, 'x-ratelimit-reset')),
    unixTime(firstHeader(headers, 'newrelic-overloadprotection-reset')),
  ].filter((time) => time !== undefined && time > now);
  const latest = times.reduce<number | undefined>((a, b) => (a === undefined ? b : Math.max(a, b ?? 0)), undefined);
  return { waitMs: latest === undefined ? undefined : latest - now };
}

function retryAfterTime(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const seconds = decimal(text);
  if (seconds !== undefined) return now + seconds * 1000;
  // HTTP has three date formats. Only the asctime format has no zone, and all three are GMT.
  const date = Date.parse(/GMT|UTC|[+-]\d{4}$/.test(text) ? text : `${text} GMT`);
  return Number.isNaN(date) ? undefined : date;
}

function unixTime(text: string | undefined): number | undefined {
  const seconds = text === undefined ? undefined : decimal(text);
  return seconds === undefined ? undefined : seconds * 1000;
}

function decimal(text: string): number | undefined {
  return /^\d{1,12}(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
