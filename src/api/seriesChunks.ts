import type { SeriesChunk, TimeRange } from './upstreamReader.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long upstream keeps minutes; hours after that (the vendor's page "Extract metric timeslice data"). */
const BY_MINUTE_UP_TO = 8 * DAY;
/** A long run gets older while it works. */
const MARGIN = HOUR;

/** What one call of an interface may ask for, in seconds. */
export interface SeriesLimits {
  /** The longest range that is answered by the minute, and by the hour. */
  readonly longestByMinute: number;
  readonly longestByHour: number;
  /** A shorter range is not answered by the hour. */
  readonly leastByHour: number;
  /** What both ends of a range so long have to be a multiple of. */
  readonly stepOf: (seconds: number) => number;
}

/**
 * The calls that give each sample of the range its window, oldest first: by the minute where upstream keeps minutes, by the
 * hour before that. Where the resolution changes, the minutes begin one window early, so that no sample has half a window.
 * Empty when nothing but hours is kept and no whole hour ends in the range.
 *
 * @param window seconds, whole minutes
 * @param now Unix seconds
 */
export function planChunks(range: TimeRange, window: number, now: number, limits: SeriesLimits): SeriesChunk[] {
  const oldestMinute = Math.ceil((now - BY_MINUTE_UP_TO + MARGIN) / MINUTE) * MINUTE;
  if (range.from - window >= oldestMinute) return byMinute(range.from - window, range.to, limits);
  const change = Math.ceil((oldestMinute + window) / HOUR) * HOUR;
  const hoursEnd = Math.min(change, Math.floor(range.to / HOUR) * HOUR);
  const lead = window % HOUR === 0 ? window : HOUR;
  const hours = byHour(Math.floor(range.from / HOUR) * HOUR + HOUR - lead, hoursEnd, limits);
  return change < range.to ? [...hours, ...byMinute(change - window, range.to, limits)] : hours;
}

/** Long chunks lie on the steps that upstream keeps; what is left at the end is short enough to be answered as it is. */
function byMinute(from: number, to: number, { longestByMinute, stepOf }: SeriesLimits): SeriesChunk[] {
  const chunks: SeriesChunk[] = [];
  for (let start = from; start < to; start = chunks.at(-1)?.to ?? to) {
    const end = Math.min(to, start + longestByMinute);
    const step = stepOf(end - start);
    const last = end - start > step ? Math.floor(end / step) * step : end;
    chunks.push({ from: start, to: last, readFrom: Math.floor(start / step) * step, granule: MINUTE });
  }
  return chunks;
}

function byHour(from: number, to: number, { longestByHour, leastByHour }: SeriesLimits): SeriesChunk[] {
  const count = Math.max(0, Math.ceil((to - from) / longestByHour));
  return Array.from({ length: count }, (_, index) => {
    const start = from + index * longestByHour;
    const end = Math.min(to, start + longestByHour);
    return { from: start, to: end, readFrom: Math.min(start, end - leastByHour), granule: HOUR };
  });
}
