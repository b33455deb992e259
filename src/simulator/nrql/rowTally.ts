import type { Value } from './condition.ts';
import { NrqlError } from './condition.ts';
import type { SelectedColumn, NrqlExpression, FunctionCall, Input, NrqlQuery } from './parseQuery.ts';

/** The time that a query is about. Moments are milliseconds since 1970. */
export interface NrqlRange {
  readonly since: number;
  readonly until: number;
  /** The moments between which each bucket lies, oldest first; one bucket without TIMESERIES. */
  readonly buckets: readonly [Bucket, ...Bucket[]];
  readonly bucketOf: (time: number) => number;
}

/** From `begin` to before `end`. */
interface Bucket {
  readonly begin: number;
  readonly end: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MOST_BUCKETS = 366;
const FROM_NRDB = "External Service 'NRDB' execution resulted in 400 - cause: ";

/**
 * The range of a query: the hour before `until`, and `until` now, where it does not say. Buckets end with the range and are
 * all of the same length, so the first may begin before the range does. With `snaps`, long ranges are moved back to
 * whole steps of 5 minutes, or of 10 from a day on. Throws an NrqlError for a range that the service refuses.
 */
export function timeRange(
  { since: from, until: to, bucketMinutes }: Pick<NrqlQuery, 'since' | 'until' | 'bucketMinutes'>,
  now: number,
  snaps: boolean,
): NrqlRange {
  const asked = { since: from ?? (to ?? now) - HOUR, until: to ?? now };
  const length = asked.until - asked.since;
  if (length <= 0) throw new NrqlError(`${FROM_NRDB}Your query's start time must be before its end time.`);
  const step = !snaps || length < HOUR ? 1 : (length < DAY ? 5 : 10) * MINUTE;
  const since = asked.since - (asked.since % step);
  const until = asked.until - (asked.until % step);
  const bucket = bucketMinutes === undefined ? until - since : bucketMinutes * MINUTE;
  if (bucket > until - since)
    throw new NrqlError(`${FROM_NRDB}TIMESERIES step size is larger than the current time window.`);
  const count = Math.ceil((until - since) / bucket);
  if (count > MOST_BUCKETS) throw new NrqlError(`TIMESERIES supports a maximum of ${MOST_BUCKETS} buckets`);
  const bucketAt = (place: number): Bucket => ({
    begin: until - (count - place) * bucket,
    end: until - (count - place - 1) * bucket,
  });
  return {
    since,
    until,
    buckets: [bucketAt(0), ...Array.from({ length: count - 1 }, (_, place) => bucketAt(place + 1))],
    bucketOf: (time) => count - 1 - Math.floor((until - 1 - time) / bucket),
  };
}

/** What a record says of a number: how often it was measured, and the sum, least and most of that. */
export interface Measurement {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** A column of a row: `percentile` gives an object, `uniques` a list; null is the answer over nothing. */
export type ColumnValue = Value | readonly string[] | Readonly<Record<string, number | null>> | null;

/** Adds up what the functions need that read one input of the records of one row. */
export class Tally {
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;
  #values: Set<string> | undefined;
  #numbers: number[] | undefined;
  #first: readonly [time: number, value: Value | null] = [Infinity, null];
  #last: readonly [time: number, value: Value | null] = [-Infinity, null];

  add({ count, sum, min, max }: Measurement): void {
    this.#count += count;
    this.#sum += sum;
    // A record without calls has no fastest one: its zero must not become the minimum.
    if (count === 0 && max === 0) return;
    this.#min = Math.min(this.#min, min);
    this.#max = Math.max(this.#max, max);
  }

