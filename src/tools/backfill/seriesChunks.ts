import type { SeriesChunk, SeriesLimits, TimeRange } from '../../api/upstreamReader.ts';
import { DAY_S, HOUR_S, MINUTE_S } from '../../formulas/units.ts';

/**
 * Age up to which New Relic keeps minutes; older data are kept by the hour (New Relic's page "Extract metric timeslice data").
 */
const BY_MINUTE_UP_TO = 8 * DAY_S;
/** Margin for a long backfill: the oldest minutes at its start may be gone before they are read. */
const MARGIN = HOUR_S;

/**
 * Plans the calls that a range of samples needs, oldest first. Each sample is calculated from the window that ends at its
 * time, so they begin before the range. They read minutes as far back as New Relic keeps them, and hours before that; the
 * minutes begin one window early, because no sample may mix the two.
 *
 * @param window seconds, whole minutes
 * @param now Unix seconds
 */
export function planChunks(range: TimeRange, window: number, now: number, limits: SeriesLimits): SeriesChunk[] {
  const oldestMinute = Math.ceil((now - BY_MINUTE_UP_TO + MARGIN) / MINUTE_S) * MINUTE_S;
  if (range.from - window >= oldestMinute) return byMinute(range.from - window, range.to, limits);
  const change = Math.ceil((oldestMinute + window) / HOUR_S) * HOUR_S;
  const hoursEnd = Math.min(change, Math.floor(range.to / HOUR_S) * HOUR_S);
  const lead = window % HOUR_S === 0 ? window : HOUR_S;
  const hours = byHour(Math.floor(range.from / HOUR_S) * HOUR_S + HOUR_S - lead, hoursEnd, limits);
  return change < range.to ? [...hours, ...byMinute(change - window, range.to, limits)] : hours;
}

/** Long chunks are aligned to New Relic's steps; the rest at the end is short enough to need no alignment. */
function byMinute(from: number, to: number, { longestByMinute, stepOf }: SeriesLimits): SeriesChunk[] {
  const chunks: SeriesChunk[] = [];
  for (let start = from; start < to; start = chunks.at(-1)?.to ?? to) {
    const end = Math.min(to, start + longestByMinute);
    const step = stepOf(end - start);
    const last = end - start > step ? Math.floor(end / step) * step : end;
    chunks.push({ from: start, to: last, readFrom: Math.floor(start / step) * step, granule: MINUTE_S });
  }
  return chunks;
}

function byHour(from: number, to: number, { longestByHour, shortestByHour }: SeriesLimits): SeriesChunk[] {
  const count = Math.max(0, Math.ceil((to - from) / longestByHour));
  return Array.from({ length: count }, (_, index) => {
    const start = from + index * longestByHour;
    const end = Math.min(to, start + longestByHour);
    return { from: start, to: end, readFrom: Math.min(start, end - shortestByHour), granule: HOUR_S };
  });
}
