import type { TimeRange } from '../../api/reader.ts';

const MINUTE = 60_000;

/** Lengths of a window and of the wait before it is read, in milliseconds. */
export interface WindowShape {
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
