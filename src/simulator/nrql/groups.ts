import type { Timeslice } from '../world/timeslice.ts';
import type { Expression, NrqlQuery, SelectedFunction } from './query.ts';
import type { Reader } from './readings.ts';
import { readerOf } from './readings.ts';
import type { Series } from './series.ts';
import { Tally } from './tally.ts';

/** The tallies of one bucket: one per distinct expression of the query. */
export type Tallies = readonly Tally[];

/** The records that share the values of the FACET attributes. */
export interface Group {
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
