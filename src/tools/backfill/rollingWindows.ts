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
 */
export class RollingWindows {
  readonly #window: number;
  readonly #series: Pick<SeriesRead, 'summarize'>;
  #latest: number;
  #slices = new Map<string, Timeslice[]>();
  #granule = 0;
  #start = 0;
  #end: number | undefined;

  /** `window` is in seconds. Windows end after `after`, in Unix seconds. `series` is `metricSeries` of the reader. */
  constructor(window: number, after: number, series: Pick<SeriesRead, 'summarize'>) {
    this.#window = window;
    this.#latest = after;
    this.#series = series;
  }

  /** Adds the next chunk. Yields the windows that end in it, oldest first. `time` is the end in Unix seconds. */
  *add(chunk: ReadChunk): Generator<{ readonly time: number; readonly values: WindowValues }, void, undefined> {
    if (chunk.from !== this.#end || chunk.granule !== this.#granule) this.#restart(chunk);
    this.#end = chunk.to;
    for (const [name, timeslices] of chunk.metrics) {
      const before = this.#slices.get(name);
      if (before === undefined) this.#slices.set(name, [...timeslices]);
      else before.push(...timeslices);
    }
    const length = this.#windowLength();
    for (const time of length > this.#granule ? listGridTimes(chunk) : listEndTimes(chunk)) {
      if (time <= this.#latest || time - length < this.#start) continue;
      this.#latest = time;
      yield { time, values: this.#summarize(time, length) };
    }
    for (const [name, timeslices] of this.#slices) {
      this.#slices.set(
        name,
        timeslices.filter(({ from }) => from >= chunk.to - length),
      );
    }
  }

  #restart({ from, granule }: ReadChunk): void {
    this.#slices = new Map();
    this.#granule = granule;
    this.#start = from;
  }

  #windowLength(): number {
    const isMultiple = this.#window > this.#granule && this.#window % this.#granule === 0;
    return isMultiple ? this.#window : this.#granule;
  }

  #summarize(time: number, length: number): WindowValues {
    const inside = new Map<string, readonly Timeslice[]>();
    for (const [name, timeslices] of this.#slices) {
      const inWindow = timeslices.filter((each) => each.from >= time - length && endOf(each) <= time);
      if (inWindow.length > 0) inside.set(name, inWindow);
    }
    const { metrics } = this.#series.summarize(inside, { from: time - length, to: time }, this.#granule);
    return { seconds: length, metrics };
  }
}

function listGridTimes({ from, to, granule }: ReadChunk): number[] {
  return Array.from({ length: Math.floor((to - from) / granule) }, (_, index) => from + (index + 1) * granule);
}

function listEndTimes({ metrics }: ReadChunk): number[] {
  return [...new Set(metrics.flatMap(([, timeslices]) => timeslices.map(endOf)))].sort((a, b) => a - b);
}
