import * as z from 'zod';
import { MOST_FACETS } from './nrql.ts';
import { Truncated } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import { isList, isObject } from '../http/jsonShape.ts';
import type { TimeRange } from '../reader.ts';
import { inTurns } from '../../eventLoop/turns.ts';

type Json = Readonly<Record<string, unknown>>;

/** The most rows of a query that asks for buckets; its facets are limited apart. */
export const MOST_BUCKET_ROWS = 50_000;
/** So many rows are read before other work gets its turn. */
const ROWS_PER_TURN = 500;
/** How far the answered range may be from the one that was asked for, milliseconds. */
const TOLERANCE_MS = 60_000;
const TIMES = new Set(['beginTimeSeconds', 'endTimeSeconds']);

const metadata = z.object({
  facets: z.array(z.string()).nullish().catch(undefined),
  timeWindow: z.object({ begin: z.number(), end: z.number() }),
});

/** An answer whose rows are all there. */
export interface NrqlAnswer {
  readonly rows: readonly unknown[];
  /** Unix seconds: the range that was answered. */
  readonly window: TimeRange;
  /** The attributes that `facet` lists, in its order. */
  readonly facets: readonly string[];
}

/**
 * Checks what surrounds the rows. Throws Truncated where rows are missing, which the service does not say in words: there are
 * as many as one answer holds, or something is left for `otherResult`. Throws a CallFailure where the answer is for another
 * range than was asked for.
 */
export function checkAnswer(
  answer: Json,
  asked: { readonly range: TimeRange; readonly facets: readonly string[]; readonly bucketed: boolean },
): NrqlAnswer {
  const rows = answer['results'];
  if (!isList(rows)) throw new CallFailure('invalid_response', 'the answer has no list "results"');
  const isFull = asked.bucketed
    ? rows.length >= MOST_BUCKET_ROWS || countFacets(rows, asked.facets) >= MOST_FACETS
    : rows.length >= MOST_FACETS;
  if (asked.facets.length > 0 && (isFull || hasOthers(answer['otherResult']))) {
    throw new Truncated('the service left rows out');
  }
  const parsed = metadata.safeParse(answer['metadata']);
  if (!parsed.success) throw new CallFailure('invalid_response', 'the answer does not say which time it is for');
  const { facets, timeWindow } = parsed.data;
  const { from, to } = asked.range;
  const off = Math.max(Math.abs(timeWindow.begin - from * 1000), Math.abs(timeWindow.end - to * 1000));
  if (off > TOLERANCE_MS || timeWindow.end <= timeWindow.begin) {
    throw new CallFailure('invalid_response', 'the answer is for another time than was asked for');
  }
  return {
    rows,
    window: { from: timeWindow.begin / 1000, to: timeWindow.end / 1000 },
    facets: sameMembers(facets ?? [], asked.facets) ? (facets ?? []) : asked.facets,
  };
}

/** Hands each row over, with pauses in which other work goes on. */
export function eachRow(rows: readonly unknown[], take: (row: unknown) => void): Promise<void> {
  return inTurns(rows, ROWS_PER_TURN, take);
}

/** An attribute, and where in `facet` its value stands. */
interface FacetPlace {
  readonly attribute: string;
  readonly index: number;
}

/** Reads the facets of the rows of one answer. */
export class Facets {
  readonly #places: readonly FacetPlace[];
  readonly #count: number;

  /**
   * @param answered the attributes that `facet` lists, in its order
   * @param asked the attributes to read, in the order in which they are given
   */
  constructor(answered: readonly string[], asked: readonly string[]) {
    this.#places = asked.map((attribute) => ({ attribute, index: answered.indexOf(attribute) }));
    this.#count = answered.length;
  }

  /**
   * The values of the facets of a row, in the order asked for; undefined when they cannot be read. With one facet `facet` is
   * a text, with several a list; where it is absent, they stand under the names of the attributes.
   */
  of(row: Json): readonly string[] | undefined {
    const { facet } = row;
    const listed = isList(facet) ? facet : facet === undefined || facet === null ? undefined : [facet];
    if (listed !== undefined && listed.length !== this.#count) return undefined;
    const values: string[] = [];
    for (const { attribute, index } of this.#places) {
      const value = listed === undefined ? row[attribute] : listed[index];
      // Whether a number arrives as a text is not documented; with several facets it was seen so.
      if (typeof value === 'string' && value !== '') values.push(value);
      else if (typeof value === 'number') values.push(String(value));
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
