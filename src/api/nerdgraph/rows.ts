import { getOrSet, mayBeNegative, WantedNames } from './terms.ts';
import { isDatastore, type UpstreamError } from '../types.ts';
import type { Facets } from './nrqlAnswer.ts';
import type { Part } from './part.ts';
import { CallFailure } from '../http/callFailure.ts';
import { isObject } from '../http/jsonShape.ts';
import type { TimeRange } from '../reader.ts';
import type { LeftOut } from '../records/lenient.ts';

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

/** The key of the application itself among its hosts. */
export const ITSELF = '';

/** What was read of one application. */
export class Found {
  /** By host, or `ITSELF`, and metric name: rows in the order of time, without buckets exactly one. */
  readonly rows = new Map<string, Map<string, Row[]>>();
  /** Of hosts, or `ITSELF`. */
  readonly failures = new Map<string, UpstreamError>();
  /** Concerns all hosts. */
  failure: UpstreamError | undefined;
  /** True: it failed because there are more rows than an answer holds, however it is divided. */
  tooMany = false;

  /** Takes in what was read of a later range. */
  append(later: Found): void {
    this.failure ??= later.failure;
    for (const [host, failure] of later.failures) this.failures.set(host, failure);
    for (const [host, metrics] of later.rows) {
      const kept = getOrSet(this.rows, host, () => new Map<string, Row[]>());
      for (const [name, rows] of metrics) kept.set(name, [...(kept.get(name) ?? []), ...rows]);
    }
  }

  failureOf(key: string): UpstreamError | undefined {
    return this.failure ?? this.failures.get(key);
  }

  /** How many datastore metrics the host that has most of them has, or `ITSELF`; undefined where nothing was read. */
  datastores(): number | undefined {
    if (this.failure !== undefined || this.rows.size === 0) return undefined;
    let most = 0;
    for (const metrics of this.rows.values()) {
      let datastores = 0;
      for (const name of metrics.keys()) if (isDatastore(name)) datastores += 1;
      most = Math.max(most, datastores);
    }
    return most;
  }
}

/** What is wanted of an application, and what was found of it: rows by host, or `ITSELF`, and by metric name. */
interface Place {
  readonly hosts: ReadonlySet<string> | undefined;
  readonly names: WantedNames;
  readonly rows: Map<string, Map<string, Row[]>>;
}

/** How the rows of an answer say what they are about, and for which time. */
interface RowShape {
  readonly facets: Facets;
  /** The range that was answered. */
  readonly window: TimeRange;
  /** Undefined: a row is for the whole range. */
  readonly buckets: (TimeRange & { readonly seconds: number }) | undefined;
}

/** Puts the rows of one answer in their places; nothing is handed over unless all of it could be read. */
export class RowReading {
  readonly #places: ReadonlyMap<number, Place>;
  readonly #byHost: boolean;
  readonly #shape: RowShape;
  readonly #leftOut: LeftOut;
  readonly #bad = new Map<number, Set<string>>();

  constructor(part: Part, shape: RowShape, leftOut: LeftOut) {
    this.#byHost = part.byHost;
    this.#shape = shape;
    this.#leftOut = leftOut;
    this.#places = new Map(
      part.pieces.map(({ applicationId, hosts, terms }) => [
        applicationId,
        { hosts: hosts === undefined ? undefined : new Set(hosts), names: WantedNames.of(terms), rows: new Map() },
      ]),
    );
  }

  take(row: unknown): void {
    const { facets, window, buckets } = this.#shape;
    const about = isObject(row) ? facets.of(row) : undefined;
    const id = Number(about?.[0]);
    if (!isObject(row) || about === undefined || !Number.isSafeInteger(id)) {
      throw new CallFailure('invalid_response', 'a row does not say what it is about');
    }
    const place = this.#places.get(id);
    if (place === undefined) {
      this.#leftOut.record('results.facet');
      return;
    }
    const host = (this.#byHost ? about[1] : undefined) ?? ITSELF;
    const name = place.names.find(about[about.length - 1] ?? '');
    if (name === undefined || place.hosts?.has(host) === false) return;
    const time = buckets === undefined ? window : bucketOf(row, buckets);
    if (time === undefined) throw new CallFailure('invalid_response', 'a row does not say which bucket it is for');
    const parsed = this.#parse(row, name, time);
    if (parsed === 'bad') this.#note(id, host);
    else if (parsed !== 'empty' && !this.#keep(place, host, name, parsed)) this.#note(id, host);
  }

  handOver(found: ReadonlyMap<number, Found>, fail: (words: string) => UpstreamError): void {
    for (const [id, { rows: hosts }] of this.#places) {
      const target = found.get(id);
      for (const [host, metrics] of hosts) {
        const kept = target?.rows.get(host);
        if (kept === undefined) target?.rows.set(host, metrics);
        else for (const [name, rows] of metrics) kept.set(name, [...(kept.get(name) ?? []), ...rows]);
      }
    }
    for (const [id, hosts] of this.#bad) {
      const failure = fail(`a count or a sum cannot be read (application ${id})`);
      for (const host of hosts) found.get(id)?.failures.set(host, failure);
    }
  }

  #parse(row: Readonly<Record<string, unknown>>, name: string, { from, to }: TimeRange): Row | 'bad' | 'empty' {
    const { c: count, t: sum, x } = row;
    const bucketed = this.#shape.buckets !== undefined;
    // Empty buckets come back as zeros; what they have no value for may be null.
    if (bucketed && count === 0 && (sum === 0 || sum === null) && (x === 0 || x === null)) return 'empty';
    const mayBe = mayBeNegative(name);
    if (!isAmount(count, false) || !isAmount(sum, mayBe)) return 'bad';
    return {
      from,
      to,
      count,
      sum,
      exclusive: this.#amount(x, mayBe),
      min: this.#amount(row['mn'], mayBe),
      max: this.#amount(row['mx'], mayBe),
      squares: row['q'] === undefined ? undefined : this.#amount(row['q'], false),
    };
  }

  #amount(value: unknown, mayBe: boolean): number | undefined {
    if (isAmount(value, mayBe)) return value;
    this.#leftOut.value('results');
    return undefined;
  }

  /** @returns false for a second row for the same thing: it makes both doubtful */
  #keep({ rows: hosts }: Place, host: string, name: string, row: Row): boolean {
    const metrics = getOrSet(hosts, host, () => new Map<string, Row[]>());
    const rows = metrics.get(name);
    if (rows === undefined) metrics.set(name, [row]);
    else if (this.#shape.buckets === undefined || rows.some(({ from }) => from === row.from)) return false;
    else rows.push(row);
    return true;
  }

  #note(id: number, host: string): void {
    getOrSet(this.#bad, id, () => new Set<string>()).add(host);
  }
}

function bucketOf(
  row: Readonly<Record<string, unknown>>,
  { from, to, seconds }: TimeRange & { readonly seconds: number },
): TimeRange | undefined {
  const { beginTimeSeconds: begin, endTimeSeconds: end } = row;
  if (typeof begin !== 'number' || typeof end !== 'number') return undefined;
  return begin >= from && end <= to && end - begin === seconds ? { from: begin, to: end } : undefined;
}

function isAmount(value: unknown, mayBeNegative: boolean): value is number {
  return typeof value === 'number' && Number.isFinite(value) && (value >= 0 || mayBeNegative);
}
