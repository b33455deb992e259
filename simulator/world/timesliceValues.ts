/** Calculates a value of a timeslice that covers this number of minutes. */
type ValueFunction = (slice: StoredTimeslice, minutes: number) => number;

export const ratio = (numerator: number, denominator: number): number =>
  denominator === 0 ? 0 : numerator / denominator;
const milliseconds = (seconds: number): number => seconds * 1000;

const count: ValueFunction = (slice) => slice.count;
const perMinute: ValueFunction = (slice, minutes) => ratio(slice.count, minutes);
const average: ValueFunction = (slice) => ratio(slice.total, slice.count);
const averageTime: ValueFunction = (slice) => milliseconds(ratio(slice.total, slice.count));
const deviation: ValueFunction = (slice) => {
  const mean = ratio(slice.total, slice.count);
  return milliseconds(Math.sqrt(Math.max(0, ratio(slice.sumOfSquares, slice.count) - mean * mean)));
};
/** Calculates the score from the three zones of an Apdex metric. */
export const apdexScore = (slice: StoredTimeslice): number =>
  ratio(slice.count + slice.total / 2, slice.count + slice.total + slice.totalExclusive);
/** Returns the mean of the totals per minute: New Relic does not document how REST adds up minutes. */
const totalPerMinute: ValueFunction = (slice, minutes) => ratio(slice.total, minutes);

const TIMING: Readonly<Record<string, ValueFunction>> = {
  average_response_time: averageTime,
  calls_per_minute: perMinute,
  call_count: count,
  min_response_time: (slice) => milliseconds(slice.min),
  max_response_time: (slice) => milliseconds(slice.max),
  average_exclusive_time: (slice) => milliseconds(ratio(slice.totalExclusive, slice.count)),
  average_value: average,
  total_call_time_per_minute: totalPerMinute,
  requests_per_minute: perMinute,
  standard_deviation: deviation,
};

const VALUES = {
  timing: TIMING,
  dispatcher: { ...TIMING, average_call_time: averageTime },
  transaction: {
    average_call_time: averageTime,
    average_response_time: averageTime,
    requests_per_minute: perMinute,
    call_count: count,
    min_call_time: (slice) => milliseconds(slice.min),
    max_call_time: (slice) => milliseconds(slice.max),
    total_call_time: (slice) => milliseconds(slice.total),
    throughput: (slice, minutes) => ratio(slice.count, minutes * 60),
    standard_deviation: deviation,
  },
  errors: { errors_per_minute: perMinute, error_count: count },
  apdex: {
    s: count,
    t: (slice) => slice.total,
    f: (slice) => slice.totalExclusive,
    count: (slice) => slice.count + slice.total + slice.totalExclusive,
    score: apdexScore,
    value: apdexScore,
    threshold: (slice) => slice.max,
    threshold_min: (slice) => slice.min,
  },
  memory: {
    used_bytes_by_host: (slice) => ratio(slice.total, slice.count) * 1024 * 1024,
    used_mb_by_host: average,
    total_used_mb: totalPerMinute,
  },
  cpu: {
    total_time: (slice) => milliseconds(slice.total),
    percent: (slice, minutes) => 100 * ratio(slice.total, minutes * 60),
    average_time: averageTime,
  },
  end_user: {
    call_count: count,
    average_response_time: averageTime,
    requests_per_minute: perMinute,
    average_fe_response_time: (slice) => milliseconds(ratio(slice.totalExclusive, slice.count)),
    average_be_response_time: (slice) => milliseconds(ratio(slice.total - slice.totalExclusive, slice.count)),
    average_network_time: (slice) =>
      milliseconds(ratio(slice.total - slice.totalExclusive - slice.sumOfSquares, slice.count)),
    total_app_time: (slice) => slice.sumOfSquares,
  },
} satisfies Readonly<Record<string, Readonly<Record<string, ValueFunction>>>>;

