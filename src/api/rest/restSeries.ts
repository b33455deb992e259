import type { SeriesChunk, SeriesLimits, TimeRange, MetricDataResult, MetricSeries } from '../upstreamReader.ts';
import { secondsOf, type Timeslice } from '../types.ts';
import { isKnown } from './restColumns.ts';
import { known, mergeColumns, type Columns } from '../../formulas/metricInputs.ts';
import { DAY_S, HOUR_S } from '../../formulas/units.ts';

/**
 * Ranges of up to 3 hours are returned by the minute, those of more than 4 and up to 7 days by the hour, even recent ones, and
 * shorter ones never (New Relic's "Extract metric timeslice data").
 */
export const LIMITS: SeriesLimits = {
  longestByMinute: 3 * HOUR_S,
  longestByHour: 7 * DAY_S,
  shortestByHour: 97 * HOUR_S,
  stepOf: () => 60,
};

/**
 * The columns that a summarized response would have. A stated call time is weighted by calls; memory and a mean without a
 * count by time, over the timeslices that have them.
 */
export function mergeTimeslices(timeslices: readonly Timeslice[]): Columns {
  const columns = mergeColumns(timeslices.map((slice) => slice.columns));
  const mean = (
    figure: 'callTime' | 'mean' | 'memory' | 'processMemory',
    weight: (slice: Timeslice) => number = secondsOf,
  ): number | undefined => {
    const having = timeslices.filter((slice) => slice.columns[figure] !== undefined);
    const weights = addUp(having, weight);
    return known(addUp(having, (slice) => (slice.columns[figure] ?? 0) * weight(slice)) / weights);
  };
  return {
    ...columns,
    callTime: mean('callTime', (slice) => slice.columns.count ?? 0),
    mean: mean('mean'),
    memory: mean('memory'),
    processMemory: mean('processMemory'),
  };
}

function addUp(slices: readonly Timeslice[], amountOf: (slice: Timeslice) => number): number {
  return slices.reduce((accumulated, slice) => accumulated + amountOf(slice), 0);
}

/** Metrics whose zeros mean "not reported": New Relic fills a series with zeros, which a summarized response does not have. */
const NEVER_ZERO: ReadonlySet<string> = new Set(['Errors/all', 'Apdex', 'EndUser/Apdex', 'Memory/Physical']);

/** The part of a response that a series keeps: the timeslices of the chunk. */
export function toSeries(
  data: ReadonlyMap<string, readonly Timeslice[]>,
  names: readonly string[],
  chunk: SeriesChunk,
): MetricSeries {
  const metrics = names.flatMap((name) => {
    const timeslices = (data.get(name) ?? []).flatMap((timeslice) => splitUnknown(timeslice, chunk));
    const inChunk = timeslices.filter(({ from }) => from >= chunk.from && from < chunk.to);
    const reported = inChunk.filter((slice) => !NEVER_ZERO.has(name) || !isKnown(slice) || isAnyNonZero(slice));
    return reported.length === 0 ? [] : [[name, reported] as const];
  });
  const lengths = metrics.flatMap(([, timeslices]) => timeslices.filter(isKnown).map(secondsOf));
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  return { granule: longest === 0 ? chunk.granule : longest, metrics };
}

/** The result that a summarized call for the window would have, calculated from its timeslices. */
export function summarizeSeries(
  timeslices: ReadonlyMap<string, readonly Timeslice[]>,
  range: TimeRange,
  granule: number,
): MetricDataResult {
  const metrics = new Map<string, Columns>();
  let isReporting = false;
  for (const [name, inside] of timeslices) {
    if (inside.length === 0) continue;
    isReporting ||= inside.some(isAnyNonZero);
    metrics.set(name, mergeWindow(inside, secondsOf(range), granule));
  }
  // New Relic fills a series with zeros, but an application that reported nothing is missing in a summarized response.
  return { window: range, metrics: isReporting ? metrics : new Map() };
}

function mergeWindow(timeslices: readonly Timeslice[], length: number, granule: number): Columns {
  // A timeslice with unknown columns makes the whole window unknown, because a partial sum would be wrong.
  if (!timeslices.every(isKnown)) return {};
  const [first] = timeslices;
  return length === granule && first !== undefined ? first.columns : mergeTimeslices(timeslices);
}

/** Divides a long timeslice without columns, which means "unknown", into one for each granule of the chunk. */
function splitUnknown(timeslice: Timeslice, { from: begin, to: end, granule }: SeriesChunk): Timeslice[] {
  const length = secondsOf(timeslice);
  if (isKnown(timeslice) || length <= granule) return [timeslice];
  const granules = (seconds: number): number => Math.max(0, Math.ceil(seconds / granule));
  const first = timeslice.from + granules(begin - timeslice.from) * granule;
  // The response may name any time, so the chunk bounds the number of granules.
  const count = granules(Math.min(end, timeslice.from + length) - first);
  return Array.from({ length: count }, (_, index) => {
    const from = first + index * granule;
    return { from, to: from + granule, columns: {} };
  });
}

function isAnyNonZero({ columns }: Timeslice): boolean {
  return Object.values(columns).some((value) => typeof value === 'number' && Math.abs(value) > 0);
}
