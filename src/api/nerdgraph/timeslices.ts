import type { Account } from './account.ts';
import type { Fleet } from './fleet.ts';
import { readInParts } from './inParts.ts';
import { mayBeNegative } from './metricNames.ts';
import { TIMESLICE } from './nrql.ts';
import type { Attribute, Selection } from './nrql.ts';
import { checkAnswer, eachRow, Facets } from './nrqlAnswer.ts';
import { conditionOf, divide } from './part.ts';
import type { Part } from './part.ts';
import { plan } from './plan.ts';
import type { Cell, PlanOptions } from './plan.ts';
import type { Row } from './row.ts';
import { WantedNames } from './wantedNames.ts';
import type { Group, Transport } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import { isObject } from '../http/shapes.ts';
import type { UpstreamError } from '../errors.ts';
import type { CallOptions, TimeRange } from '../reader.ts';
import { LeftOut } from '../records/leftOut.ts';

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
}

export interface TimesliceQuery extends PlanOptions {
  readonly group: Group;
  readonly range: TimeRange;
  /** Minutes per bucket; undefined: one row over the whole range. */
  readonly bucketMinutes?: number;
}

const SELECTION: readonly [Selection, ...Selection[]] = [
  // The service chooses the facets it gives by the first function.
  { of: 'count', from: TIMESLICE, as: 'c' },
  { of: 'sum', from: TIMESLICE, as: 't' },
  { of: 'sum', from: `${TIMESLICE}['totalExclusive']`, as: 'x' },
  { of: 'min', from: TIMESLICE, as: 'mn' },
  { of: 'max', from: TIMESLICE, as: 'mx' },
  // Only custom metrics have values that need it.
  { of: 'sum', from: `${TIMESLICE}['sumOfSquares']`, as: 'q' },
];
const BY_APPLICATION: readonly Attribute[] = ['appId', 'metricTimesliceName'];
const BY_HOST: readonly Attribute[] = ['appId', 'host', 'metricTimesliceName'];

/** Reads timeslice data of many applications or hosts with one query, in parts where one is not enough. */
export class Timeslices {
  readonly #transport: Transport;
  readonly #account: Account;
  readonly #fleet: Fleet;

  constructor(transport: Transport, account: Account, fleet: Fleet) {
    this.#transport = transport;
    this.#account = account;
    this.#fleet = fleet;
  }

  /** What was found of each application, by its id. Rejects only with the reason of the signal. */
  async read(cells: readonly Cell[], query: TimesliceQuery, call: CallOptions): Promise<ReadonlyMap<number, Found>> {
    const found = new Map(cells.map(({ applicationId }) => [applicationId, new Found()]));
    const hosts = new Map(cells.map((cell) => [cell.applicationId, cell.hosts]));
    await Promise.all(
      plan(cells, this.#fleet, query).map(async (whole) => {
        const blamed = new Set<number>();
        const { answered } = await readInParts<Part>(whole, {
          read: (part) => this.#readPart(part, query, found, call),
          isThorough: this.#fleet.alone(query.kind).isThorough,
          divide: (part, reason) => divide(part, (id) => hosts.get(id), reason === 'truncated'),
          isOneSubject: ({ pieces: [piece, other] }) =>
            piece !== undefined &&
            other === undefined &&
            (piece.hosts ?? hosts.get(piece.applicationId) ?? []).length <= 1,
          onSplit: (reason) => this.#transport.split(reason),
          onFailure: (part, error) => {
            const failure = error ?? this.#transport.invalid(query.group, 'more rows than an answer holds');
            note(part, failure, found);
            if (error === undefined) for (const { applicationId } of part.pieces) markTooMany(found.get(applicationId));
            const [first, second] = part.pieces;
            if (first !== undefined && second === undefined) blamed.add(first.applicationId);
          },
        });
        this.#remember(whole, query, blamed, answered);
      }),
    );
    return found;
  }

  /** What failed while others of the same query were answered is asked alone from now on. */
  #remember(whole: Part, { kind }: TimesliceQuery, blamed: ReadonlySet<number>, answered: number): void {
    const alone = this.#fleet.alone(kind);
    const [first, second] = whole.pieces;
    if (second !== undefined) alone.tried(answered);
    if (first !== undefined && second === undefined) {
      if (blamed.size === 0) alone.answered(first.applicationId);
    } else if (answered > 0) {
      for (const id of blamed) alone.broke(id);
    }
  }

  async #readPart(
    part: Part,
    { group, range, bucketMinutes }: TimesliceQuery,
    found: ReadonlyMap<number, Found>,
    call: CallOptions,
  ): Promise<void> {
    const facet = part.byHost ? BY_HOST : BY_APPLICATION;
    const query = { select: SELECTION, where: conditionOf(part), facet, range, bucketMinutes };
    const several = part.pieces.length > 1 || (part.byHost && part.pieces[0]?.hosts?.length !== 1);
    const answer = await this.#transport.nrql(group, await this.#account.id(call), query, several, call);
    const leftOut = new LeftOut();
    try {
      const bucketed = bucketMinutes !== undefined;
      const checked = checkAnswer(answer, { range, facets: facet, bucketed });
      const buckets = bucketed ? { ...range, seconds: bucketMinutes * 60 } : undefined;
      const facets = new Facets(checked.facets, facet);
      const reading = new RowReading(part, { facets, window: checked.window, buckets }, leftOut);
      await eachRow(checked.rows, (row) => reading.take(row));
      reading.handOver(found, (words) => this.#transport.invalid(group, words));
    } catch (error) {
      throw error instanceof CallFailure ? this.#transport.fail(group, error) : error;
    } finally {
      this.#transport.leftOut(group, leftOut);
    }
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
class RowReading {
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
    else if (parsed !== 'silent' && !this.#keep(place, host, name, parsed)) this.#note(id, host);
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

  #parse(row: Readonly<Record<string, unknown>>, name: string, { from, to }: TimeRange): Row | 'bad' | 'silent' {
    const { c: count, t: sum, x } = row;
    const bucketed = this.#shape.buckets !== undefined;
    // Empty buckets come back as zeros; what they have no value for may be null.
    if (bucketed && count === 0 && (sum === 0 || sum === null) && (x === 0 || x === null)) return 'silent';
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

function note(part: Part, failure: UpstreamError, found: ReadonlyMap<number, Found>): void {
  for (const { applicationId, hosts } of part.pieces) {
    const target = found.get(applicationId);
    if (target === undefined) continue;
    if (hosts === undefined) target.failure = failure;
    else for (const host of hosts) target.failures.set(host, failure);
  }
}

function markTooMany(found: Found | undefined): void {
  if (found !== undefined) found.tooMany = true;
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

function getOrSet<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
