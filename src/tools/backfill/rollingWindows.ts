import type { MetricSeries, TimeRange, SeriesRead } from '../../api/upstreamReader.ts';
import type { DatabaseComponent } from '../../config/config.ts';
import { databaseKind, type DatabaseChoice } from '../../formulas/responseTimes.ts';
import type { WindowValues } from '../../formulas/metricInputs.ts';
import { endOf, type Timeslice } from '../../api/types.ts';

/** The data of one application or host over one chunk; also their form on disk. */
export interface ReadChunk extends MetricSeries, TimeRange {}

const ANY_LENGTH = 60;

/** Counts the calls of an application's database metrics, so that its database kind is decided over the whole range. */
export class DatabaseTally {
  /** Undefined: the metric was in the responses, but its calls could never be read. */
  readonly #calls = new Map<string, number | undefined>();

  add({ metrics }: WindowValues): void {
    for (const [name, { count: calls }] of metrics) {
      const before = this.#calls.get(name);
      this.#calls.set(name, calls === undefined ? before : (before ?? 0) + calls);
    }
  }

  choose(language: string | undefined, override: DatabaseComponent): DatabaseChoice | undefined {
    const metrics = [...this.#calls].map(([name, count]) => [name, { count }] as const);
    return databaseKind({ seconds: ANY_LENGTH, metrics: new Map(metrics) }, language, override);
  }
}

/**
 * Makes windows from the timeslices of an application or host. Windows of several whole granules end at every granule, and keep
 * their length where timeslices are missing, as in New Relic's summarized responses. Otherwise each timeslice is a window of its
 * own. No window mixes granules.
 */
export class RollingWindows {
  readonly #window: number;
  readonly #series: Pick<SeriesRead, 'summarize'>;
  #latest: number;
  #slices = new Map<string, Timeslice[]>();
  #granule = 0;
  #start = 0;
  #end: number | undefined;

  /**
   * @param window seconds
   * @param after windows that end at this time (Unix seconds) or before are left out
   * @param series `metricSeries` of the reader that gave the timeslices
   */
  constructor(window: number, after: number, series: Pick<SeriesRead, 'summarize'>) {
    this.#window = window;
    this.#latest = after;
    this.#series = series;
  }

  /** Takes the next chunk, and gives the windows that end in it, oldest first, with their end in Unix seconds. */
  *add(chunk: ReadChunk): Generator<{ readonly time: number; readonly values: WindowValues }, void, undefined> {
    if (chunk.from !== this.#end || chunk.granule !== this.#granule) this.#begin(chunk);
    this.#end = chunk.to;
    for (const [name, timeslices] of chunk.metrics) {
      const before = this.#slices.get(name);
      if (before === undefined) this.#slices.set(name, [...timeslices]);
      else before.push(...timeslices);
    }
    const length = this.#length();
    for (const time of length > this.#granule ? gridOf(chunk) : endsOf(chunk)) {
      if (time <= this.#latest || time - length < this.#start) continue;
      this.#latest = time;
      yield { time, values: this.#ending(time, length) };
    }
    for (const [name, timeslices] of this.#slices) {
      this.#slices.set(
        name,
        timeslices.filter(({ from }) => from >= chunk.to - length),
      );
    }
  }

  #begin({ from, granule }: ReadChunk): void {
    this.#slices = new Map();
    this.#granule = granule;
    this.#start = from;
  }

  #length(): number {
    const isMultiple = this.#window > this.#granule && this.#window % this.#granule === 0;
    return isMultiple ? this.#window : this.#granule;
  }

  #ending(time: number, length: number): WindowValues {
    const inside = new Map<string, readonly Timeslice[]>();
    for (const [name, timeslices] of this.#slices) {
      const ofMetric = timeslices.filter((each) => each.from >= time - length && endOf(each) <= time);
      if (ofMetric.length > 0) inside.set(name, ofMetric);
    }
    const { metrics } = this.#series.summarize(inside, { from: time - length, to: time }, this.#granule);
    return { seconds: length, metrics };
  }
}

function gridOf({ from, to, granule }: ReadChunk): number[] {
  return Array.from({ length: Math.floor((to - from) / granule) }, (_, index) => from + (index + 1) * granule);
}

function endsOf({ metrics }: ReadChunk): number[] {
  return [...new Set(metrics.flatMap(([, timeslices]) => timeslices.map(endOf)))].sort((a, b) => a - b);
}
