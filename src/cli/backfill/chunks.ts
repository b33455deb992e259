import type { Range } from './moment.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Longest range that is answered by the minute, and how old its start may be (api-facts 4.4). */
const LONGEST_BY_MINUTE = 3 * HOUR;
const BY_MINUTE_UP_TO = 8 * DAY;
/** A long run gets older while it works. */
const MARGIN = HOUR;

/** Ranges longer than 4 days and up to 7 days are answered by the hour whatever their age; shorter old ones are not. */
const LEAST_BY_HOUR = 97 * HOUR;
const LONGEST_BY_HOUR = 7 * DAY;

/** One metric data call's worth of time; all in Unix seconds. */
export interface Chunk {
  /** Timeslices from here to `to` are kept. */
  readonly from: number;
  readonly to: number;
  /** What is asked for begins here: earlier than `from` where only a longer range has the granule. */
  readonly readFrom: number;
  /** Seconds per timeslice that upstream is expected to answer. */
  readonly granule: number;
}

/**
 * The calls that give each sample of the range its window, oldest first: by the minute where upstream keeps minutes, by
 * the hour before that (api-facts 4.4). Where the resolution changes, the minutes begin one window early, so that no
 * sample has half a window. Empty when nothing but hours is kept and no whole hour ends in the range.
 *
 * @param window seconds, whole minutes
 * @param now Unix seconds
 */
export function planChunks(range: Range, window: number, now: number): Chunk[] {
  const oldestMinute = Math.ceil((now - BY_MINUTE_UP_TO + MARGIN) / MINUTE) * MINUTE;
  if (range.from - window >= oldestMinute) return byMinute(range.from - window, range.to);
  const change = Math.ceil((oldestMinute + window) / HOUR) * HOUR;
  const hoursEnd = Math.min(change, Math.floor(range.to / HOUR) * HOUR);
  const lead = window % HOUR === 0 ? window : HOUR;
  const hours = byHour(Math.floor(range.from / HOUR) * HOUR + HOUR - lead, hoursEnd);
  return change < range.to ? [...hours, ...byMinute(change - window, range.to)] : hours;
}

function byMinute(from: number, to: number): Chunk[] {
  return pieces(from, to, LONGEST_BY_MINUTE).map((piece) => ({ ...piece, readFrom: piece.from, granule: MINUTE }));
}

function byHour(from: number, to: number): Chunk[] {
  return pieces(from, to, LONGEST_BY_HOUR).map((piece) => ({
    ...piece,
    readFrom: Math.min(piece.from, piece.to - LEAST_BY_HOUR),
    granule: HOUR,
  }));
}

function pieces(from: number, to: number, longest: number): Range[] {
  const count = Math.max(0, Math.ceil((to - from) / longest));
  return Array.from({ length: count }, (_, index) => ({
    from: from + index * longest,
    to: Math.min(to, from + (index + 1) * longest),
  }));
}