/** The kind of a metric decides which value names it has. */
export type MetricKind = keyof typeof VALUES;

/** Values that are counts: New Relic never rounds them. */
export const COUNT_VALUES: ReadonlySet<string> = new Set(['call_count', 'count', 'error_count', 's', 't', 'f']);

/** Returns the value names of a kind of metric, in the order of the metric name list. */
export function valueNames(kind: MetricKind): readonly string[] {
  return Object.keys(VALUES[kind]);
}

/**
 * Calculates the values of a timeslice by name, unrounded. Ignores wanted names that the kind does not have.
 * Averages and scores over nothing are 0, as in responses of New Relic.
 */
export function valuesOf(
  kind: MetricKind,
  slice: StoredTimeslice,
  minutes: number,
  wanted: readonly string[] = [],
): Record<string, number> {
  const functions: Readonly<Record<string, ValueFunction>> = VALUES[kind];
  const names = wanted.length === 0 ? Object.keys(functions) : wanted;
  const values: Record<string, number> = {};
  for (const name of names) {
    const value = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (value !== undefined) values[name] = value(slice, minutes);
  }
  return values;
}

/**
 * A metric over one minute or more, as agents report it. Times are seconds.
 *
 * For an Apdex metric the six numbers mean {s, t, f, threshold_min, threshold, -}. For `EndUser` the exclusive total is
 * the front-end time, and `sumOfSquares` is the time in the application.
 */
export interface StoredTimeslice {
  readonly count: number;
  readonly total: number;
  readonly totalExclusive: number;
  readonly min: number;
  readonly max: number;
  readonly sumOfSquares: number;
}

/** The timeslice of an idle metric. */
export const EMPTY: StoredTimeslice = { count: 0, total: 0, totalExclusive: 0, min: 0, max: 0, sumOfSquares: 0 };

/**
 * Creates the timeslice of `count` durations around `mean` seconds.
 * `spread` is the standard deviation as a share of the mean; a single call has none.
 *
 * @param squares the value of `sumOfSquares`, for metrics that keep another figure there
 */
export function timing(
  count: number,
  mean: number,
  spread: number,
  exclusiveShare: number,
  squares?: number,
): StoredTimeslice {
  if (count === 0) return EMPTY;
  const deviation = count === 1 ? 0 : spread;
  const total = count * mean;
  return {
    count,
    total,
    totalExclusive: total * exclusiveShare,
    min: mean * (1 - Math.min(0.9, deviation)),
    max: mean * (1 + 3 * deviation),
    sumOfSquares: squares ?? count * mean * mean * (1 + deviation * deviation),
  };
}

/** Creates the timeslice of an Apdex metric from satisfied, tolerating and frustrated requests and T in seconds. */
export function apdex(count: number, total: number, totalExclusive: number, target: number): StoredTimeslice {
  return { count, total, totalExclusive, min: target, max: target, sumOfSquares: 0 };
}

/** Adds timeslices of one metric: over minutes, over the instances of a host, over the hosts of an application. */
export class TimesliceSum implements StoredTimeslice {
  count = 0;
  total = 0;
  totalExclusive = 0;
  min = 0;
  max = 0;
  sumOfSquares = 0;
  /** False before the first record. A metric without data differs from a metric with zeros. */
  reported = false;
  #hasBounds = false;

  add(slice: StoredTimeslice): void {
    this.reported = true;
    this.count += slice.count;
    this.total += slice.total;
    this.totalExclusive += slice.totalExclusive;
    this.sumOfSquares += slice.sumOfSquares;
    // A record without calls has no fastest call, so its zero must not become the minimum.
    if (slice.count === 0 && slice.max === 0) return;
    this.min = this.#hasBounds ? Math.min(this.min, slice.min) : slice.min;
    this.max = this.#hasBounds ? Math.max(this.max, slice.max) : slice.max;
    this.#hasBounds = true;
  }
}
