import { backoff } from '../../api/backoff.ts';
import type { ReadTimes } from '../inventory/task.ts';
import { GROUPS, type Group } from '../../reads/reads.ts';
import { MINUTE_MS } from '../../formulas/units.ts';

const FIRST_RETRY = 5_000;
const LONGEST_RETRY = 300_000;

type Times = Pick<ReadTimes, 'readableAt' | 'readAt'>;

/**
 * The time when a last read value is due again: a new window can be read and the interval has passed. An interval of whole
 * minutes is counted from the time when the last window could be read, so that a late read does not move the next one. Any other
 * interval, and a slowed one (`slowdown` above 1), is counted from the last read.
 */
export function dueAt(lastRead: Times, interval: number, slowdown = 1): number {
  if (slowdown <= 1 && interval % MINUTE_MS === 0) return lastRead.readableAt + interval;
  return Math.max(lastRead.readableAt + MINUTE_MS, lastRead.readAt + effectiveInterval(interval, slowdown));
}

/**
 * The interval that budget and concurrent calls allow, in milliseconds: the configured one, multiplied by a `slowdown` above 1.
 * It then counts as at least a minute, because each window is read only once, and windows are a minute apart.
 */
export function effectiveInterval(interval: number, slowdown: number): number {
  return slowdown > 1 ? Math.max(interval, MINUTE_MS) * slowdown : interval;
}

/**
 * The new due time of a last read value, after its effective interval or the delay was changed at `now`. A time in the past
 * stays. For a shorter interval, the remaining wait shrinks in proportion, so that a fleet does not become due at once; for a
 * longer interval, the time becomes later. It is never before `now`.
 *
 * @param before the due time before the change, and the effective interval that gave it, in milliseconds
 * @param after the due time by the new interval, that interval, and `laterBy`, the milliseconds added to the delay
 */
export function movedDueAt(
  now: number,
  before: { readonly dueAt: number; readonly interval: number },
  after: { readonly dueAt: number; readonly interval: number; readonly laterBy: number },
): number {
  if (before.dueAt <= now) return before.dueAt;
  const moved =
    after.interval > before.interval
      ? Math.max(before.dueAt, after.dueAt)
      : now + ((before.dueAt - now) * after.interval) / before.interval;
  return Math.max(now, moved + after.laterBy);
}

/** One interval after an attempt, in windows like healthy tasks: by the clock, every second scrape would come slightly too early. */
export function nextRegularAttempt(attempt: Times, interval: number): number {
  const byClock = attempt.readAt + interval;
  return interval % MINUTE_MS === 0 ? Math.min(byClock, dueAt(attempt, interval)) : byClock;
}

/**
 * The time when a failed task is due again. The first wait is 5 seconds, and each further one is twice as long, up to the
 * interval of the task or 5 minutes, whichever is shorter. This longest wait is counted as in `nextRegularAttempt`.
 *
 * @param failures failed attempts in a row, at least 1
 */
export function retryAt(failures: number, attempt: Times, interval: number): number {
  const longest = Math.min(interval, LONGEST_RETRY);
  const wait = backoff(failures, FIRST_RETRY, longest);
  return wait < longest ? attempt.readAt + wait : nextRegularAttempt(attempt, longest);
}

/** The factor by which a slowed account keeps its calls below the possible rate, so that a due task finds a free place. */
const HEADROOM = 1.1;

/** The factor by which the need must fall before a slowed account gets faster again. */
const RELIEF = 1.3;

/**
 * The cost of a steady state, and the slowdown that makes it possible: `slowdown` is 1 when each group can be refreshed at its
 * interval, else the common factor for the intervals of all groups. Intervals are in milliseconds.
 *
 * @param calls the number of calls per refresh of each group; disabled groups are left out
 * @param capacity calls per minute by the budget, and by the concurrent calls at the measured duration (undefined before one
 * was measured); and the factor by which concurrent calls slow the account, from `concurrencySlowdown`
 */
export function planCalls(
  calls: ReadonlyMap<Group, number>,
  intervalOf: (group: Group) => number,
  capacity: {
    readonly perMinute: number;
    readonly concurrencySlowdown: number;
    readonly concurrencyCapacity: number | undefined;
  },
) {
  const rates = GROUPS.filter((group) => calls.has(group)).map((group) => {
    const callsPerRefresh = calls.get(group) ?? 0;
    const interval = intervalOf(group);
    // A group is refreshed at most once per window, and windows are a minute apart.
    const callsPerMinute = (callsPerRefresh * MINUTE_MS) / Math.max(interval, MINUTE_MS);
    return { group, callsPerRefresh, interval, callsPerMinute };
  });
  const callsPerMinute = rates.reduce((sum, rate) => sum + rate.callsPerMinute, 0);
  const slowdown = Math.max(1, callsPerMinute / capacity.perMinute, capacity.concurrencySlowdown);
  const groups = rates.map((rate) => ({ ...rate, effectiveInterval: effectiveInterval(rate.interval, slowdown) }));
  return {
    groups,
    callsPerMinute,
    budget: capacity.perMinute,
    concurrencyCapacity: capacity.concurrencyCapacity,
    slowdown,
  };
}

export type Plan = ReturnType<typeof planCalls>;

/**
 * The factor by which the limit of concurrent calls slows an account. It rises immediately with headroom, and falls only once
 * the need is clearly lower, so that measured durations do not make it oscillate.
 *
 * @param before the factor until now, at least 1
 * @param needed the needed calls per minute divided by the possible ones
 */
export function concurrencySlowdown(before: number, needed: number): number {
  if (needed <= before && needed >= before / RELIEF) return before;
  return needed <= 1 && before <= 1 ? 1 : Math.max(1, needed * HEADROOM);
}
