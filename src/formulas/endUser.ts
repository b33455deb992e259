import { perSecond } from './perSecond.ts';
import { hasRequests } from './timeShare.ts';
import type { TimedCalls } from './timeShare.ts';

/** Page load time in seconds, from `EndUser:average_response_time` (contract 5.4). Absent without page views. */
export function endUserResponseTime({ averageResponseTime, calls }: TimedCalls): number | undefined {
  return averageResponseTime === undefined || !hasRequests(calls) ? undefined : averageResponseTime / 1000;
}

/** Page views per second, from `EndUser:call_count` and the length of its timeslice (contract 5.4). */
export function pageViews(calls: number | undefined, seconds: number): number | undefined {
  return perSecond(calls, seconds);
}
