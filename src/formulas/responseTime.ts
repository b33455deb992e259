import { finite } from './finite.ts';
import { orWhereZero } from './orWhereZero.ts';
import { hasRequests, timeShare } from './timeShare.ts';
import type { TimedCalls } from './timeShare.ts';

/** `HttpDispatcher`; times in milliseconds. */
interface WebTimes {
  readonly calls: number | undefined;
  readonly averageCallTime: number | undefined;
  readonly averageResponseTime: number | undefined;
}

/**
 * Response time of a web request with queueing, in seconds (specification, calculation 1; contract 5.4). The average
 * response time stands in for an average call time that is absent or 0; a queue that is absent counts 0, but one that
 * has calls and no average leaves the result absent.
 */
export function responseTime(web: WebTimes, queue: TimedCalls): number | undefined {
  if (!hasRequests(web.calls)) return undefined;
  const served = orWhereZero(web.averageCallTime, web.averageResponseTime);
  const queued = isAbsent(queue) ? 0 : timeShare(queue, web.calls);
  return served === undefined || queued === undefined ? undefined : finite(served / 1000 + queued);
}

function isAbsent(queue: TimedCalls): boolean {
  return queue.calls === undefined && queue.averageResponseTime === undefined;
}
