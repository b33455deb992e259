import { effectiveInterval } from './due.ts';
import { GROUPS, type Group } from '../metrics/groups.ts';

const MINUTE = 60_000;

/** How many calls one refresh of each group takes; groups that are off are left out. */
export type GroupCalls = ReadonlyMap<Group, number>;

export interface GroupPlan {
  readonly group: Group;
  readonly callsPerRefresh: number;
  readonly callsPerMinute: number;
  /** Configured, and what the budget allows, in milliseconds. */
  readonly interval: number;
  readonly effectiveInterval: number;
}

export interface Plan {
  readonly groups: readonly GroupPlan[];
  readonly callsPerMinute: number;
  readonly budget: number;
  /** 1 when the budget carries every group at its interval, else the factor by which all of them slow. */
  readonly stretch: number;
}

/** What a steady state costs, and how far it must be slowed to fit the budget (contract 4, point 4; command `plan`). */
export function planCalls(calls: GroupCalls, intervalOf: (group: Group) => number, budget: number): Plan {
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
  const stretch = Math.max(1, callsPerMinute / budget);
  const groups = rates.map((rate) => ({
    ...rate,
    effectiveInterval: effectiveInterval(rate.interval, stretch),
  }));
  return { groups, callsPerMinute, budget, stretch };
}
