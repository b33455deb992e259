import type { FailureReason } from '../types.ts';
import type { Overload } from '../upstreamReader.ts';
import { type ResponseHeaders, firstHeader } from './address.ts';

/**
 * One attempt at a call that failed. The message says why, in words that follow the endpoint. It keeps no cause: those of
 * the HTTP library hold parts of responses.
 */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly reason: FailureReason;
  readonly status: number | undefined;
  /** Whether the same call may well succeed when it is made again. */
  readonly retriable: boolean;
  /** Whether upstream itself says that the failure passes. */
  readonly isTransient: boolean;
  /** The service says that what was asked for is too big or too complex. */
  readonly isTooBig: boolean;
  readonly overload: Overload | undefined;

  constructor(
    reason: FailureReason,
    words: string,
    circumstances: Partial<Pick<CallFailure, 'status' | 'retriable' | 'isTransient' | 'isTooBig' | 'overload'>> = {},
  ) {
    super(words);
    this.reason = reason;
    this.status = circumstances.status;
    this.retriable = circumstances.retriable ?? false;
    this.isTransient = circumstances.isTransient ?? false;
    this.isTooBig = circumstances.isTooBig ?? false;
    this.overload = circumstances.overload;
  }
}

/**
 * The overload that a response reports, if it does: 429 always, 503 when it carries `Retry-After` (docs/errors.md,
 * "Pauses"). How long comes from `Retry-After` (seconds or an HTTP date), `X-RateLimit-Reset` or the older
 * `NewRelic-OverloadProtection-Reset` (Unix seconds); of several, the longest. A time that has passed says nothing.
 *
 * @param now Unix milliseconds by the wall clock, which the times in headers are compared with
 */
export function overloadOf(status: number, headers: ResponseHeaders, now: number): Overload | undefined {
  if (status !== 429 && !(status === 503 && firstHeader(headers, 'retry-after') !== undefined)) return undefined;
  return announced(headers, now);
}

/** The overload of a response whose body reports one, whatever its status; `now` as above. */
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
  // Of the three date forms of HTTP only asctime names no zone; all are GMT.
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
