import { hasRequests } from './timeShare.ts';

/**
 * Time of a web transaction without queueing, in seconds (specification, `HttpDispatcher`; contract 5.4), from
 * `average_response_time` in milliseconds. Absent without web requests.
 */
export function webTransactionTime(
  averageResponseTime: number | undefined,
  webRequests: number | undefined,
): number | undefined {
  return averageResponseTime === undefined || !hasRequests(webRequests) ? undefined : averageResponseTime / 1000;
}
