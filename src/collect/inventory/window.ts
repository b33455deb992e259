import type { TimeRange } from '../../api/upstreamReader.ts';
import { MINUTE_MS } from '../../formulas/units.ts';

/**
 * The window of a refresh at `now`: `to = floor(now - delay, 1 minute)`, `from = to - length`. It is cut to the minute because
 * New Relic keeps one timeslice a minute and the newest ones are incomplete.
 *
 * @param now Unix milliseconds; `window` (its length) and `delay` are milliseconds, too
 */
export function windowAt(
  now: number,
  { window, delay }: { readonly window: number; readonly delay: number },
): TimeRange {
  const to = Math.floor((now - delay) / MINUTE_MS) * MINUTE_MS;
  return { from: (to - window) / 1000, to: to / 1000 };
}

/** The time from which a window can be read, in Unix milliseconds; the next window follows a minute later. */
export function readableAt(windowEnd: number, delay: number): number {
  return windowEnd * 1000 + delay;
}
