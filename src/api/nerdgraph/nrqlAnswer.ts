import * as z from 'zod';
import { MOST_FACETS } from './nrql.ts';
import { CallFailure } from '../http/callFailure.ts';
import { isList, isObject } from '../http/jsonShape.ts';
import type { TimeRange } from '../reader.ts';

type Json = Readonly<Record<string, unknown>>;

/** The most rows of a query that asks for buckets; its facets are limited apart. */
const MOST_BUCKET_ROWS = 50_000;
/**
 * Metric data is kept in steps, and the service may answer for the nearest ones (the vendor's page "Query time range"): how
 * much earlier a window may end than was asked for, how much later, and how much of it there has to be.
 */
const MOST_EARLIER = 300;
const MOST_LATER = 60;
const LEAST_PART = 0.8;
const MINUTE = 60;
const TIMES = new Set(['beginTimeSeconds', 'endTimeSeconds']);

const metadata = z.object({
  facets: z.array(z.string()).nullish().catch(undefined),
  timeWindow: z.object({ begin: z.number(), end: z.number() }).nullish().catch(undefined),
});

/** An answer whose rows are all there. */
export interface NrqlRows {
  readonly rows: readonly unknown[];
  /** Unix seconds, whole minutes: the range that was answered; undefined where the answer does not say it. */
  readonly window: TimeRange | undefined;
  /** The attributes that `facet` lists, in its order. */
  readonly facets: readonly string[];
}

/**
 * What surrounds the rows of an answer. Undefined where rows are missing, which the service does not say in words: there are
 * as many as one answer holds, or something is left for `otherResult`. Throws a CallFailure where there are no rows to read.
 */
export function rowsOf(answer: Json, facets: readonly string[], bucketed: boolean): NrqlRows | undefined {
  const rows = answer['results'];
  if (!isList(rows)) throw new CallFailure('invalid_response', 'the answer has no list "results"');
  const isFull = bucketed
    ? rows.length >= MOST_BUCKET_ROWS || countFacets(rows, facets) >= MOST_FACETS
    : rows.length >= MOST_FACETS;
  if (facets.length > 0 && (isFull || hasOthers(answer['otherResult']))) return undefined;
  const { data } = metadata.safeParse(answer['metadata']);
  const answered = data?.facets ?? [];
  return { rows, window: windowOf(data?.timeWindow), facets: sameMembers(answered, facets) ? answered : facets };
}

/** The window that values were answered for. Throws a CallFailure where it is too far from the one that was asked for. */
export function nearWindow({ window }: NrqlRows, { from, to }: TimeRange): TimeRange {
  if (window === undefined) throw new CallFailure('invalid_response', 'the answer does not say which time it is for');
  const isNear = to - window.to <= MOST_EARLIER && window.to - to <= MOST_LATER;
  if (!isNear || window.to - window.from < LEAST_PART * (to - from)) {
    throw new CallFailure('invalid_response', 'the answer is for another time than was asked for');
  }
  return window;
}

/** On whole minutes, because an end may be given inclusive. */
function windowOf(
  answered: { readonly begin: number; readonly end: number } | null | undefined,
): TimeRange | undefined {
  if (answered === null || answered === undefined) return undefined;
  const [from = 0, to = 0] = [answered.begin, answered.end].map((time) => Math.round(time / 1000 / MINUTE) * MINUTE);
  return Number.isSafeInteger(from) && Number.isSafeInteger(to) && to > from ? { from, to } : undefined;
}

/** Reads the facets of the rows of one answer. */
export class Facets {
  readonly #names: readonly string[];
  /** Where in `facet` each value stands. */
  readonly #places: readonly number[];
  readonly #count: number;
  /** The values of the last row: there are thousands of rows. */
  readonly #values: string[] = [];

  /**
   * @param answered the attributes that `facet` lists, in its order
   * @param asked the attributes to read, in the order in which they are given
   */
  constructor(answered: readonly string[], asked: readonly string[]) {
    this.#names = asked;
    this.#places = asked.map((attribute) => answered.indexOf(attribute));
    this.#count = answered.length;
  }

  /**
   * The values of the facets of a row, in the order asked for; undefined when they cannot be read. With one facet `facet` is
   * a text, with several a list; where it is absent, they stand under the names of the attributes. The next call changes what
   * this one gave.
   */
  of(row: Json): readonly string[] | undefined {
    const { facet } = row;
    const values = this.#values;
    for (let index = 0; index < this.#names.length; index += 1) {
      let value: unknown;
      if (facet === undefined || facet === null) value = row[this.#names[index] ?? ''];
      else if (isList(facet)) value = facet.length === this.#count ? facet[this.#places[index] ?? -1] : undefined;
      else value = this.#count === 1 ? facet : undefined;
      // Whether a number arrives as a text is not documented; with several facets it was seen so.
      if (typeof value === 'number') values[index] = String(value);
      else if (typeof value === 'string' && value !== '') values[index] = value;
      else return undefined;
    }
    return values;
  }
}

/** How many different facets the rows of buckets have, or how many rows where those are too few to matter. */
function countFacets(rows: readonly unknown[], facets: readonly string[]): number {
  if (rows.length < MOST_FACETS) return rows.length;
  const different = new Set<string>();
  for (const row of rows) {
    if (isObject(row)) different.add(JSON.stringify(row['facet'] ?? facets.map((name) => row[name])));
  }
  return different.size;
}

/** One object, or one for each bucket. */
function hasOthers(others: unknown): boolean {
  const all = isList(others) ? others : [others];
  return all.some(
    (other) =>
      isObject(other) &&
      Object.entries(other).some(([name, value]) => typeof value === 'number' && value > 0 && !TIMES.has(name)),
  );
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && b.every((each) => a.includes(each));
}