  /** Adds what an event of this time has. */
  addValue(value: Value, time: number, { keepsValues, keepsNumbers }: Input): void {
    const number = typeof value === 'number' ? value : 0;
    this.add({ count: 1, sum: number, min: number, max: number });
    if (keepsValues) (this.#values ??= new Set()).add(String(value));
    if (keepsNumbers && typeof value === 'number') (this.#numbers ??= []).push(value);
    if (time < this.#first[0]) this.#first = [time, value];
    if (time >= this.#last[0]) this.#last = [time, value];
  }

  /** Adds all that another one has added. */
  merge(other: Tally): void {
    this.#count += other.#count;
    this.#sum += other.#sum;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
    for (const value of other.#values ?? []) (this.#values ??= new Set()).add(value);
    for (const number of other.#numbers ?? []) (this.#numbers ??= []).push(number);
    if (other.#first[0] < this.#first[0]) this.#first = other.#first;
    if (other.#last[0] >= this.#last[0]) this.#last = other.#last;
  }

  answer({ name, numbers }: FunctionCall): ColumnValue {
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
      case 'earliest':
        return this.#first[1];
      case 'latest':
        return this.#last[1];
      case 'uniques':
        return [...(this.#values ?? [])].slice(0, numbers[0]);
      case 'uniqueCount':
        return this.#values?.size ?? 0;
      case 'percentile': {
        const sorted = (this.#numbers ?? []).toSorted((a, b) => a - b);
        const at = (percent: number) => sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? null;
        return Object.fromEntries(numbers.map((percent) => [String(percent), at(percent)]));
      }
    }
  }
}

/** The tallies of one bucket: one for each input of the query. */
type Tallies = readonly Tally[];

/** The records that share the values of the FACET attributes. */
export interface FacetGroup {
  readonly facet: readonly string[];
  /** By bucket; undefined where nothing was stored. */
  readonly buckets: (Tallies | undefined)[];
  /** Whether a record of it has the attribute of the first function: only such groups are shown. */
  isChosen: boolean;
}

/** One row of an answer. */
export type NrqlRow = Readonly<Record<string, ColumnValue>>;

/** The rows of an answer, and what the facets that are not shown have together. */
export interface NrqlRows {
  readonly results: readonly NrqlRow[];
  readonly otherResult: NrqlRow | readonly NrqlRow[] | null;
  readonly totalResult: NrqlRow | readonly NrqlRow[] | null;
}

/** Sorts the records of a query into groups, adds them up, and writes them as the service does. */
export class Groups {
  readonly #query: NrqlQuery;
  readonly #range: NrqlRange;
  readonly #groups = new Map<string, FacetGroup>();

  constructor(query: NrqlQuery, range: NrqlRange) {
    this.#query = query;
    this.#range = range;
  }

  group(facet: readonly string[]): FacetGroup {
    const key = facet.join('\u0000');
    const group = this.#groups.get(key) ?? { facet, buckets: [], isChosen: false };
    this.#groups.set(key, group);
    return group;
  }

  /** The tallies of a group for records of this bucket. */
  tallies(group: FacetGroup, bucket: number): Tallies {
    return (group.buckets[bucket] ??= this.#query.inputs.map(() => new Tally()));
  }

  /** The groups that may be shown, those with the most of the first column first. */
  ranked(): readonly FacetGroup[] {
    const [{ of }] = this.#query.select;
    return [...this.#groups.values()]
      .filter(({ isChosen }) => isChosen)
      .map((group) => ({ group, rank: rankOf(evaluate(of, this.#merge(group.buckets), 1)) }))
      .sort((a, b) => b.rank - a.rank || (a.group.facet.join() < b.group.facet.join() ? -1 : 1))
      .map(({ group }) => group);
  }

  /** `shown` are the groups that the limit leaves. */
  rows(shown: readonly FacetGroup[]): NrqlRows {
    const { facets, bucketMinutes } = this.#query;
    const isSeries = bucketMinutes !== undefined;
    const all = [...this.#groups.values()];
    if (facets.length === 0) return { results: this.#rowsOf(all), otherResult: null, totalResult: null };
    const isShown = new Set(shown);
    const summary = (part: readonly FacetGroup[]): NrqlRow | readonly NrqlRow[] => {
      const rows = this.#rowsOf(part);
      return isSeries ? rows : (rows[0] ?? {});
    };
    return {
      results: shown.flatMap((group) => this.#rowsOf([group], this.#facetMembers(group))),
      otherResult: summary(all.filter((group) => !isShown.has(group))),
      totalResult: summary(all),
    };
  }

  /** The columns of these groups together, in each bucket. */
  #rowsOf(groups: readonly FacetGroup[], facet: NrqlRow = {}): readonly NrqlRow[] {
    const { select, bucketMinutes } = this.#query;
    const isSeries = bucketMinutes !== undefined;
    return this.#range.buckets.map(({ begin, end }, bucket) => {
      const tallies = this.#merge(groups.map(({ buckets }) => buckets[bucket]));
      const answers = select.map(({ of, key }: SelectedColumn) => [key, evaluate(of, tallies, end - begin)] as const);
      return {
        ...facet,
        ...(isSeries ? { beginTimeSeconds: begin / 1000, endTimeSeconds: end / 1000 } : {}),
        // An empty bucket of a series is zeros, not nulls.
        ...Object.fromEntries(answers.map(([key, answer]) => [key, isSeries ? (answer ?? 0) : answer])),
      };
    });
  }

  /** One attribute: its value and a member of its name; several: their values in a list, as texts, under both names too. */
  #facetMembers({ facet }: FacetGroup): NrqlRow {
    const joined = this.#query.facets.map(({ key }) => key).join('');
    const value = facet.length === 1 ? (facet[0] ?? null) : facet;
    return { facet: value, [joined]: value };
  }

  #merge(parts: readonly (Tallies | undefined)[]): Tallies {
    if (parts.length === 1 && parts[0] !== undefined) return parts[0];
    const sum = this.#query.inputs.map(() => new Tally());
    // The list may have holes, which forEach skips.
    parts.forEach((part) => part?.forEach((tally, index) => sum[index]?.merge(tally)));
    return sum;
  }
}

/** A column over the records of a row, which is about so many milliseconds. */
function evaluate(of: NrqlExpression, tallies: Tallies, milliseconds: number): ColumnValue {
  switch (of.kind) {
    case 'number':
      return of.value;
    case 'call':
      return tallies[of.input]?.answer(of) ?? null;
    case 'rate':
      return mapNumbers(evaluate(of.of, tallies, milliseconds), (value) => (value * of.per) / milliseconds);
    default: {
      const right = evaluate(of.right, tallies, milliseconds);
      if (typeof right !== 'number' || (of.kind === '/' && right === 0)) return null;
      return mapNumbers(evaluate(of.left, tallies, milliseconds), (left) => {
        if (of.kind === '+') return left + right;
        if (of.kind === '-') return left - right;
        return of.kind === '*' ? left * right : left / right;
      });
    }
  }
}

/** The number, or each number of a `percentile`, changed; null for what is no number. */
function mapNumbers(answer: ColumnValue, change: (value: number) => number): ColumnValue {
  if (typeof answer === 'number') return change(answer);
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return null;
  const members = Object.entries(answer as Readonly<Record<string, number | null>>);
  return Object.fromEntries(members.map(([key, value]) => [key, value === null ? null : change(value)]));
}

/** What rows are ranked by: the number, the first percentile, or how many values there are; anything else ranks last. */
function rankOf(answer: ColumnValue): number {
  if (typeof answer === 'number') return answer;
  if (typeof answer !== 'object' || answer === null) return -Infinity;
  return Array.isArray(answer)
    ? answer.length
    : (Object.values(answer as Record<string, number | null>)[0] ?? -Infinity);
}
