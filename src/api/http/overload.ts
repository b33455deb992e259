import type { AnswerHeaders } from './headers.ts';
import { firstHeader } from './headers.ts';
import type { Overload } from '../reader.ts';

/**
 * The overload an answer reports, if it does: 429 always, 503 when it carries `Retry-After` (contract 4, point 8). Until
 * when comes from `Retry-After` (seconds or an HTTP date), `X-RateLimit-Reset` or the older
 * `NewRelic-OverloadProtection-Reset` (Unix seconds); of several, the latest. A time that has passed says nothing.
 *
 * @param now Unix milliseconds
 */
export function overloadOf(status: number, headers: AnswerHeaders, now: number): Overload | undefined {
  const retryAfter = firstHeader(headers, 'retry-after');
  if (status !== 429 && !(status === 503 && retryAfter !== undefined)) return undefined;
  const times = [
    retryAfterTime(retryAfter, now),
    unixTime(firstHeader(headers, 'x-ratelimit-reset')),
    unixTime(firstHeader(headers, 'newrelic-overloadprotection-reset')),
  ].filter((time) => time !== undefined && time > now);
  return {
    retryAt: times.reduce((latest, time) => (latest === undefined ? time : Math.max(latest, time ?? 0)), undefined),
  };
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
