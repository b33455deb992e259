/**
 * One minute (or a merge of minutes) of one metric, as agents report it. Times are seconds.
 *
 * For an Apdex metric the six numbers mean {s, t, f, threshold_min, threshold, -}; for `EndUser` the exclusive total is
 * the front-end time and `sumOfSquares` the time spent in the application.
 */
export interface Timeslice {
  readonly count: number;
  readonly total: number;
  readonly totalExclusive: number;
  readonly min: number;
  readonly max: number;
  readonly sumOfSquares: number;
}

/** What a metric reports for a minute in which it exists and nothing happened. */
export const EMPTY: Timeslice = { count: 0, total: 0, totalExclusive: 0, min: 0, max: 0, sumOfSquares: 0 };

/**
 * The timeslice of `count` durations around `mean` seconds.
 * `spread` is the standard deviation as a share of the mean; one call alone has none.
 */
export function timing(count: number, mean: number, spread: number, exclusiveShare: number): Timeslice {
  if (count === 0) return EMPTY;
  const deviation = count === 1 ? 0 : spread;
  const total = count * mean;
  return {
    count,
    total,
    totalExclusive: total * exclusiveShare,
    min: mean * (1 - Math.min(0.9, deviation)),
    max: mean * (1 + 3 * deviation),
    sumOfSquares: count * mean * mean * (1 + deviation * deviation),
  };
}

/** The timeslice of an Apdex metric. `target` is T in seconds. */
export function apdex(satisfied: number, tolerating: number, frustrated: number, target: number): Timeslice {
  return {
    count: satisfied,
    total: tolerating,
    totalExclusive: frustrated,
    min: target,
    max: target,
    sumOfSquares: 0,
  };
}

/** Adds timeslices of one metric: over minutes, over the instances of a host, over the hosts of an application. */
export class TimesliceSum implements Timeslice {
  count = 0;
  total = 0;
  totalExclusive = 0;
  min = 0;
  max = 0;
  sumOfSquares = 0;
  /** False until a record was added: then the metric has no data here, which differs from zeros. */
  reported = false;
  #hasBounds = false;

  add(slice: Timeslice): void {
    this.reported = true;
    this.count += slice.count;
    this.total += slice.total;
    this.totalExclusive += slice.totalExclusive;
    this.sumOfSquares += slice.sumOfSquares;
    // A record without calls has no fastest one: its zero must not become the minimum.
    if (slice.count === 0 && slice.max === 0) return;
    this.min = this.#hasBounds ? Math.min(this.min, slice.min) : slice.min;
    this.max = this.#hasBounds ? Math.max(this.max, slice.max) : slice.max;
    this.#hasBounds = true;
  }
}
