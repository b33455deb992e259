import { CallFailure } from '../upstreamError.ts';
import { isList, hasMembers, type Json } from '../http/validation.ts';
import { literal } from '../../nrql/goldenMetric.ts';
import { MAX_FACETS, hasOthers } from '../../nrql/facets.ts';
import { incompleteWords, messagesIn, notWhole } from '../../nrql/incompleteResult.ts';
import type { TimeRange } from '../upstreamReader.ts';
import { DAY_S, HOUR_S, MINUTE_S } from '../../formulas/units.ts';

/** One stored timeslice record; its members are read as `newrelic.timeslice.value['total']`. */
export const TIMESLICE = 'newrelic.timeslice.value';

/** The attributes of conditions and facets; `newrelic.timeslice.value` is never a facet. */
export type Attribute = 'appId' | 'host' | 'entity.guid' | 'metricTimesliceName' | 'scope' | typeof TIMESLICE;

/**
 * A query in NRQL, in the few forms that the exporter uses. Every FACET has a limit, because the default is 10.
 *
 * @param parts.where made by the functions below, which escape all values
 * @param parts.range Unix seconds in whole minutes; `to` is exclusive
 * @param parts.bucketMinutes minutes per bucket; undefined: one row over the whole range
 */
export function writeNrql({
  select,
  where,
  facet = [],
  range,
  bucketMinutes,
}: {
  readonly select: string;
  readonly where: string;
  readonly facet?: readonly Attribute[];
  readonly range: TimeRange;
  readonly bucketMinutes?: number | undefined;
}): string {
  const parts = [
    `SELECT ${select} FROM Metric WHERE ${where}`,
    ...(facet.length === 0 ? [] : [`FACET ${facet.join(', ')}`]),
    `SINCE ${range.from * 1000} UNTIL ${range.to * 1000}`,
    ...(facet.length === 0 ? [] : ['LIMIT MAX']),
    ...(bucketMinutes === undefined ? [] : [`TIMESERIES ${bucketMinutes} minute${bucketMinutes === 1 ? '' : 's'}`]),
  ];
  return parts.join(' ');
}

/** @param values at least one; numbers are ids */
export function whereIn(attribute: Attribute, values: readonly (string | number)[]): string {
  const literals = values.map((value) => (typeof value === 'string' ? literal(value) : String(value)));
  return literals.length === 1 ? `${attribute} = ${literals.join('')}` : `${attribute} IN (${literals.join(',')})`;
}

/** `%` stands for any characters; New Relic ignores case, so callers match the returned names again. */
export function whereLike(attribute: Attribute, pattern: string): string {
  return `${attribute} LIKE ${literal(pattern)}`;
}

/** The conditions together; an empty one is left out. */
export function joinWithAnd(conditions: readonly string[]): string {
  return conditions.filter((condition) => condition !== '').join(' AND ');
}

/** Any of the conditions, ready to be a part of `all`; an empty one is left out. */
export function joinWithOr(conditions: readonly string[]): string {
  const some = conditions.filter((condition) => condition !== '');
  if (some.length < 2) return some.join('');
  return `(${some.map((each) => (each.includes(' AND ') ? `(${each})` : each)).join(' OR ')})`;
}

/** The range moved back to whole steps, with the same length: New Relic may move any other (its page "Query time range"). */
export function alignRange({ from, to }: TimeRange): TimeRange {
  const step = stepOf(to - from);
  const end = Math.floor(to / step) * step;
  return { from: end - (to - from), to: end };
}

/** The step, in seconds, on which both ends of a range of this length have to be. */
export function stepOf(seconds: number): number {
  if (seconds < HOUR_S) return 60;
  return seconds < DAY_S ? 300 : 600;
}

/** The most rows of a query with buckets; facets have a limit of their own. */
const MAX_BUCKET_ROWS = 50_000;
/** Limits for the length of a response's window, in shares of the requested length: New Relic may move both ends to steps. */
const MIN_SHARE = 0.8;
const MAX_SHARE = 1.25;
/** The most seconds that a response to a short range may end before the requested time. */
const MAX_LAG = 300;
const TIMES = ['beginTimeSeconds', 'endTimeSeconds'];

/** Why a query has no result that can be used as it is, so that it is read in parts. */
export class Incomplete {
  readonly why: string;
  /** False where New Relic says something else of the data, so that a smaller query need not help. */
  readonly isTooLarge: boolean;

  constructor(why: string, isTooLarge: boolean) {
    this.why = why;
    this.isTooLarge = isTooLarge;
  }
}

export const FULL = new Incomplete(`it has ${MAX_FACETS} rows, the most of New Relic, or more`, true);

/**
 * The rows of a response; why not where rows or data are missing: there are as many rows as New Relic's limit allows,
 * `otherResult` has data, or a message says that the result is not whole.
 */
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
  const isCut = facets.length > 0 && (isFull || hasOthers(result['otherResult'], TIMES));
  const messages = messagesIn(result);
  const aboutData = incompleteWords(messages, true);
  if (aboutData !== undefined) return new Incomplete(notWhole(aboutData), false);
  if (isCut) return FULL;
  const aboutRows = incompleteWords(messages, false);
  return aboutRows === undefined ? response : new Incomplete(notWhole(aboutRows), true);
}

/** The rows of a response, even if some are missing. Throws a CallFailure where there is no list of rows. */
export function readResponse(response: Json): {
  readonly rows: unknown[];
  /** Unix seconds, whole minutes: the range of the response; undefined where it does not say it. */
  readonly window: TimeRange | undefined;
  /** The attributes that `facet` lists, in its order. */
  readonly facets: readonly string[];
} {
  const rows = response['results'];
  if (!Array.isArray(rows)) throw new CallFailure('invalid_response', 'the response has no list "results"');
  const metadata = hasMembers(response['metadata']) ? response['metadata'] : {};
  const facets = isList(metadata['facets']) ? metadata['facets'] : [];
  const { begin, end } = hasMembers(metadata['timeWindow']) ? metadata['timeWindow'] : {};
  // Rounded to whole minutes, because the end may be the last millisecond of the window.
  const [from = NaN, to = NaN] = [begin, end].map((time) =>
    typeof time === 'number' ? Math.round(time / 1000 / MINUTE_S) * MINUTE_S : NaN,
  );
  const isWindow = Number.isSafeInteger(from) && Number.isSafeInteger(to) && to > from;
  return {
    rows,
    window: isWindow ? { from, to } : undefined,
    // A facet whose name is no text loses only its name.
    facets: facets.map((name) => (typeof name === 'string' ? name : '')),
  };
}

/** The window of a response, which may end a step of its length earlier than requested, at least 5 minutes, and not later. */
export function checkWindow(window: TimeRange | undefined, { from, to }: TimeRange): TimeRange {
  if (window === undefined) throw new CallFailure('invalid_response', 'the response does not say which time it is for');
  const maxLag = Math.max(MAX_LAG, stepOf(to - from));
  const share = (window.to - window.from) / (to - from);
  if (to - window.to > maxLag || window.to > to || share < MIN_SHARE || share > MAX_SHARE) {
    throw new CallFailure('invalid_response', 'the response is for another time than requested');
  }
  return window;
}

/** The number of different facets in rows of buckets; or the number of rows, where that is below the limit of facets. */
function countFacets(rows: readonly unknown[], facets: readonly string[]): number {
  if (rows.length < MAX_FACETS) return rows.length;
  const different = new Set<string>();
  for (const row of rows) {
    if (hasMembers(row)) different.add(JSON.stringify(row['facet'] ?? facets.map((name) => row[name])));
  }
  return different.size;
}
