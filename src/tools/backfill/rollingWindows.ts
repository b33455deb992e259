import type { MetricSeries, TimeRange, SeriesRead } from '../../api/upstreamReader.ts';
import type { Columns, WindowValues } from '../../formulas/metricInputs.ts';
import { endOf, type Timeslice } from '../../api/types.ts';

/** The data of an application or host over one chunk, in memory and on disk. */
export interface ReadChunk extends MetricSeries, TimeRange {}

/** Adds the calls of each metric of a window to `calls`. A metric without a readable count stays undefined. */
export function addCalls(calls: Map<string, Pick<Columns, 'count'>>, { metrics }: WindowValues): void {
  for (const [name, { count }] of metrics) {
    const before = calls.get(name)?.count;
    calls.set(name, { count: count === undefined ? before : (before ?? 0) + count });
  }
}

/**
 * Builds windows from the timeslices of an application or host. A window of several whole granules ends at every
 * granule. It keeps its length if timeslices are missing, as New Relic's summaries do. Otherwise each timeslice is a
 * window. No window mixes granules.
 *
 * @param window seconds
 * @param after windows end after this time, in Unix seconds
 * @param series `metricSeries` of the reader
 * @returns a function that takes the next chunk, and yields the windows that end in it, oldest first
 */
export function createRollingWindows(window: number, after: number, series: Pick<SeriesRead, 'summarize'>) {
  const slices = new Map<string, readonly Timeslice[]>();
  let [latest, granule, start, end] = [after, 0, 0, NaN];
  return function* (chunk: ReadChunk): Generator<{ readonly time: number; readonly values: WindowValues }> {
    if (chunk.from !== end || chunk.granule !== granule) {
      slices.clear();
      start = chunk.from;
    }
    ({ granule, to: end } = chunk);
    for (const [name, timeslices] of chunk.metrics) slices.set(name, [...(slices.get(name) ?? []), ...timeslices]);
    const length = window > granule && window % granule === 0 ? window : granule;
    for (const time of length > granule ? listGridTimes(chunk) : listEndTimes(chunk)) {
      const from = time - length;
      if (time <= latest || from < start) continue;
      latest = time;
      const inside = new Map<string, readonly Timeslice[]>();
      for (const [name, timeslices] of slices) {
        const inWindow = timeslices.filter((each) => each.from >= from && endOf(each) <= time);
        if (inWindow.length > 0) inside.set(name, inWindow);
      }
      const { metrics } = series.summarize(inside, { from, to: time }, granule);
      yield { time, values: { seconds: length, metrics } };
    }
    const isNeeded = ({ from }: Timeslice): boolean => from >= chunk.to - length;
    for (const [name, timeslices] of slices) slices.set(name, timeslices.filter(isNeeded));
  };
}

function listGridTimes({ from, to, granule }: ReadChunk): number[] {
  return Array.from({ length: Math.floor((to - from) / granule) }, (_, index) => from + (index + 1) * granule);
}

function listEndTimes({ metrics }: ReadChunk): number[] {
  return [...new Set(metrics.flatMap(([, timeslices]) => timeslices.map(endOf)))].sort((a, b) => a - b);
}
