/** What is known of one metric of one application or host over a range, or over one bucket of it. */
export interface Row {
  /** Unix seconds. */
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly sum: number;
  /** Undefined: left out as unreadable. */
  readonly exclusive: number | undefined;
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly squares: number | undefined;
}

/** The rows of one application or host over one range, by metric name; one of each. */
export interface Rows {
  readonly size: number;
  get(name: string): Row | undefined;
  keys(): Iterable<string>;
}

/** The first row of each name: without buckets there is one. They are not copied. */
export class FirstRows implements Rows {
  readonly #rows: ReadonlyMap<string, readonly Row[]>;

  constructor(rows: ReadonlyMap<string, readonly Row[]>) {
    this.#rows = rows;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(name: string): Row | undefined {
    return this.#rows.get(name)?.[0];
  }

  keys(): Iterable<string> {
    return this.#rows.keys();
  }
}

/** The row that several rows in a run make together, from the first beginning to the last end. */
export function mergeRows(rows: readonly Row[]): Row | undefined {
  const [first] = rows;
  if (first === undefined || rows.length === 1) return first;
  return {
    from: rows.reduce((from, row) => Math.min(from, row.from), Infinity),
    to: rows.reduce((to, row) => Math.max(to, row.to), -Infinity),
    count: rows.reduce((total, { count }) => total + count, 0),
    sum: rows.reduce((total, { sum }) => total + sum, 0),
    exclusive: combined(rows, 'exclusive', (a, b) => a + b),
    min: combined(rows, 'min', Math.min),
    max: combined(rows, 'max', Math.max),
    squares: combined(rows, 'squares', (a, b) => a + b),
  };
}

/** Undefined where one of them is: a part of a sum is a wrong sum. */
function combined(
  rows: readonly Row[],
  member: 'exclusive' | 'min' | 'max' | 'squares',
  both: (a: number, b: number) => number,
): number | undefined {
  let result: number | undefined;
  for (const row of rows) {
    const value = row[member];
    if (value === undefined) return undefined;
    result = result === undefined ? value : both(result, value);
  }
  return result;
}
