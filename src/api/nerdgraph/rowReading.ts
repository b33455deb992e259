import { ITSELF } from './found.ts';
import type { Found } from './found.ts';
import { getOrSet } from './getOrSet.ts';
import { mayBeNegative } from './metricNames.ts';
import type { Facets } from './nrqlAnswer.ts';
import type { Part } from './part.ts';
import type { Row } from './row.ts';
import { WantedNames } from './wantedNames.ts';
import { CallFailure } from '../http/callFailure.ts';
import { isObject } from '../http/shapes.ts';
import type { UpstreamError } from '../errors.ts';
import type { TimeRange } from '../reader.ts';
import type { LeftOut } from '../records/leftOut.ts';

/** What is wanted of an application, and what was found of it: rows by host, or `ITSELF`, and by metric name. */
interface Place {
  readonly hosts: ReadonlySet<string> | undefined;
  readonly names: WantedNames;
  readonly rows: Map<string, Map<string, Row[]>>;
}

/** How the rows of an answer say what they are about, and for which time. */
export interface RowShape {
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
