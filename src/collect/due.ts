import { backoff } from '../api/backoff.ts';
import type { TimeRange } from '../api/upstreamReader.ts';
import type { ReadTimes } from './task.ts';
import { GROUPS, type Group } from '../metrics/sample.ts';

const MINUTE = 60_000;

/** How far a task's held value is from what is due. */
export type TaskState = 'fresh' | 'stale' | 'missing';

/** When an answer was asked for, which decides what is fresh, and when it is put together: the monotonic clock, ms. */
export interface EvaluationTime {
  readonly asOf: number;
  readonly now: number;
}

/**
 * The window a refresh at `now` reads: `to = floor(now - delay, 1 minute)`, `from = to - length`. It is cut to the minute
 * because upstream keeps one timeslice a minute and the newest ones are incomplete.
 *
 * @param now Unix milliseconds; the lengths of the window and of the wait before it is read are in milliseconds, too
 */
export function windowAt(
  now: number,
  { window, delay }: { readonly window: number; readonly delay: number },
): TimeRange {
  const to = Math.floor((now - delay) / MINUTE) * MINUTE;
  return { from: (to - window) / 1000, to: to / 1000 };
}

/** From when on a window can be read, in Unix milliseconds; the next one follows a minute later. */
export function readableAt(windowEnd: number, delay: number): number {
  return windowEnd * 1000 + delay;
}

const FIRST_RETRY = 5_000;
const LONGEST_RETRY = 300_000;

/** When an attempt was made: milliseconds of the monotonic clock. */
type Times = Pick<ReadTimes, 'readableAt' | 'readAt'>;

/** How often something is read: its configured interval, and the factor by which it is slowed (1 = not). */
interface Pace {
  readonly interval: number;
  readonly slowdown: number;
}

/**
 * When a held value is due again: once the window has moved on and the interval has passed. An interval of whole minutes
 * is counted in windows; any other, and one that is slowed, by the clock.
 */
export function dueAt(lastRead: Times, { interval, slowdown }: Pace): number {
  if (slowdown <= 1 && interval % MINUTE === 0) return lastRead.readableAt + interval;
  return Math.max(lastRead.readableAt + MINUTE, lastRead.readAt + effectiveInterval(interval, slowdown));
}

/**
 * The interval that budget and concurrent calls allow, in milliseconds: the configured one, or, slowed by `slowdown`, that
 * many times the interval at which the group would be read (nothing is read more than once per window, and windows are a
 * minute apart).
 */
export function effectiveInterval(interval: number, slowdown: number): number {
  return slowdown > 1 ? Math.max(interval, MINUTE) * slowdown : interval;
}

/**
 * When a held value is due after a change at `now` of its effective interval, or of the delay. A time that has passed stays.
 * One that lies ahead keeps its share of the interval where that gets shorter, so that a fleet does not become due at once;
 * it moves back where the interval gets longer; and it never comes to lie before `now`.
 *
 * @param before the due time until now and the effective interval that it counts with, in milliseconds
 * @param after the due time that the new interval gives, that interval, and by how much windows can be read later
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
 * `fresh` when it was not due at `asOf`, the start of the scrape; else `stale` until `maxAge` past the time it was due,
 * which `now`, the time of the answer, decides; then `missing`.
 *
 * @param due undefined when nothing is held
 */
export function stateOf(due: number | undefined, maxAge: number, { asOf, now }: EvaluationTime): TaskState {
  if (due === undefined) return 'missing';
  if (asOf < due) return 'fresh';
  return now <= due + maxAge ? 'stale' : 'missing';
}

/**
 * How long a failed task is left alone, in milliseconds: 5 seconds (or its interval, where that is shorter), doubling
 * up to its interval or 5 minutes, whichever is shorter.
 *
 * @param failures failed attempts in a row, at least 1
 */
export function retryDelay(failures: number, interval: number): number {
  return backoff(failures, FIRST_RETRY, Math.min(interval, LONGEST_RETRY));
}

/**
 * When something is tried again a whole interval after the attempt that ended at `attempt.readAt`. Counted as healthy
 * work is: by the clock, a scrape every minute would find a minute not quite over and skip every other turn.
 */
export function nextRegularAttempt(attempt: Times, interval: number): number {
  const byClock = attempt.readAt + interval;
  return interval % MINUTE === 0 ? Math.min(byClock, dueAt(attempt, { interval, slowdown: 1 })) : byClock;
}

/** When a task that has just failed is due again; see `retryDelay` and `nextRegularAttempt`. */
export function retryAt(failures: number, attempt: Times, interval: number): number {
  const longest = Math.min(interval, LONGEST_RETRY);
  const wait = retryDelay(failures, interval);
  return wait < longest ? attempt.readAt + wait : nextRegularAttempt(attempt, longest);
}

/** How much room is left when the calls at once slow an account, so that its tasks are read before they are due. */
const HEADROOM = 1.1;

/** By how much less has to be needed before an account that was slowed gets faster again. */
const RELIEF = 1.3;

/**
 * What a steady state costs, and how far it must be slowed to be carried: `slowdown` is 1 when every group can be refreshed at
 * its interval, else the factor by which all of them slow. Intervals are in milliseconds.
 *
 * @param calls how many one refresh of each group takes; groups that are off are left out
 * @param capacity calls per minute by the budget, and by the calls at once at the measured duration (undefined before one was
 *   measured); and the factor by which calls at once slow the account, from `concurrencySlowdown`
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
    // No group is refreshed more than once per window, and windows are a minute apart.
    const callsPerMinute = (callsPerRefresh * MINUTE) / Math.max(interval, MINUTE);
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
 * The factor by which the number of concurrent calls slows an account. It follows a need that grows at once and with some room, and one that
 * shrinks only when it has become clearly less, so that measured durations do not make it go up and down.
 *
 * @param before the factor until now, at least 1
 * @param needed calls per minute divided by those that can be carried
 */
export function concurrencySlowdown(before: number, needed: number): number {
  if (needed <= before && needed >= before / RELIEF) return before;
  return needed <= 1 && before <= 1 ? 1 : Math.max(1, needed * HEADROOM);
}
