import { backoff } from '../../api/backoff.ts';
import type { ReadTimes } from '../inventory/task.ts';
import { GROUPS, type Group } from '../../reads/reads.ts';
import { MINUTE_MS } from '../../formulas/units.ts';

const FIRST_RETRY = 5_000;
const LONGEST_RETRY = 300_000;

type Times = Pick<ReadTimes, 'readableAt' | 'readAt'>;

/**
 * Returns when a task is due again after a read: when its interval has passed and a new window is readable. An
 * interval of whole minutes counts from the time when the last window became readable, so that a late read does not
 * delay the next read. Any other interval, and any slowed interval (`slowdown` above 1), counts from the last read.
 */
export function dueAt(lastRead: Times, interval: number, slowdown = 1): number {
  if (slowdown <= 1 && interval % MINUTE_MS === 0) return lastRead.readableAt + interval;
  return Math.max(lastRead.readableAt + MINUTE_MS, lastRead.readAt + effectiveInterval(interval, slowdown));
}

/**
 * Returns the interval that the budget and the concurrent calls allow, in milliseconds: the configured interval times
 * a `slowdown` above 1. Under a slowdown, a shorter interval counts as a minute, because each minute has one new
 * window.
 */
export function effectiveInterval(interval: number, slowdown: number): number {
  return slowdown > 1 ? Math.max(interval, MINUTE_MS) * slowdown : interval;
}

/**
 * Moves a due time after a change of the effective interval or the delay at `now`. Keeps a time in the past; never
 * returns a new time before `now`. A shorter interval shrinks the remaining wait in proportion, so that a fleet does
 * not become due at once. A longer interval makes the time later.
 *
 * @param before the due time and the effective interval before the change, in milliseconds
 * @param after the due time by the new interval, the new interval, and `laterBy`, the milliseconds added to the delay
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

/**
 * Returns the time one interval after an attempt. Counts whole minutes in windows, like `dueAt`; by the clock, every
 * second scrape would come slightly too early.
 */
export function nextRegularAttempt(attempt: Times, interval: number): number {
  const byClock = attempt.readAt + interval;
  return interval % MINUTE_MS === 0 ? Math.min(byClock, dueAt(attempt, interval)) : byClock;
}

/**
 * Returns when a failed task is due again. The first wait is 5 seconds. Each further wait doubles, up to the interval
 * of the task or 5 minutes, whichever is shorter. This longest wait counts as in `nextRegularAttempt`.
 *
 * @param failures failed attempts in a row, at least 1
 */
export function retryAt(failures: number, attempt: Times, interval: number): number {
  const longest = Math.min(interval, LONGEST_RETRY);
  const wait = backoff(failures, FIRST_RETRY, longest);
  return wait < longest ? attempt.readAt + wait : nextRegularAttempt(attempt, longest);
}

/**
 * The factor that keeps the calls of a slowed account below the possible rate, so that a due task finds a free place.
 */
const HEADROOM = 1.1;

/** The factor by which the needed rate must fall before a slowed account gets faster again. */
const RELIEF = 1.3;

/**
 * Plans a steady state: its calls per minute, and the slowdown that the capacity requires. `slowdown` is 1 if the
 * capacity allows all intervals; otherwise it is the factor for the intervals of all groups. Intervals are in
 * milliseconds.
 *
 * @param calls the number of calls per refresh of each group, without disabled groups
 * @param capacity `perMinute`: the calls per minute of the budget. `concurrencyCapacity`: the calls per minute that
 * the concurrent calls allow, undefined before a call was measured. `concurrencySlowdown`: the result of the function
 * `concurrencySlowdown`.
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
 * Returns the factor by which the limit of concurrent calls slows an account. The factor rises at once, with
 * headroom. It falls only after a clear drop of the needed rate, so that varying durations do not make it oscillate.
 *
 * @param before the current factor, at least 1
 * @param needed the needed calls per minute divided by the possible calls per minute
 */
export function concurrencySlowdown(before: number, needed: number): number {
  if (needed <= before && needed >= before / RELIEF) return before;
  return needed <= 1 && before <= 1 ? 1 : Math.max(1, needed * HEADROOM);
}
