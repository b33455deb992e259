import { fallbackIfZero, finite } from './inputs.ts';
import type { TimedCalls, Values } from './inputs.ts';

/** `HttpDispatcher`; times in milliseconds. */
type WebValues = Values<'call_count' | 'average_call_time' | 'average_response_time'>;

/**
 * Response time of a web request with queueing, in seconds: the average call time, for which the average response time
 * stands in where it is absent or 0, and the queueing per web request. An absent queue counts 0; one that was answered
 * and cannot be read leaves the result absent. Absent without web requests.
 */
export function responseTime(web: WebValues | undefined, queue: TimedCalls | undefined): number | undefined {
  if (web === undefined || !hasCalls(web.call_count)) return undefined;
  const served = fallbackIfZero(web.average_call_time, web.average_response_time);
  const queued = queue === undefined ? 0 : timePerRequest(queue, web.call_count);
  return served === undefined || queued === undefined ? undefined : finite(served / 1000 + queued);
}

/**
 * Seconds that these calls (of the request queue, or of a component) take per web request: average × calls / web
 * requests. With 0 calls the average is not required. Absent where an input is absent, and without web requests.
 */
export function timePerRequest(timed: TimedCalls | undefined, webRequests: number | undefined): number | undefined {
  const calls = timed?.call_count;
  if (!hasCalls(webRequests) || calls === undefined) return undefined;
  if (calls === 0) return 0;
  const average = timed?.average_response_time;
  return average === undefined ? undefined : finite((average * calls) / webRequests / 1000);
}

/** The average time of one call in seconds; absent with 0 calls, for which there is no average. */
export function averageTime(timed: TimedCalls | undefined): number | undefined {
  const average = timed?.average_response_time;
  return average === undefined || !hasCalls(timed?.call_count) ? undefined : average / 1000;
}

/** True when there were calls, so that there is an average per call. */
export function hasCalls(calls: number | undefined): calls is number {
  return calls !== undefined && calls > 0;
}
