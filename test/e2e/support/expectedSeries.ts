/** Series by name and labels, as Prometheus tells them apart: an empty label is the same as none. */
export class SeriesMap {
  readonly #series = new Map<string, number>();

  static key(name: string, labels: Readonly<Record<string, string>>): string {
    const pairs = Object.entries(labels)
      .filter(([, value]) => value !== '')
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([label, value]) => `${label}=${JSON.stringify(value)}`);
    return `${name}{${pairs.join(',')}}`;
  }

  /** Adds a series unless its value is undefined; throws when it is there already. */
  add(name: string, labels: Readonly<Record<string, string>>, value: number | undefined): void {
    if (value === undefined) return;
    const key = SeriesMap.key(name, labels);
    if (this.#series.has(key)) throw new Error(`twice: ${key}`);
    this.#series.set(key, value);
  }

  get(key: string): number | undefined {
    return this.#series.get(key);
  }

  keys(): string[] {
    return [...this.#series.keys()].sort();
  }
}

/** What differs between two sets of series, one line each; values may differ by `relative` of the expected one. */
export function differences(expected: SeriesMap, actual: SeriesMap, relative: number): string[] {
  const lines: string[] = [];
  for (const key of expected.keys()) {
    const [want = NaN, got] = [expected.get(key), actual.get(key)];
    if (got === undefined) lines.push(`missing: ${key} ${want}`);
    else if (!(Math.abs(got - want) <= Math.abs(want) * relative)) lines.push(`${key}: ${got} instead of ${want}`);
  }
  for (const key of actual.keys()) if (expected.get(key) === undefined) lines.push(`unexpected: ${key}`);
  return lines;
}
