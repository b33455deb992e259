import { isObject, isList, type Json } from '../../api/http/validation.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import type { Application } from '../../api/types.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import type { TimeRange } from '../../api/upstreamReader.ts';
import { sumBy } from '../grouping.ts';
import type { Judged, Seen } from './evidence.ts';
import { AGES, observeCount, decide, observeRatio, leaveUndecided, observeWord } from './evidence.ts';

/** The result of a successful query, with its range and applications. */
export interface Answer {
  readonly result: Json;
  readonly rows: readonly Json[];
  /** The range according to the result. */
  readonly window: TimeRange | undefined;
  readonly range: TimeRange;
  readonly largest: readonly Application[];
}

export function objectsIn(value: unknown): readonly Json[] {
  return isList(value) ? value.filter(isObject) : [];
}

export function numberAt(row: unknown, key: string): number {
  const value = isObject(row) ? row[key] : undefined;
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

export const facetsOf = ({ facet }: Json): readonly string[] => [facet].flat().map(String);
const tooFew = (rows: readonly unknown[]): Judged => leaveUndecided('too few rows', observeCount('rows', rows.length));

export function limitMax({ rows, result: { otherResult } }: Answer): Judged {
  if (rows.length < 5_000 && numberAt(otherResult, 'c') === 0) return tooFew(rows);
  return decide(rows.length === 5_000, observeCount('rows', rows.length));
}

/** Judges a query with a limit of five, which leaves rows out. */
export function otherResult({ rows, result }: Answer): Judged {
  if (rows.length < 5) return tooFew(rows);
  const others = result['otherResult'];
  return decide(numberAt(others, 'c') > 0, observeWord('shape', isObject(others) ? 'number' : 'absent'));
}

/** Checks that a limit keeps the facets with the most records (column `n`) or with the greatest sums (column `s`). */
export function judgeLimit(assumed: 'by records' | 'by sum', { rows: keptRows }: Answer, { rows: allRows }: Answer) {
  if (keptRows.length === 0 || allRows.length <= keptRows.length) return tooFew(allRows);
  const names = new Set(keptRows.map((row) => facetsOf(row).join()));
  const inside = allRows.filter((row) => names.has(facetsOf(row).join()));
  const areMost = (key: 's' | 'n'): boolean => {
    const least = allRows.map((row) => numberAt(row, key)).toSorted((a, b) => b - a)[keptRows.length - 1] ?? 0;
    return inside.length === keptRows.length && inside.every((row) => numberAt(row, key) >= least);
  };
  const isSo = areMost(assumed === 'by sum' ? 's' : 'n');
  if (isSo && assumed === 'by records' && areMost('s')) return leaveUndecided('traffic hardly changes');
  return decide(isSo, observeWord('shape', isSo ? assumed : 'unordered'));
}

/** Column `c` is count(*), `n` is datapointCount(), `k` is count() of the metric. */
export function countOfMetrics({ rows: [row] }: Answer): Judged {
  const [counts, points, metricCounts] = ['c', 'n', 'k'].map((key) => numberAt(row, key));
  if (points === 0) return leaveUndecided('no traffic');
  if (metricCounts === points) return leaveUndecided('traffic hardly changes');
  const shape = counts === metricCounts ? 'sum of counts' : counts === points ? 'number of points' : 'other';
  return decide(counts === metricCounts, observeWord('shape', shape));
}

/** Checks that each row has the id of an application at the index of the facet `appId`. */
export function facets({ rows, result: { metadata }, largest }: Answer): Judged {
  if (rows.length === 0) return tooFew(rows);
  const names = isObject(metadata) && isList(metadata['facets']) ? metadata['facets'] : [];
  const position = Math.max(0, names.indexOf('appId'));
  const ids = largest.map(({ id }) => String(id));
  const areIds = rows.every(({ facet }) => isList(facet) && ids.includes(String(facet[position])));
  const areTexts = areIds && rows.flatMap(({ facet }) => facet).every((each) => typeof each === 'string');
  return decide(areTexts, observeWord('shape', areTexts ? 'list of texts' : areIds ? 'list' : 'other'));
}

export const data = ({ rows }: Answer): Judged => decide(rows.some((row) => numberAt(row, 'c') > 0));

/** Checks that each end of the window is at most `maxShift` seconds from the requested end. */
export function judgeWindow(maxShift: number, { range, window }: Pick<Answer, 'range' | 'window'>): Judged {
  if (window === undefined) return decide(false, observeWord('shape', 'absent'));
  const length = range.to - range.from;
  const shift = Math.max(Math.abs(range.to - window.to), Math.abs(range.from - window.from));
  const part = (window.to - window.from) / length;
  const seen = [observeRatio('answered by asked', part), observeRatio('shift by asked', shift / length)];
  return decide(shift <= maxShift, ...seen);
}

/** Tolerates differences: two hosts may share a name, and hosts may start or end within the hour. */
export function hosts({ rows, largest }: Answer): Judged {
  const share = rows.length / sumBy(largest, ({ hosts: expected = 0 }) => expected);
  if (share === Infinity || Number.isNaN(share)) return leaveUndecided('no host');
  const seen = [observeCount('hosts', rows.length), observeRatio('seen by expected', share)];
  return decide(share > 0.75 && share < 1.34, ...seen);
}

export function percentile({ rows: [row] }: Answer): Judged {
  if (numberAt(row, 'n') === 0) return leaveUndecided('too few events');
  const value = row?.['p'];
  const shape = isObject(value) ? `key "${Object.keys(value).join()}"` : value === null ? 'null' : typeof value;
  return decide(['key "75"', 'key "75.0"'].includes(shape), observeWord('shape', shape));
}

/** Checks that some event has each field. Fewer than `minEvents` events may lack a field by chance. */
export function judgeFields(fields: readonly string[], minEvents: number, { rows }: Pick<Answer, 'rows'>): Judged {
  const [row] = rows;
  const events = numberAt(row, 'n');
  const missing = fields.filter((_, index) => numberAt(row, `f${index}`) === 0);
  if (events === 0 || (missing.length > 0 && events < minEvents)) return leaveUndecided('too few events');
  return decide(missing.length === 0, ...missing.map((field) => observeWord('field', field, fields)));
}

const errorClassOf = (end: NrqlEnd): Seen =>
  observeWord('error class', (end instanceof UpstreamError ? end.failure.code : undefined) ?? 'none');

/** Returns `differs` if New Relic rejects the query. Throws any other error, because the call failed. */
export function judgeAcceptance(end: NrqlEnd): Judged {
  const isError = end instanceof UpstreamError;
  if (isError && !['other', 'invalid_response'].includes(end.failure.reason)) throw end;
  return isError || typeof end === 'string' ? decide(false, errorClassOf(end)) : decide(true);
}

export const judgeRefusal = (reason: 'other' | 'forbidden') => (end: NrqlEnd) =>
  decide(end instanceof UpstreamError && end.failure.reason === reason, errorClassOf(end));

/** A minute is complete at this share of its final value. */
const COMPLETE = 0.99;

/** Finds the delay after which a minute is complete. `readings` are its calls by age in minutes; the last is final. */
export function judgeLate(readings: readonly (readonly [age: number, calls: number])[], delayMinutes: number): Judged {
  const [, last = 0] = readings.at(-1) ?? [];
  if (readings.length < 2) return leaveUndecided('needs --wait');
  if (last === 0) return leaveUndecided('no traffic');
  const [enough = Infinity] = readings[readings.findLastIndex(([, calls]) => calls < COMPLETE * last) + 1] ?? [];
  const seen = readings
    .slice(0, -1)
    .map(([age, c]) => observeRatio(`of the final count after ${age} minutes`, c / last));
  const delay = AGES.find((age) => age >= enough);
  const needed = observeWord('delay', delay === undefined ? 'more than 10m' : `${delay}m`);
  return decide(enough <= Math.max(delayMinutes, AGES[0]), ...seen, needed);
}
