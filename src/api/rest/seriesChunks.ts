import type { SeriesChunk, TimeRange } from '../reader.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Longest range that is answered by the minute, and how old its start may be (the vendor's page "Extract metric timeslice data"). */
const LONGEST_BY_MINUTE = 3 * HOUR;
const BY_MINUTE_UP_TO = 8 * DAY;
/** A long run gets older while it works. */
const MARGIN = HOUR;

/** Ranges longer than 4 days and up to 7 days are answered by the hour whatever their age; shorter old ones are not. */
const LEAST_BY_HOUR = 97 * HOUR;
const LONGEST_BY_HOUR = 7 * DAY;

/**
 * The calls that give each sample of the range its window, oldest first: by the minute where upstream keeps minutes, by
 * the hour before that (the vendor's page "Extract metric timeslice data"). Where the resolution changes, the minutes begin one window early, so that no
 * sample has half a window. Empty when nothing but hours is kept and no whole hour ends in the range.
 *
 * @param window seconds, whole minutes
 * @param now Unix seconds
 */
export function planChunks(range: TimeRange, window: number, now: number): SeriesChunk[] {
  const oldestMinute = Math.ceil((now - BY_MINUTE_UP_TO + MARGIN) / MINUTE) * MINUTE;
  if (range.from - window >= oldestMinute) return byMinute(range.from - window, range.to);
  const change = Math.ceil((oldestMinute + window) / HOUR) * HOUR;
  const hoursEnd = Math.min(change, Math.floor(range.to / HOUR) * HOUR);
  const lead = window % HOUR === 0 ? window : HOUR;
  const hours = byHour(Math.floor(range.from / HOUR) * HOUR + HOUR - lead, hoursEnd);
  return change < range.to ? [...hours, ...byMinute(change - window, range.to)] : hours;
}

function byMinute(from: number, to: number): SeriesChunk[] {
  return pieces(from, to, LONGEST_BY_MINUTE).map((piece) => ({ ...piece, readFrom: piece.from, granule: MINUTE }));
}

function byHour(from: number, to: number): SeriesChunk[] {
  return pieces(from, to, LONGEST_BY_HOUR).map((piece) => ({
    ...piece,
    readFrom: Math.min(piece.from, piece.to - LEAST_BY_HOUR),
    granule: HOUR,
  }));
}

function pieces(from: number, to: number, longest: number): TimeRange[] {
  const count = Math.max(0, Math.ceil((to - from) / longest));
  return Array.from({ length: count }, (_, index) => ({
    from: from + index * longest,
    to: Math.min(to, from + (index + 1) * longest),
  }));
}
