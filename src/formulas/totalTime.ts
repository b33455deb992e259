import { finite } from './finite.ts';
import { orWhereZero } from './orWhereZero.ts';
import { hasRequests, timeShare } from './timeShare.ts';
import type { TimedCalls } from './timeShare.ts';

/** What calculation 3 starts from; times in milliseconds. */
interface TotalTimes {
  readonly webRequests: number | undefined;
  /** `WebTransactionTotalTime:average_response_time`. */
  readonly totalAverage: number | undefined;
  /** `HttpDispatcher:average_response_time`, for agents that report no total time. */
  readonly webAverage: number | undefined;
}

/**
 * Execution time outside the components that count, in seconds (specification, calculation 3; contract 5.4): absent
 * terms are ignored, and the result may be below zero. Absent without web requests and without both averages.
 */
export function totalTime(times: TotalTimes, components: readonly TimedCalls[]): number | undefined {
  const average = orWhereZero(times.totalAverage, times.webAverage);
  if (average === undefined || !hasRequests(times.webRequests)) return undefined;
  const inComponents = components.reduce((sum, component) => sum + (timeShare(component, times.webRequests) ?? 0), 0);
  return finite(average / 1000 - inComponents);
}
