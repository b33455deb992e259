import { CallFailure } from '../upstreamError.ts';
import { isList, isObject, type Json } from '../http/validation.ts';
import { literal } from '../../nrql/goldenMetric.ts';
import { MAX_FACETS, hasOthers } from '../../nrql/facets.ts';
import { findIncompleteMessage, readMessages, describeIncomplete } from '../../nrql/incompleteResult.ts';
import type { TimeRange } from '../upstreamReader.ts';
import { DAY_S, HOUR_S, MINUTE_S } from '../../formulas/units.ts';

/** The attribute of a stored timeslice. A query reads its members as `newrelic.timeslice.value['total']`. */
export const TIMESLICE = 'newrelic.timeslice.value';

/** Attributes for conditions and facets. `newrelic.timeslice.value` is never a facet. */
export type Attribute = 'appId' | 'host' | 'entity.guid' | 'metricTimesliceName' | 'scope' | typeof TIMESLICE;

interface NrqlParts {
  readonly select: string;
  /** A condition from the functions below, which escape all values. */
  readonly where: string;
  readonly facet?: readonly Attribute[];
  readonly range: TimeRange;
  /** Undefined: one row over the whole range. */
  readonly bucketMinutes?: number | undefined;
}

/** Writes an NRQL query in the few forms that the exporter uses. Every FACET has a LIMIT, because the default is 10. */
export function writeNrql({ select, where, facet = [], range, bucketMinutes }: NrqlParts): string {
  const parts = [
    `SELECT ${select} FROM Metric WHERE ${where}`,
    ...(facet.length === 0 ? [] : [`FACET ${facet.join(', ')}`]),
    `SINCE ${range.from * 1000} UNTIL ${range.to * 1000}`,
    ...(facet.length === 0 ? [] : ['LIMIT MAX']),
    ...(bucketMinutes === undefined ? [] : [`TIMESERIES ${bucketMinutes} minute${bucketMinutes === 1 ? '' : 's'}`]),
  ];
  return parts.join(' ');
}

/** @param values at least one value; numbers are ids */
export function whereIn(attribute: Attribute, values: readonly (string | number)[]): string {
  const literals = values.map((value) => (typeof value === 'string' ? literal(value) : String(value)));
  return literals.length === 1 ? `${attribute} = ${literals.join('')}` : `${attribute} IN (${literals.join(',')})`;
}

/** Writes a pattern; `%` matches any characters. New Relic ignores case, so callers match the returned names again. */
export function whereLike(attribute: Attribute, pattern: string): string {
  return `${attribute} LIKE ${literal(pattern)}`;
}

/** Joins conditions with AND. Skips empty conditions. */
export function joinWithAnd(conditions: readonly string[]): string {
  return conditions.filter((condition) => condition !== '').join(' AND ');
}

/** Joins conditions with OR, in brackets for use in `joinWithAnd`. Skips empty conditions. */
export function joinWithOr(conditions: readonly string[]): string {
  const some = conditions.filter((condition) => condition !== '');
  if (some.length < 2) return some.join('');
  return `(${some.map((each) => (each.includes(' AND ') ? `(${each})` : each)).join(' OR ')})`;
}

/** Moves a range back to whole steps. New Relic may move a range that is not on steps (its page "Query time range"). */
export function alignRange({ from, to }: TimeRange): TimeRange {
  const step = stepOf(to - from);
  const end = Math.floor(to / step) * step;
  return { from: end - (to - from), to: end };
}

/** Returns the seconds that both ends of a range of this length are multiples of. */
export function stepOf(seconds: number): number {
  if (seconds < HOUR_S) return 60;
  return seconds < DAY_S ? 300 : 600;
}

/** New Relic's limit for the rows of a query with buckets. Facets have another limit. */
const MAX_BUCKET_ROWS = 50_000;
/** Limits for a window's length, as shares of the requested length. New Relic may move both ends to steps. */
const MIN_SHARE = 0.8;
const MAX_SHARE = 1.25;
/** Seconds by which a response to a short range may end early. */
const MAX_LAG = 300;

