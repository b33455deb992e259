/** The two values of a metric that calculations 1 and 2 of the specification multiply. */
export interface TimedCalls {
  /** `call_count` in the window. */
  readonly calls: number | undefined;
  /** `average_response_time` in milliseconds. */
  readonly averageResponseTime: number | undefined;
}

/**
 * Seconds that these calls take per web request: average × calls / web requests. Undefined where an input is absent
 * (an average is not needed of no calls) or there are no web requests; may overflow.
 */
export function timeShare(timed: TimedCalls, webRequests: number | undefined): number | undefined {
  if (!hasRequests(webRequests) || timed.calls === undefined) return undefined;
  if (timed.calls === 0) return 0;
  if (timed.averageResponseTime === undefined) return undefined;
  return (timed.averageResponseTime * timed.calls) / webRequests / 1000;
}

/** Whether an average per request says anything: an average over nothing is no verdict (contract 5.4). */
export function hasRequests(requests: number | undefined): requests is number {
  return requests !== undefined && requests > 0;
}
