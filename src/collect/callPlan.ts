import { GROUPS, type Group } from '../metrics/sample.ts';
import type { Plan } from './view.ts';
import { effectiveInterval } from './due.ts';

const MINUTE = 60_000;

/** How much room is left when the calls at once slow an account, so that its entities are read before they are due. */
const HEADROOM = 1.1;

/** By how much less has to be needed before an account that was slowed gets faster again. */
const RELIEF = 1.3;

/** How many calls one refresh of each group takes; groups that are off are left out. */
export type GroupCalls = ReadonlyMap<Group, number>;

/** What an account can carry: calls per minute by its budget, and by its calls at once. */
export interface Carried {
  readonly perMinute: number;
  /** The factor by which calls at once slow the account, from `slowedBy`; 1 = not. */
  readonly slowed: number;
  /** Calls per minute that the calls at once can carry at the measured duration; undefined before one was measured. */
  readonly byPlaces: number | undefined;
}

/** What a steady state costs, and how far it must be slowed to be carried. */
export function planCalls(calls: GroupCalls, intervalOf: (group: Group) => number, carried: Carried): Plan {
  const rates = GROUPS.filter((group) => calls.has(group)).map((group) => {
    const callsPerRefresh = calls.get(group) ?? 0;
    const interval = intervalOf(group);
    // No group is refreshed more than once per window, and windows are a minute apart.
    return {
      group,
      callsPerRefresh,
      interval,
      callsPerMinute: (callsPerRefresh * MINUTE) / Math.max(interval, MINUTE),
    };
  });
  const callsPerMinute = rates.reduce((sum, rate) => sum + rate.callsPerMinute, 0);
  const stretch = Math.max(1, callsPerMinute / carried.perMinute, carried.slowed);
  const groups = rates.map((rate) => ({
    ...rate,
    effectiveInterval: effectiveInterval(rate.interval, stretch),
  }));
  return { groups, callsPerMinute, budget: carried.perMinute, carriedByPlaces: carried.byPlaces, stretch };
}

/**
 * The factor by which calls at once slow an account. It follows a need that grows at once and with some room, and one that
 * shrinks only when it has become clearly less, so that measured durations do not make it go up and down.
 *
 * @param before the factor until now, at least 1
 * @param needed calls per minute divided by those that can be carried
 */
export function slowedBy(before: number, needed: number): number {
  if (needed <= before && needed >= before / RELIEF) return before;
  return needed <= 1 && before <= 1 ? 1 : Math.max(1, needed * HEADROOM);
}
