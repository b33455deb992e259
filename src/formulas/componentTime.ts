import { finite } from './finite.ts';
import { timeShare } from './timeShare.ts';
import type { TimedCalls } from './timeShare.ts';

/**
 * Time in a component per web request, in seconds (specification, calculation 2; contract 5.4). Absent without the
 * component and without web requests.
 */
export function componentTime(component: TimedCalls, webRequests: number | undefined): number | undefined {
  const share = timeShare(component, webRequests);
  return share === undefined ? undefined : finite(share);
}
