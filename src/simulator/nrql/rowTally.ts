import {
  type SelectedFunction,
  type Expression,
  type NrqlQuery,
  KEY_TRANSACTION_DURATION,
  KEY_TRANSACTION_ERRORS,
  TIMESLICE_VALUE,
} from './parseQuery.ts';
import type { Timeslice } from '../world/timesliceValues.ts';
import type { Attributes, Series } from './timesliceRecords.ts';

/** Which minutes of the world a query reads, and into which bucket each falls. */
export interface TimeRange {
  /** Milliseconds: the records stamped from `since` to before `until`. */
  readonly since: number;
  readonly until: number;
  /** Whole minutes since 1970 that hold all of those records; the last is not included. */
  readonly fromMinute: number;
  readonly toMinute: number;
  /** The moments between which each bucket lies, oldest first; one bucket without TIMESERIES. */
  readonly buckets: readonly { readonly begin: number; readonly end: number }[];
  /** The bucket of a minute's record. */
  readonly bucketOf: (minute: number) => number;
}

const MINUTE = 60_000;
const HOUR_MINUTES = 60;
const DAY_MINUTES = 24 * HOUR_MINUTES;
const HOURLY_AFTER_MINUTES = 8 * DAY_MINUTES;
const RETENTION_MINUTES = 93 * DAY_MINUTES;

/**
 * The range from `since` to before `until`. Records of a minute bear its beginning as their time; a range that begins more
 * than eight days ago finds only the records of whole hours, which bear the beginning of the hour. Buckets end with
 * the range, so the first may be shorter.
 */
export function timeRange(since: number, until: number, bucketMinutes: number | undefined, now: number): TimeRange {
  const complete = Math.floor(now / MINUTE);
  const isHourly = since < now - HOURLY_AFTER_MINUTES * MINUTE;
  const unit = isHourly ? HOUR_MINUTES : 1;
  const length = bucketMinutes === undefined ? Math.max(until - since, 1) : bucketMinutes * MINUTE;
  const count = Math.ceil((until - since) / length);
  const stampOf = (minute: number): number => (minute - (minute % unit)) * MINUTE;
  return {
    since,
    until,
    fromMinute: Math.max(Math.ceil(since / MINUTE / unit) * unit, complete - RETENTION_MINUTES),
    toMinute: Math.min(Math.ceil(until / MINUTE / unit) * unit, complete),
    buckets: Array.from({ length: count }, (_, index) => ({
      begin: Math.max(since, until - (count - index) * length),
      end: until - (count - index - 1) * length,
    })),
    bucketOf: (minute) => count - 1 - Math.floor((until - 1 - stampOf(minute)) / length),
  };
}

/** What one stored record says about an expression. */
interface Reading {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** The answer of a function over the records of one row: a number, the values of `uniques`, or null over nothing. */
type Answer = number | readonly string[] | null;

/** Adds up what a function needs of the records of one row. */
class Tally {
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;
  #values: Set<string> | undefined;

  add({ count, sum, min, max }: Reading): void {
    this.#count += count;
    this.#sum += sum;
    // A record without calls has no fastest one: its zero must not become the minimum.
    if (count === 0 && max === 0) return;
    this.#min = Math.min(this.#min, min);
    this.#max = Math.max(this.#max, max);
  }

  addValue(value: string): void {
    this.#values ??= new Set();
    this.#values.add(value);
  }

