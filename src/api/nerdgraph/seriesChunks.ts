import type { SeriesChunk, TimeRange } from '../reader.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The most buckets that the service gives for one query. */
export const MOST_BUCKETS = 366;
/** Whole hours, and whole days, within that. */
const LONGEST_BY_MINUTE = 360 * MINUTE;
const LONGEST_BY_HOUR = 360 * HOUR;
/** How long the service keeps minutes; hours after that. */
const BY_MINUTE_UP_TO = 8 * DAY;
/** A long run gets older while it works. */
const MARGIN = HOUR;

/**
 * The queries that give each sample of the range its window, oldest first: by the minute where the service keeps minutes, by
 * the hour before that. Where the resolution changes, the minutes begin one window early, so that no sample has half a
 * window. Empty when nothing but hours is kept and no whole hour ends in the range.
 *
 * @param window seconds, whole minutes
 * @param now Unix seconds
 */
export function planChunks(range: TimeRange, window: number, now: number): SeriesChunk[] {
  const oldestMinute = Math.ceil((now - BY_MINUTE_UP_TO + MARGIN) / MINUTE) * MINUTE;
  if (range.from - window >= oldestMinute) return pieces(range.from - window, range.to, LONGEST_BY_MINUTE, MINUTE);
  const change = Math.ceil((oldestMinute + window) / HOUR) * HOUR;
  const hoursEnd = Math.min(change, Math.floor(range.to / HOUR) * HOUR);
  const lead = window % HOUR === 0 ? window : HOUR;
  const hours = pieces(Math.floor(range.from / HOUR) * HOUR + HOUR - lead, hoursEnd, LONGEST_BY_HOUR, HOUR);
  if (change >= range.to) return hours;
  return [...hours, ...pieces(change - window, range.to, LONGEST_BY_MINUTE, MINUTE)];
}

function pieces(from: number, to: number, longest: number, granule: number): SeriesChunk[] {
  const count = Math.max(0, Math.ceil((to - from) / longest));
  return Array.from({ length: count }, (_, index) => {
    const start = from + index * longest;
    return { from: start, to: Math.min(to, start + longest), readFrom: start, granule };
  });
}
