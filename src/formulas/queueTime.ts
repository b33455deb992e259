import { finite } from './finite.ts';
import { timeShare } from './timeShare.ts';
import type { TimedCalls } from './timeShare.ts';

/**
 * Time in the request queue per web request, in seconds: the second term of calculation 1 of the specification
 * (contract 5.4). Absent without the queue metric and without web requests.
 */
export function queueTime(queue: TimedCalls, webRequests: number | undefined): number | undefined {
  const share = timeShare(queue, webRequests);
  return share === undefined ? undefined : finite(share);
}
