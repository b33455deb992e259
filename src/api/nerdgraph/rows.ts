import { Facets, type NrqlRows } from './nrqlAnswer.ts';
import type { Batch } from './batching.ts';
import { isNeverNegative, type Wanted } from './wanted.ts';
import { CallFailure } from '../http/callFailure.ts';
import { isObject } from '../http/jsonShape.ts';
import type { TimeRange } from '../reader.ts';
import type { LeftOut } from '../records/lenient.ts';
import { isDatastore, type UpstreamError } from '../types.ts';

type Json = Readonly<Record<string, unknown>>;

/** What a query gives of one metric of one application or host: the columns under the names that the query gives them. */
export interface Row {
  /** Count. */
  readonly c: number;
  /** Sum. */
  readonly t: number;
  /** Sum of the exclusive part; undefined, as the others below: not asked for, or left out as unreadable. */
  readonly x: number | undefined;
  readonly mn: number | undefined;
  readonly mx: number | undefined;
  /** Sum of squares. */
  readonly q: number | undefined;
}

/** A row of one bucket of a range. */
export interface BucketRow extends Row, TimeRange {}

/** The rows of one application or host, by metric name. */
export type Rows<R extends Row = Row> = ReadonlyMap<string, R>;

/** The key of the application itself among its hosts. */
export const ITSELF = '';

/** What was read of one application. */
export class ApplicationRows {
  /** By host, or `ITSELF`. */
  readonly rows = new Map<string, Map<string, Row>>();
  /** Of buckets: by host and metric, in any order. */
  readonly buckets = new Map<string, Map<string, BucketRow[]>>();
  /** Of hosts, or `ITSELF`. */
  readonly failures = new Map<string, UpstreamError>();
  /** Concerns all hosts. */
  failure: UpstreamError | undefined;
  /** True: it failed because there are more rows than an answer holds, however it is divided. */
  tooMany = false;
  /** The window that was answered; by several queries, each has to have the same. */
  window: TimeRange | undefined;

  fail(failure: UpstreamError): void {
    this.failure = failure;
  }

  /** Takes in the buckets of another range. */
  append(other: ApplicationRows): void {
    this.failure ??= other.failure;
    for (const [host, failure] of other.failures) this.failures.set(host, failure);
    for (const [host, metrics] of other.buckets) {
      const own = entryOf(this.buckets, host, newMap<BucketRow[]>);
      for (const [name, rows] of metrics) own.set(name, [...(own.get(name) ?? []), ...rows]);
    }
  }

  failureOf(key: string): UpstreamError | undefined {
    return this.failure ?? this.failures.get(key);
  }

  /** Of whichever host failed first. */
  anyFailure(): UpstreamError | undefined {
    return this.failure ?? this.failures.values().next().value;
  }

  /** How many datastore metrics the host that has most of them has, or `ITSELF`; undefined where nothing was read. */
  datastores(): number | undefined {
    const hosts = [...this.rows.values(), ...this.buckets.values()];
    if (this.failure !== undefined || hosts.length === 0) return undefined;
    let most = 0;
    for (const metrics of hosts) {
      let datastores = 0;
      for (const name of metrics.keys()) if (isDatastore(name)) datastores += 1;
      most = Math.max(most, datastores);
    }
    return most;
  }
}

/** The row that several rows in a run make together; undefined of none. */
export function mergeRows(rows: readonly Row[]): Row | undefined {
  const [first] = rows;
  if (first === undefined || rows.length === 1) return first;
  return {
    c: rows.reduce((total, { c }) => total + c, 0),
    t: rows.reduce((total, { t }) => total + t, 0),
    x: combined(rows, 'x', (a, b) => a + b),
    mn: combined(rows, 'mn', Math.min),
    mx: combined(rows, 'mx', Math.max),
    q: combined(rows, 'q', (a, b) => a + b),
  };
}

