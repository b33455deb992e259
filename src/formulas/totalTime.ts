import { fallbackIfZero, finite } from './inputs.ts';
import type { TimedCalls, Values } from './inputs.ts';
import { hasCalls, timePerRequest } from './responseTime.ts';

/**
 * Execution time of a web transaction outside the components, in seconds: `WebTransactionTotalTime` less the times of the
 * components per web request. `HttpDispatcher` stands in for a total time that is absent (some agents report none) or 0.
 * The result may be below zero. Absent without web requests, and where the total time or any of the components was
 * answered and cannot be read: without that part, the result would be a wrong number.
 *
 * @param components those that upstream answered and that count
 */
export function totalTime(
  web: TimedCalls | undefined,
  total: Values<'average_response_time'> | undefined,
  components: readonly TimedCalls[],
): number | undefined {
  const webRequests = web?.call_count;
  if (!hasCalls(webRequests) || (total !== undefined && total.average_response_time === undefined)) return undefined;
  const average = fallbackIfZero(total?.average_response_time, web?.average_response_time);
  if (average === undefined) return undefined;
  let inComponents = 0;
  for (const component of components) {
    const time = timePerRequest(component, webRequests);
    if (time === undefined) return undefined;
    inComponents += time;
  }
  return finite(average / 1000 - inComponents);
}
