import type { TimeRange } from '../api/reader.ts';
import type { HeldTimes } from './entity.ts';
import type { EntityState } from './view.ts';

const MINUTE = 60_000;

/** Lengths of a window and of the wait before it is read, in milliseconds. */
interface WindowShape {
  readonly window: number;
  readonly delay: number;
}

/**
 * The window a refresh at `now` reads: `to = floor(now - delay, 1 minute)`, `from = to - length`. It is cut to the minute
 * because upstream keeps one timeslice a minute and the newest ones are incomplete.
 *
 * @param now Unix milliseconds
 */
export function windowAt(now: number, { window, delay }: WindowShape): TimeRange {
  const to = Math.floor((now - delay) / MINUTE) * MINUTE;
  return { from: (to - window) / 1000, to: to / 1000 };
}

/** From when on a window can be read, in Unix milliseconds; the next one follows a minute later. */
export function windowStart(windowEnd: number, delay: number): number {
  return windowEnd * 1000 + delay;
}

const FIRST_RETRY = 5_000;
const LONGEST_RETRY = 300_000;

/** All times here are milliseconds of the monotonic clock. */
type Times = Pick<HeldTimes, 'windowStart' | 'readAt'>;

/** How often a group is refreshed: its configured interval, and the factor by which it is slowed (1 = not). */
export interface Pace {
  readonly interval: number;
  readonly stretch: number;
}

/**
 * When a held value is due again: once the window has moved on and the interval has passed. An interval of whole minutes
 * is counted in windows; any other, and one that is stretched, by the clock.
 */
export function dueAt(held: Times, { interval, stretch }: Pace): number {
  if (stretch <= 1 && interval % MINUTE === 0) return held.windowStart + interval;
  return Math.max(held.windowStart + MINUTE, held.readAt + effectiveInterval(interval, stretch));
}

/**
 * The interval that budget and calls at once allow, in milliseconds: the configured one, or, slowed by `stretch`, that
 * many times the interval at which the group would be read (nothing is read more than once per window, and windows are a
 * minute apart).
 */
export function effectiveInterval(interval: number, stretch: number): number {
  return stretch > 1 ? Math.max(interval, MINUTE) * stretch : interval;
}

/**
 * `fresh` when it was not due at `asOf`, the start of the scrape; else `stale` until `maxAge` past the time it was due,
 * which `now`, the time of the answer, decides; then `missing`.
 */
export function stateOf(
  held: Times | undefined,
  pace: Pace,
  maxAge: number,
  { asOf, now }: { readonly asOf: number; readonly now: number },
): EntityState {
  if (held === undefined) return 'missing';
  const due = dueAt(held, pace);
  if (asOf < due) return 'fresh';
  return now <= due + maxAge ? 'stale' : 'missing';
}

/**
 * How long a failed entity is left alone, in milliseconds: 5 seconds (or its interval, where that is shorter), doubling
 * up to its interval or 5 minutes, whichever is shorter.
 *
 * @param failures failed attempts in a row, at least 1
 */
export function retryDelay(failures: number, interval: number): number {
  return Math.min(interval, LONGEST_RETRY, FIRST_RETRY * 2 ** Math.min(failures - 1, 30));
}

/**
 * When something is tried again a whole interval after the attempt that ended at `attempt.readAt`. Counted as healthy
 * work is: by the clock, a scrape every minute would find a minute not quite over and skip every other turn.
 */
export function nextTurn(attempt: Times, interval: number): number {
  const byClock = attempt.readAt + interval;
  return interval % MINUTE === 0 ? Math.min(byClock, dueAt(attempt, { interval, stretch: 1 })) : byClock;
}

/** When an entity that has just failed is due again; see `retryDelay` and `nextTurn`. */
export function retryAt(failures: number, attempt: Times, interval: number): number {
  const longest = Math.min(interval, LONGEST_RETRY);
  const wait = retryDelay(failures, interval);
  return wait < longest ? attempt.readAt + wait : nextTurn(attempt, longest);
}