  /** Adds all that another one has added. */
  merge(other: Tally): void {
    this.#count += other.#count;
    this.#sum += other.#sum;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
    for (const value of other.#values ?? []) this.addValue(value);
  }

  answer({ name, of }: SelectedFunction): Answer {
    switch (name) {
      case 'count':
        return this.#count;
      case 'sum':
        return this.#sum;
      case 'average':
        return this.#count === 0 ? null : this.#sum / this.#count;
      case 'min':
        return this.#min === Infinity ? null : this.#min;
      case 'max':
        return this.#max === -Infinity ? null : this.#max;
      case 'uniques':
        return [...(this.#values ?? [])].slice(0, of.kind === 'attribute' ? of.most : 0);
    }
  }

  /** What rows are ranked by: the number, or how many values there are; nothing ranks last. */
  rank(selected: SelectedFunction): number {
    const answer = this.answer(selected);
    if (answer === null) return -Infinity;
    return typeof answer === 'number' ? answer : answer.length;
  }
}

/** Adds what a record says about an expression to its tally. */
type Reader = (record: Timeslice, tally: Tally) => void;

const whole = ({ count, total, min, max }: Timeslice): Reading => ({ count, sum: total, min, max });
const single = (value: number): Reading => ({ count: 1, sum: value, min: value, max: value });
const counted = ({ count }: Timeslice): Reading => ({ count, sum: count, min: count, max: count });

/** How records with these attributes are read for an expression; undefined when they have nothing to say about it. */
function readerOf(of: Expression, attributes: Attributes): Reader | undefined {
  if (of.kind === 'attribute') {
    const value = attributes[of.attribute];
    return typeof value === 'string' ? (_, tally) => tally.addValue(value) : undefined;
  }
  const name = of.kind === 'value' ? of.value : TIMESLICE_VALUE;
  if (typeof attributes[name] !== 'string') return undefined;
  if (of.kind === 'field') return (record, tally) => tally.add(single(record[of.field]));
  const reading = name === KEY_TRANSACTION_ERRORS ? counted : whole;
  return (record, tally) => tally.add(reading(record));
}

/** Which records a query is about: the service cannot mix timeslices with other data. */
export function datasetOf({ select, where }: NrqlQuery): 'timeslices' | 'key transactions' | 'mixed' {
  const text = JSON.stringify([select.map(({ of }) => of), where]);
  const isTimeslice = select.some(
    ({ of }) => of.kind === 'field' || (of.kind === 'value' && of.value === TIMESLICE_VALUE),
  );
  const isKeyTransaction = text.includes(KEY_TRANSACTION_DURATION) || text.includes(KEY_TRANSACTION_ERRORS);
  if (isTimeslice && isKeyTransaction) return 'mixed';
  return isKeyTransaction ? 'key transactions' : 'timeslices';
}

/** The tallies of one bucket: one per distinct expression of the query. */
type Tallies = readonly Tally[];

/** The records that share the values of the FACET attributes. */
interface Group {
  readonly facet: readonly string[];
  /** By bucket; undefined where nothing was stored. */
  readonly buckets: (Tallies | undefined)[];
}

/** The way of a series' records into its group. */
export interface Route {
  readonly group: Group;
  readonly readers: readonly (Reader | undefined)[];
  /** Whether its records have the attribute of the first function: only such records choose facets. */
  readonly choosesFacet: boolean;
}

/** Sorts the records of a query into groups and adds them up. */
export class Groups {
  readonly #query: NrqlQuery;
  readonly #expressions: readonly Expression[];
  readonly #slots: readonly number[];
  readonly #groups = new Map<string, Group>();
  readonly #chosen = new Set<Group>();

  constructor(query: NrqlQuery) {
    this.#query = query;
    const keys = query.select.map(({ of }) => JSON.stringify(of));
    const distinct = [...new Set(keys)];
    this.#expressions = distinct.map((key) => JSON.parse(key) as Expression);
    this.#slots = keys.map((key) => distinct.indexOf(key));
  }

  /** The group of a series; undefined when it lacks an attribute of the FACET, or says nothing that is asked. */
  route({ attributes }: Series): Route | undefined {
    const facet = this.#query.facets.map((name) => attributes[name]);
    if (!facet.every((value) => typeof value === 'string')) return undefined;
    const readers = this.#expressions.map((of) => readerOf(of, attributes));
    if (readers.every((reader) => reader === undefined)) return undefined;
    const key = JSON.stringify(facet);
    const group = this.#groups.get(key) ?? { facet, buckets: [] };
    this.#groups.set(key, group);
    return { group, readers, choosesFacet: readers[0] !== undefined };
  }

  add({ group, readers, choosesFacet }: Route, bucket: number, record: Timeslice): void {
    const tallies = group.buckets[bucket] ?? this.empty();
    group.buckets[bucket] = tallies;
    readers.forEach((reader, index) => {
      const tally = tallies[index];
      if (tally !== undefined) reader?.(record, tally);
    });
    if (choosesFacet) this.#chosen.add(group);
  }

  empty(): Tallies {
    return this.#expressions.map(() => new Tally());
  }

  /** The tally of a function. */
  tally(tallies: Tallies, index: number): Tally {
    const tally = tallies[this.#slots[index] ?? 0];
    if (tally === undefined) throw new RangeError(`the query has no function ${index}`);
    return tally;
  }

  /** The facets that may be shown, those with the most of the first function first. */
  ranked(first: SelectedFunction): readonly Group[] {
    return [...this.#chosen]
      .map((group) => ({ group, rank: this.tally(this.#merge(group.buckets), 0).rank(first) }))
      .sort((a, b) => b.rank - a.rank || compare(a.group.facet, b.group.facet))
      .map(({ group }) => group);
  }

  /** What these groups have together in a bucket. */
  together(groups: readonly Group[], bucket: number): Tallies {
    return this.#merge(groups.map(({ buckets }) => buckets[bucket]));
  }

  all(): readonly Group[] {
    return [...this.#groups.values()];
  }

  #merge(parts: readonly (Tallies | undefined)[]): Tallies {
    const sum = this.empty();
    // The list may have holes, which forEach skips.
    parts.forEach((part) => part?.forEach((tally, index) => sum[index]?.merge(tally)));
    return sum;
  }
}

function compare(a: readonly string[], b: readonly string[]): number {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** One row of an answer. */
type Row = Readonly<Record<string, Answer | string>>;

/** The rows of an answer, and what the facets that are not shown have together. */
export interface Rows {
  readonly results: readonly Row[];
  readonly otherResult: Row | readonly Row[] | null;
  readonly totalResult: Row | readonly Row[] | null;
}

/** Writes the groups of a query as the service does; `shown` are the facets that its limit leaves. */
export function toRows(query: NrqlQuery, range: TimeRange, groups: Groups, shown: readonly Group[]): Rows {
  const isSeries = query.bucketMinutes !== undefined;
  const cells = (tallies: Tallies | undefined): Row => {
    const known = tallies ?? groups.empty();
    return Object.fromEntries(
      query.select.map((selected, index) => {
        const answer = groups.tally(known, index).answer(selected);
        // An empty bucket of a series is zeros, not nulls.
        return [selected.key, answer === null && isSeries ? 0 : answer];
      }),
    );
  };
  const inBuckets = (talliesOf: (bucket: number) => Tallies | undefined, facet: Row = {}): readonly Row[] =>
    range.buckets.map(({ begin, end }, bucket) => ({
      ...facet,
      ...(isSeries ? { beginTimeSeconds: begin / 1000, endTimeSeconds: end / 1000 } : {}),
      ...cells(talliesOf(bucket)),
    }));
  if (query.facets.length === 0) {
    const results = inBuckets((bucket) => groups.together(groups.all(), bucket));
    return { results, otherResult: null, totalResult: null };
  }
  const isShown = new Set(shown);
  const others = groups.all().filter((group) => !isShown.has(group));
  const summary = (part: readonly Group[]): Row | readonly Row[] => {
    const rows = inBuckets((bucket) => groups.together(part, bucket));
    return isSeries ? rows : (rows[0] ?? {});
  };
  return {
    results: shown.flatMap((group) => inBuckets((bucket) => group.buckets[bucket], facetOf(query, group))),
    otherResult: summary(others),
    totalResult: summary(groups.all()),
  };
}

/** One attribute: its value and a member of its name; several: their values in a list, as texts. */
function facetOf({ facets }: NrqlQuery, { facet }: Group): Row {
  const [attribute] = facets;
  const [value] = facet;
  return facets.length === 1 && attribute !== undefined && value !== undefined
    ? { facet: value, [attribute]: value }
    : { facet };
}
