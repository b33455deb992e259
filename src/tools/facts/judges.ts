import { isObject, isList, type Json } from '../../api/http/validation.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import type { Application } from '../../api/types.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import type { TimeRange } from '../../api/upstreamReader.ts';
import { sumOf } from '../grouping.ts';
import { AGES, count, holds, ratio, undecided, word, type Judged, type Seen } from './evidence.ts';

/** The result of a query that succeeded, and what it was about. */
export interface Answer {
  readonly result: Json;
  /** The objects among its results. */
  readonly rows: readonly Json[];
  /** The range that it says, and the requested one. */
  readonly window: TimeRange | undefined;
  readonly range: TimeRange;
  readonly largest: readonly Application[];
}

/** The objects of a list; none where there is no list. */
export function objectsIn(value: unknown): readonly Json[] {
  return isList(value) ? value.filter(isObject) : [];
}

/** The number at a key of a row; 0 without one. */
export function numberAt(row: unknown, key: string): number {
  const value = isObject(row) ? row[key] : undefined;
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

export const facetsOf = ({ facet }: Json): readonly string[] => [facet].flat().map(String);
const tooFew = (rows: readonly unknown[]): Judged => undecided('too few rows', count('rows', rows.length));

export function limitMax({ rows, result: { otherResult } }: Answer): Judged {
  if (rows.length < 5_000 && numberAt(otherResult, 'c') === 0) return tooFew(rows);
  return holds(rows.length === 5_000, count('rows', rows.length));
}

/** The query leaves rows out, because it has a limit of five. */
export function otherResult({ rows, result }: Answer): Judged {
  if (rows.length < 5) return tooFew(rows);
  const others = result['otherResult'];
  return holds(numberAt(others, 'c') > 0, word('shape', isObject(others) ? 'number' : 'absent'));
}

/** Whether a limit keeps those of all facets that have the most records, as column `n`, or the greatest sum, as `s`. */
export function keptBy(assumed: 'by records' | 'by sum', { rows: kept }: Answer, { rows: all }: Answer): Judged {
  if (kept.length === 0 || all.length <= kept.length) return tooFew(all);
  const names = new Set(kept.map((row) => facetsOf(row).join()));
  const inside = all.filter((row) => names.has(facetsOf(row).join()));
  const areMost = (key: 's' | 'n'): boolean => {
    const least = all.map((row) => numberAt(row, key)).toSorted((a, b) => b - a)[kept.length - 1] ?? 0;
    return inside.length === kept.length && inside.every((row) => numberAt(row, key) >= least);
  };
  const isSo = areMost(assumed === 'by sum' ? 's' : 'n');
  if (isSo && assumed === 'by records' && areMost('s')) return undecided('traffic hardly changes');
  return holds(isSo, word('shape', isSo ? assumed : 'unordered'));
}

/** `c` is count(*), `n` datapointCount(), `k` the count of the metric's own values. */
export function countOfMetrics({ rows: [row] }: Answer): Judged {
  const [all, points, own] = ['c', 'n', 'k'].map((key) => numberAt(row, key));
  if (points === 0) return undecided('no traffic');
  if (own === points) return undecided('traffic hardly changes');
  const shape = all === own ? 'sum of counts' : all === points ? 'number of points' : 'other';
  return holds(all === own, word('shape', shape));
}

/** Each row has the id of an application at the index of `appId`, which is the first facet of the query. */
export function facets({ rows, result: { metadata }, largest }: Answer): Judged {
  if (rows.length === 0) return tooFew(rows);
  const names = isObject(metadata) && isList(metadata['facets']) ? metadata['facets'] : [];
  const position = Math.max(0, names.indexOf('appId'));
  const ids = largest.map(({ id }) => String(id));
  const areIds = rows.every(({ facet }) => isList(facet) && ids.includes(String(facet[position])));
  const areTexts = areIds && rows.flatMap(({ facet }) => facet).every((each) => typeof each === 'string');
  return holds(areTexts, word('shape', areTexts ? 'list of texts' : areIds ? 'list' : 'other'));
}

export const data = ({ rows }: Answer): Judged => holds(rows.some((row) => numberAt(row, 'c') > 0));

/** Each end of the window may be at most `maxShift` seconds from the requested one. */
export function windowOf(maxShift: number, { range, window }: Pick<Answer, 'range' | 'window'>): Judged {
  if (window === undefined) return holds(false, word('shape', 'absent'));
  const length = range.to - range.from;
  const shift = Math.max(Math.abs(range.to - window.to), Math.abs(range.from - window.from));
  const part = (window.to - window.from) / length;
  return holds(shift <= maxShift, ratio('answered by asked', part), ratio('shift by asked', shift / length));
}

/** Tolerates differences, because two hosts may share a name, and one may have come or gone within the hour. */
export function hosts({ rows, largest }: Answer): Judged {
  const share = rows.length / sumOf(largest, ({ hosts: expected = 0 }) => expected);
  if (share === Infinity || Number.isNaN(share)) return undecided('no host');
  return holds(share > 0.75 && share < 1.34, count('hosts', rows.length), ratio('seen by expected', share));
}

export function percentile({ rows: [row] }: Answer): Judged {
  if (numberAt(row, 'n') === 0) return undecided('too few events');
  const value = row?.['p'];
  const shape = isObject(value) ? `key "${Object.keys(value).join()}"` : value === null ? 'null' : typeof value;
  return holds(['key "75"', 'key "75.0"'].includes(shape), word('shape', shape));
}

/** Whether each field is on one of the events; fewer than `minEvents` may lack it by chance. */
export function fieldsOf(fields: readonly string[], minEvents: number, { rows: [row] }: Pick<Answer, 'rows'>): Judged {
  const events = numberAt(row, 'n');
  const missing = fields.filter((_, index) => numberAt(row, `f${index}`) === 0);
  if (events === 0 || (missing.length > 0 && events < minEvents)) return undecided('too few events');
  return holds(missing.length === 0, ...missing.map((field) => word('field', field, fields)));
}

const errorClassOf = (end: NrqlEnd): Seen =>
  word('error class', (end instanceof UpstreamError ? end.failure.code : undefined) ?? 'none');

/** A complaint about the query means that the fact differs. Throws any other error, as a failure of the call. */
export function accepted(end: NrqlEnd): Judged {
  const isError = end instanceof UpstreamError;
  if (isError && !['other', 'invalid_response'].includes(end.failure.reason)) throw end;
  return isError || typeof end === 'string' ? holds(false, errorClassOf(end)) : holds(true);
}

export const refusedAs = (reason: 'other' | 'forbidden') => (end: NrqlEnd) =>
  holds(end instanceof UpstreamError && end.failure.reason === reason, errorClassOf(end));

/** The share of its final value at which a minute counts as complete. */
const COMPLETE = 0.99;

/** Decides which delay is enough for a minute, by its calls at ages in minutes after its end; the last are final. */
export function judgeLate(readings: readonly (readonly [age: number, calls: number])[], delayMinutes: number): Judged {
  const [, last = 0] = readings.at(-1) ?? [];
  if (readings.length < 2) return undecided('needs --wait');
  if (last === 0) return undecided('no traffic');
  const [enough = Infinity] = readings[readings.findLastIndex(([, calls]) => calls < COMPLETE * last) + 1] ?? [];
  const seen = readings.slice(0, -1).map(([age, c]) => ratio(`of the final count after ${age} minutes`, c / last));
  const delay = AGES.find((age) => age >= enough);
  const needed = word('delay', delay === undefined ? 'more than 10m' : `${delay}m`);
  return holds(enough <= Math.max(delayMinutes, AGES[0]), ...seen, needed);
}