/** Undefined where one of them is: a part of a sum is a wrong sum. */
function combined(
  rows: readonly Row[],
  member: 'x' | 'mn' | 'mx' | 'q',
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

/** What is wanted of an application, and what an answer gave of it. */
interface Target {
  readonly applicationId: number;
  readonly wanted: Wanted;
  readonly hosts: ReadonlySet<string> | undefined;
  readonly rows: Map<string, Map<string, Row>>;
  readonly buckets: Map<string, Map<string, BucketRow[]>>;
}

/** Which time the rows of an answer are for. */
interface RowTimes {
  /** Seconds of a bucket; undefined: a row is for the whole window. */
  readonly bucket: number | undefined;
  /** What was asked for. A longer answer has buckets outside of it, which are not looked at. */
  readonly range: TimeRange;
  /** What was answered. */
  readonly window: TimeRange | undefined;
}

/** How the rows of an answer are read. */
interface RowForm {
  readonly times: RowTimes;
  /** Whether only the facets count, and the columns may hold anything. */
  readonly isNamesOnly: boolean;
}

/** A row of which only the name counts. */
const NAME_ONLY: Row = { c: 0, t: 0, x: undefined, mn: undefined, mx: undefined, q: undefined };

/** Takes the rows of one answer; nothing is handed over unless all of it could be read. */
export class RowReading {
  readonly #targets: ReadonlyMap<string, Target>;
  readonly #byHost: boolean;
  readonly #facets: Facets;
  readonly #times: RowTimes;
  readonly #isNamesOnly: boolean;
  readonly #leftOut: LeftOut;
  /** Hosts of which a count or a sum cannot be read, by application. */
  readonly #bad = new Map<number, Set<string>>();

  constructor(batch: Batch, attributes: readonly string[], answer: NrqlRows, form: RowForm, leftOut: LeftOut) {
    this.#byHost = attributes.includes('host');
    this.#facets = new Facets(answer.facets, attributes);
    this.#times = form.times;
    this.#isNamesOnly = form.isNamesOnly;
    this.#leftOut = leftOut;
    this.#targets = new Map(
      batch.map(({ applicationId, hosts, wanted }) => [
        String(applicationId),
        {
          applicationId,
          wanted,
          hosts: hosts === undefined ? undefined : new Set(hosts),
          rows: new Map<string, Map<string, Row>>(),
          buckets: new Map<string, Map<string, BucketRow[]>>(),
        },
      ]),
    );
  }

  take(row: unknown): void {
    const about = isObject(row) ? this.#facets.of(row) : undefined;
    if (!isObject(row) || about === undefined) {
      throw new CallFailure('invalid_response', 'a row does not say what it is about');
    }
    const target = this.#targets.get(about[0] ?? '');
    if (target === undefined) {
      if (!/^\d{1,16}$/.test((about[0] ?? '').slice(0, 20))) {
        throw new CallFailure('invalid_response', 'a row does not say what it is about');
      }
      this.#leftOut.record('results.facet');
      return;
    }
    const host = this.#byHost ? (about[1] ?? '') : ITSELF;
    const name = target.wanted.find(about[about.length - 1] ?? '');
    if (name === undefined || target.hosts?.has(host) === false) return;
    if (this.#times.bucket === undefined) this.#takeRow(row, target, host, name);
    else this.#takeBucket(row, target, host, name, this.#times.bucket);
  }

  /** @param fail makes the failure of an application of which a count or a sum cannot be read */
  handOver(
    found: ReadonlyMap<number, ApplicationRows>,
    window: TimeRange | undefined,
    fail: (words: string) => UpstreamError,
  ): void {
    for (const { applicationId, rows, buckets } of this.#targets.values()) {
      const result = found.get(applicationId);
      if (result === undefined) continue;
      for (const [host, metrics] of rows) join(result.rows, host, metrics);
      for (const [host, metrics] of buckets) {
        for (const [name, list] of metrics)
          entryOf(entryOf(result.buckets, host, newMap<BucketRow[]>), name, newList<BucketRow>).push(...list);
      }
      if (window === undefined) continue;
      const before = result.window ?? window;
      const isSame = before.from === window.from && before.to === window.to;
      // Buckets say themselves which time they are for: all answers have them of the time that they share.
      if (this.#times.bucket !== undefined) result.window = shared(before, window);
      else if (isSame) result.window = window;
      else result.fail(fail(`two answers are for different times (application ${applicationId})`));
    }
    for (const [id, hosts] of this.#bad) {
      const failure = fail(`a count or a sum cannot be read (application ${id})`);
      for (const host of hosts) found.get(id)?.failures.set(host, failure);
    }
  }

  #takeRow(row: Json, target: Target, host: string, name: string): void {
    const read = this.#isNamesOnly ? NAME_ONLY : this.#read(row, name);
    const metrics = entryOf(target.rows, host, newMap<Row>);
    // A second row for the same thing makes both doubtful.
    if (read === undefined || (metrics.has(name) && !this.#isNamesOnly)) this.#note(target, host);
    else metrics.set(name, read);
  }

  #takeBucket(row: Json, target: Target, host: string, name: string, bucket: number): void {
    const { beginTimeSeconds: from, endTimeSeconds: to } = row;
    if (typeof from !== 'number' || typeof to !== 'number') {
      throw new CallFailure('invalid_response', 'a row does not say which bucket it is for');
    }
    const { range, window } = this.#times;
    const isOutside = window !== undefined && (from < window.from || to > window.to);
    // The first bucket of a longer answer may be a partial one.
    const isWanted = from >= range.from && to <= range.to;
    if (isOutside || (isWanted && to - from !== bucket)) {
      throw new CallFailure('invalid_response', 'a row is for another bucket than was asked for');
    }
    if (!isWanted) return;
    // Empty buckets come back as zeros; what they have no value for may be null.
    const { c, t, x } = row;
    if (c === 0 && (t === 0 || t === null) && (x === 0 || x === null)) return;
    const read = this.#read(row, name);
    const list = entryOf(entryOf(target.buckets, host, newMap<BucketRow[]>), name, newList<BucketRow>);
    if (read === undefined || list.some((each) => each.from === from)) this.#note(target, host);
    else list.push({ ...read, from, to });
  }

  /** The columns of a row; undefined where its count or its sum cannot be read. */
  #read(row: Json, name: string): Row | undefined {
    const { c, t } = row;
    const mayBeNegative = !isNeverNegative(name);
    if (!isAmount(c, false) || !isAmount(t, mayBeNegative)) return undefined;
    return {
      c,
      t,
      x: this.#amount(row['x'], mayBeNegative),
      mn: this.#amount(row['mn'], mayBeNegative),
      mx: this.#amount(row['mx'], mayBeNegative),
      q: this.#amount(row['q'], false),
    };
  }

  #amount(value: unknown, mayBeNegative: boolean): number | undefined {
    if (isAmount(value, mayBeNegative)) return value;
    if (value !== undefined) this.#leftOut.value('results');
    return undefined;
  }

  #note({ applicationId }: Target, host: string): void {
    entryOf(this.#bad, applicationId, () => new Set<string>()).add(host);
  }
}

function shared(a: TimeRange, b: TimeRange): TimeRange {
  return { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
}

function join(all: Map<string, Map<string, Row>>, host: string, metrics: Map<string, Row>): void {
  const before = all.get(host);
  if (before === undefined) all.set(host, metrics);
  else for (const [name, row] of metrics) before.set(name, row);
}

function newMap<V>(): Map<string, V> {
  return new Map<string, V>();
}

function newList<V>(): V[] {
  return [];
}

/** The value of a key; where there is none, the one that `make` gives is kept under the key first. */
function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

function isAmount(value: unknown, mayBeNegative: boolean): value is number {
  return typeof value === 'number' && Number.isFinite(value) && (value >= 0 || mayBeNegative);
}
