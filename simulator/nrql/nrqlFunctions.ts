import type { Value } from './condition.ts';

/** The value of a column: an object for `percentile`, a list for `uniques`, null without records. */
export type ColumnValue = Value | readonly FacetValue[] | Readonly<Record<string, number | null>> | null;

/** The value of one facet. Numbers become texts; an attribute may be a list. */
export type FacetValue = string | readonly string[];

/** Collects one input over the records of a row, for functions to calculate with. */
export class Tally {
  count = 0;
  sum = 0;
  min = Infinity;
  max = -Infinity;
  /** All values of events, if the input keeps values. */
  readonly values: Value[] = [];
  last: readonly [time: number, value: Value | null] = [-Infinity, null];

  /** Adds a record of measurements. */
  add(count: number, sum: number, min: number, max: number): void {
    this.count += count;
    this.sum += sum;
    // A record without calls has no fastest call, so its zero must not become the minimum.
    if (count === 0 && max === 0) return;
    this.min = Math.min(this.min, min);
    this.max = Math.max(this.max, max);
  }

  /** Adds the value of an event at this time. */
  addValue(value: Value, time: number, { keepsValues }: { readonly keepsValues: boolean }): void {
    const number = typeof value === 'number' ? value : 0;
    this.add(1, number, number, number);
    if (keepsValues) this.values.push(value);
    if (time >= this.last[0]) this.last = [time, value];
  }

  /** Adds the sums and values of another tally. */
  merge(other: Tally): void {
    this.add(other.count, other.sum, other.min, other.max);
    for (const value of other.values) this.values.push(value);
    if (other.last[0] >= this.last[0]) this.last = other.last;
  }
}

const numbersIn = ({ values }: Tally): readonly number[] => values.filter((value) => typeof value === 'number');

/**
 * The functions of NRQL, over the records of a row. `numbers` are the percentiles, the maximum of `uniques`, the
 * threshold of `apdex`, or ceiling and bucket count of `histogram`.
 */
export const FUNCTIONS = {
  count: ({ count }) => count,
  datapointCount: ({ count }) => count,
  sum: ({ sum }) => sum,
  average: ({ count, sum }) => (count === 0 ? null : sum / count),
  min: ({ min }) => (min === Infinity ? null : min),
  max: ({ max }) => (max === -Infinity ? null : max),
  latest: ({ last: [, value] }) => value,
  percentile: (tally, numbers) => {
    const sorted = numbersIn(tally).toSorted((a, b) => a - b);
    const valueAt = (percent: number) => sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? null;
    return Object.fromEntries(numbers.map((percent) => [String(percent), valueAt(percent)]));
  },
  apdex: (tally, [threshold = 0]) => {
    const values = numbersIn(tally);
    const below = (most: number) => values.filter((value) => value <= most).length;
    const [s, t, count] = [below(threshold), below(4 * threshold) - below(threshold), values.length];
    return { score: count === 0 ? null : (s + t / 2) / count, s, t, f: count - s - t, count };
  },
  histogram: (tally, [ceiling = 0, buckets = 1]) => {
    const bucketOf = (value: number) => Math.min(buckets - 1, Math.floor((value / ceiling) * buckets));
    const found = numbersIn(tally).map(bucketOf);
    const counts = Array.from({ length: buckets }, (_, index) => found.filter((bucket) => bucket === index).length);
    return Object.fromEntries(counts.map((count, index) => [String((index * ceiling) / buckets), count]));
  },
  uniqueCount: ({ values }) => new Set(values.map(String)).size,
  uniques: ({ values }, numbers) => [...new Set(values.map(String))].slice(0, numbers[0]),
} satisfies Readonly<Record<string, (tally: Tally, numbers: readonly number[]) => ColumnValue>>;
