import type { TimeRange } from '../../api/upstreamReader.ts';
import type { CollectionConfig } from '../../config/config.ts';
import { MINUTE_MS } from '../../formulas/units.ts';

/**
 * Returns the window of a refresh at `now`. It ends on a whole minute because New Relic keeps one timeslice a minute.
 * The delay skips the newest timeslices, which are incomplete.
 *
 * @param now Unix milliseconds; `window` (its length) and `delay` are milliseconds, too
 */
export function windowAt(now: number, { window, delay }: Pick<CollectionConfig, 'window' | 'delay'>): TimeRange {
  const to = Math.floor((now - delay) / MINUTE_MS) * MINUTE_MS;
  return { from: (to - window) / 1000, to: to / 1000 };
}

/** Returns when a window becomes readable, in Unix milliseconds. The next window follows a minute later. */
export function readableAt(windowEnd: number, delay: number): number {
  return windowEnd * 1000 + delay;
}