/** Says why the result of a query is incomplete. Its batch is then divided. */
export class Incomplete {
  readonly why: string;
  /** False if New Relic reports another problem with the data, where a smaller query may not help. */
  readonly isTooLarge: boolean;

  constructor(why: string, isTooLarge: boolean) {
    this.why = why;
    this.isTooLarge = isTooLarge;
  }
}

export const FULL = new Incomplete(`the result reaches New Relic's limit of ${MAX_FACETS} rows`, true);

/** Reads the rows of a response. Incomplete: they reach New Relic's limit, or `otherResult` or a message says so. */
export function readCompleteRows(
  result: Json,
  facets: readonly string[],
  bucketed: boolean,
): ReturnType<typeof readResponse> | Incomplete {
  const response = readResponse(result);
  const { rows } = response;
  const isFull = bucketed
    ? rows.length >= MAX_BUCKET_ROWS || countFacets(rows, facets) >= MAX_FACETS
    : rows.length >= MAX_FACETS;
  const isCut =
    facets.length > 0 && (isFull || hasOthers(result['otherResult'], ['beginTimeSeconds', 'endTimeSeconds']));
  const messages = readMessages(result);
  const aboutData = findIncompleteMessage(messages, true);
  if (aboutData !== undefined) return new Incomplete(describeIncomplete(aboutData), false);
  if (isCut) return FULL;
  const aboutRows = findIncompleteMessage(messages, false);
  return aboutRows === undefined ? response : new Incomplete(describeIncomplete(aboutRows), true);
}

/** Reads the rows of a response, also of an incomplete one. Throws a CallFailure without a list of rows. */
export function readResponse(response: Json): {
  readonly rows: unknown[];
  /** Unix seconds, in whole minutes; undefined if the response does not say it. */
  readonly window: TimeRange | undefined;
  /** The attributes whose values a row's `facet` lists, in its order. */
  readonly facets: readonly string[];
} {
  const { results: rows } = response;
  if (!Array.isArray(rows)) throw new CallFailure('invalid_response', 'the response has no list "results"');
  const metadata = isObject(response['metadata']) ? response['metadata'] : {};
  const facets = isList(metadata['facets']) ? metadata['facets'] : [];
  const { begin, end } = isObject(metadata['timeWindow']) ? metadata['timeWindow'] : {};
  // The end may be the last millisecond of the window, so both ends are rounded to minutes.
  const [from = NaN, to = NaN] = [begin, end].map((time) =>
    typeof time === 'number' ? Math.round(time / 1000 / MINUTE_S) * MINUTE_S : NaN,
  );
  const isWindow = Number.isSafeInteger(from) && Number.isSafeInteger(to) && to > from;
  return {
    rows,
    window: isWindow ? { from, to } : undefined,
    // An unreadable name of a facet must not move the other names.
    facets: facets.map((name) => (typeof name === 'string' ? name : '')),
  };
}

/** Checks the window of a response. It may end early by one step of its length or `MAX_LAG`, but not late. */
export function checkWindow(window: TimeRange | undefined, { from, to }: TimeRange): TimeRange {
  if (window === undefined) throw new CallFailure('invalid_response', 'the response has no time window');
  const maxLag = Math.max(MAX_LAG, stepOf(to - from));
  const share = (window.to - window.from) / (to - from);
  if (to - window.to > maxLag || window.to > to || share < MIN_SHARE || share > MAX_SHARE) {
    throw new CallFailure('invalid_response', 'the response is for another time than requested');
  }
  return window;
}

/** Counts different facets in rows of buckets. Few rows need no counting. */
function countFacets(rows: readonly unknown[], facets: readonly string[]): number {
  if (rows.length < MAX_FACETS) return rows.length;
  const different = new Set<string>();
  for (const row of rows) {
    if (isObject(row)) different.add(JSON.stringify(row['facet'] ?? facets.map((name) => row[name])));
  }
  return different.size;
}
