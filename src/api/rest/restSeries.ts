import type { SeriesChunk, SeriesLimits, TimeRange, MetricDataResult, MetricSeries } from '../upstreamReader.ts';
import { secondsOf, type Timeslice } from '../types.ts';
import { isKnown } from './restColumns.ts';
import { finiteOrUndefined, mergeColumns, type Columns } from '../../formulas/metricInputs.ts';
import { DAY_S, HOUR_S } from '../../formulas/units.ts';

/**
 * New Relic returns ranges of up to 3 hours by the minute. It returns ranges longer than 4 days, and up to 7 days,
 * by the hour ("Extract metric timeslice data").
 */
export const LIMITS: SeriesLimits = {
  longestByMinute: 3 * HOUR_S,
  longestByHour: 7 * DAY_S,
  shortestByHour: 97 * HOUR_S,
  stepOf: () => 60,
};

/**
 * Merges timeslices into the columns of a summarized response. Weights `callTime` by the number of calls. Weights
 * memory, and `mean`, which has no number of calls, by time. Each average ignores timeslices without its value.
 */
export function mergeTimeslices(timeslices: readonly Timeslice[]): Columns {
  const columns = mergeColumns(timeslices.map((slice) => slice.columns));
  const mean = (
    figure: 'callTime' | 'mean' | 'memory' | 'processMemory',
    weight: (slice: Timeslice) => number = secondsOf,
  ): number | undefined => {
    const withFigure = timeslices.filter((slice) => slice.columns[figure] !== undefined);
    const weights = addUp(withFigure, weight);
    return finiteOrUndefined(addUp(withFigure, (slice) => (slice.columns[figure] ?? 0) * weight(slice)) / weights);
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

/** Metrics whose zeros mean "not reported". New Relic fills series with zeros, but not summarized responses. */
const NEVER_ZERO: ReadonlySet<string> = new Set(['Errors/all', 'Apdex', 'EndUser/Apdex', 'Memory/Physical']);

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

/** Calculates, from timeslices, what a summarized call for the same range would return. */
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
  // A silent application has zeros in a series, but no metrics in a summarized response.
  return { window: range, metrics: isReporting ? metrics : new Map() };
}

function mergeWindow(timeslices: readonly Timeslice[], length: number, granule: number): Columns {
  // An unknown timeslice makes the whole window unknown: a partial sum would be wrong.
  if (!timeslices.every(isKnown)) return {};
  const [first] = timeslices;
  return length === granule && first !== undefined ? first.columns : mergeTimeslices(timeslices);
}

/** Splits a long unknown timeslice into a timeslice for each granule of the chunk. */
function splitUnknown(timeslice: Timeslice, { from: begin, to: end, granule }: SeriesChunk): Timeslice[] {
  const length = secondsOf(timeslice);
  if (isKnown(timeslice) || length <= granule) return [timeslice];
  const countGranules = (seconds: number): number => Math.max(0, Math.ceil(seconds / granule));
  const first = timeslice.from + countGranules(begin - timeslice.from) * granule;
  // Count only granules inside the chunk, because the response may name any time.
  const count = countGranules(Math.min(end, timeslice.from + length) - first);
  return Array.from({ length: count }, (_, index) => {
    const from = first + index * granule;
    return { from, to: from + granule, columns: {} };
  });
}

function isAnyNonZero({ columns }: Timeslice): boolean {
  return Object.values(columns).some((value) => typeof value === 'number' && Math.abs(value) > 0);
}
