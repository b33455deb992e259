import type { EntityState } from './view.ts';

const MINUTE = 60_000;
const FIRST_RETRY = 5_000;

/** When a value was read, and for which window. */
export interface HeldTimes {
  /** End of the window, Unix seconds. */
  readonly windowEnd: number;
  /** Unix milliseconds. */
  readonly fetchedAt: number;
}

/** How often a group is refreshed: its configured interval, and the factor by which the budget slows it (1 = not). */
export interface Pace {
  readonly interval: number;
  readonly stretch: number;
  /** `collection.delay`: a window is there this long after its end. */
  readonly delay: number;
}

/** From when on a window can be read, in Unix milliseconds; the next one follows a minute later. */
export function windowStart(windowEnd: number, delay: number): number {
  return windowEnd * 1000 + delay;
}

/**
 * When a held value is due again, in Unix milliseconds (contract 4, points 2 to 4): once the window has moved on and the
 * interval has passed. An interval of whole minutes is counted in windows; any other, and one that the budget
 * stretches, by the clock.
 */
export function dueAt(held: HeldTimes, pace: Pace): number {
  const start = windowStart(held.windowEnd, pace.delay);
  if (pace.stretch <= 1 && pace.interval % MINUTE === 0) return start + pace.interval;
  return Math.max(start + MINUTE, held.fetchedAt + effectiveInterval(pace.interval, pace.stretch));
}

/**
 * The interval the budget allows, in milliseconds: the configured one, or, slowed by `stretch`, that many times the
 * interval at which the group would be read (nothing is read more than once per window, and windows are a minute apart).
 */
export function effectiveInterval(interval: number, stretch: number): number {
  return stretch > 1 ? Math.max(interval, MINUTE) * stretch : interval;
}

/**
 * `fresh` when it was not due at `asOf`, the start of the scrape; else `stale` until `maxAge` past the time it was due,
 * which `now`, the time of the answer, decides; then `missing` (contract 4, point 4; contract 5.5).
 */
export function stateOf(
  held: HeldTimes | undefined,
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
 * up to its interval (contract 4, point 3).
 *
 * @param failures failed attempts in a row, at least 1
 */
export function retryDelay(failures: number, interval: number): number {
  return Math.min(interval, FIRST_RETRY * 2 ** Math.min(failures - 1, 30));
}

/**
 * When something is tried again a whole interval after the attempt at `attempt.fetchedAt`, in Unix milliseconds. Counted
 * as healthy work is: by the clock, a scrape every minute would find a minute not quite over and skip every other turn.
 */
export function nextTurn(attempt: HeldTimes, interval: number, delay: number): number {
  const byClock = attempt.fetchedAt + interval;
  return interval % MINUTE === 0 ? Math.min(byClock, dueAt(attempt, { interval, stretch: 1, delay })) : byClock;
}

/** When a unit that has just failed is due again, in Unix milliseconds; see `retryDelay` and `nextTurn`. */
export function retryAt(failures: number, attempt: HeldTimes, interval: number, delay: number): number {
  const wait = retryDelay(failures, interval);
  return wait < interval ? attempt.fetchedAt + wait : nextTurn(attempt, interval, delay);
}
