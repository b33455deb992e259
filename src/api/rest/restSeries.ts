import { planChunks, type SeriesLimits } from '../seriesChunks.ts';
import type { SeriesChunk, TimeRange, MetricDataResult, MetricSeries } from '../upstreamReader.ts';
import { secondsOf, type Timeslice, type MetricData } from '../types.ts';
import { DAY_S, HOUR_S } from '../../formulas/units.ts';

/**
 * Limits of the REST interface. Ranges of up to 3 hours are returned by the minute. Ranges of more than 4 and up to 7 days are
 * returned by the hour, even recent ones; shorter ranges are not, even old ones (New Relic's "Extract metric timeslice data").
 */
const LIMITS: SeriesLimits = {
  longestByMinute: 3 * HOUR_S,
  longestByHour: 7 * DAY_S,
  shortestByHour: 97 * HOUR_S,
  stepOf: () => 60,
};

/** Plans the calls for a range of samples within the limits of the REST interface; see `SeriesRead.chunks`. */
export function planRestChunks(range: TimeRange, window: number, now: number): SeriesChunk[] {
  return planChunks(range, window, now, LIMITS);
}

/**
 * Rules that calculate a summarized value from its minutes, by value name. A value name without a rule is left out: it cannot be
 * calculated from minutes (such as a standard deviation), or no calculation reads it.
 */
const RULES: Readonly<
  Record<string, (slices: readonly Timeslice[], value: string, seconds: number) => number | undefined>
> = {
  call_count: sum,
  count: sum,
  error_count: sum,
  s: sum,
  t: sum,
  f: sum,
  average_response_time: byCalls,
  average_call_time: byCalls,
  requests_per_minute: overTime,
  percent: overTime,
  total_used_mb: whilePresent,
  used_mb_by_host: whilePresent,
  threshold: highest,
  score: apdexScore,
};

function hasRule(valueName: string): boolean {
  return Object.hasOwn(RULES, valueName);
}

/**
 * The values that a summarized response over `seconds` would have, from its timeslices of one metric, in any order: counts are
 * summed; averages are weighted by `call_count` (by time where no timeslice has one); per-minute rates and percentages are
 * averaged over all of `seconds` (a missing minute counts as 0); memory is averaged over the time in which it was reported; an
 * Apdex threshold is the highest; an Apdex score is calculated again from its counts.
 */
export function mergeTimeslices(timeslices: readonly Timeslice[], seconds: number): Timeslice['values'] {
  const names = new Set(timeslices.flatMap((slice) => Object.keys(slice.values)));
  const values: Record<string, number> = {};
  for (const name of names) {
    const rule = hasRule(name) ? RULES[name] : undefined;
    const merged = rule?.(timeslices, name, seconds);
    if (merged !== undefined && Number.isFinite(merged)) values[name] = merged;
  }
  return values;
}

function sum(slices: readonly Timeslice[], value: string): number | undefined {
  return total(slices, (slice) => slice.values[value] ?? 0);
}

function highest(slices: readonly Timeslice[], value: string): number | undefined {
  return slices.reduce((most, slice) => Math.max(most, slice.values[value] ?? -Infinity), -Infinity);
}

/** The average over all seconds of the window: a missing minute counts as 0 (`percent` is CPU time per wall clock time). */
function overTime(slices: readonly Timeslice[], value: string, seconds: number): number | undefined {
  return total(slices, (slice) => (slice.values[value] ?? 0) * secondsOf(slice)) / seconds;
}

function whilePresent(slices: readonly Timeslice[], value: string): number | undefined {
  return weighted(slices, value, secondsOf);
}

function byCalls(slices: readonly Timeslice[], value: string): number | undefined {
  const counted = slices.some((slice) => slice.values['call_count'] !== undefined);
  if (!counted) return whilePresent(slices, value);
  return weighted(slices, value, (slice) => slice.values['call_count'] ?? 0);
}

/** The weighted mean of the timeslices that have the value; 0 where all weights are 0, as New Relic returns without data. */
function weighted(
  slices: readonly Timeslice[],
  value: string,
  weight: (slice: Timeslice) => number,
): number | undefined {
  const present = slices.filter((slice) => slice.values[value] !== undefined);
  const weights = total(present, weight);
  if (weights === 0) return 0;
  return total(present, (slice) => (slice.values[value] ?? 0) * weight(slice)) / weights;
}

/** The Apdex score by its definition, (satisfied + tolerating / 2) / count; 0 without requests, as New Relic returns. */
function apdexScore(slices: readonly Timeslice[]): number | undefined {
  const count = total(slices, countOf);
  if (count === 0) return 0;
  const known = slices.every((slice) => countOf(slice) === 0 || pointsOf(slice) !== undefined);
  return known ? total(slices, (slice) => pointsOf(slice) ?? 0) / count : undefined;
}

function countOf({ values: { s = 0, t = 0, f = 0, count = s + t + f } }: Timeslice): number {
  return count;
}

/** Satisfied requests plus half of the tolerating ones; calculated from the score where a timeslice does not contain them. */
function pointsOf({ values: { s, t, score, count } }: Timeslice): number | undefined {
  if (s !== undefined && t !== undefined) return s + t / 2;
  return score === undefined || count === undefined ? undefined : score * count;
}

function total(slices: readonly Timeslice[], of: (slice: Timeslice) => number): number {
  return slices.reduce((accumulated, slice) => accumulated + of(slice), 0);
}

/**
 * Metrics whose zeros mean "not reported". New Relic fills missing timeslices of a series with zeros, which a summarized response
 * does not have: they would mean no memory, a threshold of 0, or no errors where the metric may not exist.
 */
const NEVER_ZERO: ReadonlySet<string> = new Set(['Errors/all', 'Apdex', 'EndUser/Apdex', 'Memory/Physical']);

/** The part of a response that a series keeps: the timeslices of the chunk, with the values that `summarizeSeries` reads. */
export function toSeries(data: MetricData, names: readonly string[], chunk: SeriesChunk): MetricSeries {
  const metrics = names.flatMap((name) => {
    const timeslices = (data.get(name) ?? []).flatMap((timeslice) => spread(timeslice, chunk));
    const kept = timeslices.filter(({ from }) => from >= chunk.from && from < chunk.to).map(onlyValuesWithRule);
    const reported = kept.filter(({ values }) => !NEVER_ZERO.has(name) || !isAllZero(values));
    return reported.length === 0 ? [] : [[name, reported] as const];
  });
  const lengths = metrics.flatMap(([, timeslices]) => timeslices.filter(hasValues).map(secondsOf));
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  return { granule: longest === 0 ? chunk.granule : longest, metrics };
}

/** The result that a summarized call for the window would have, calculated from its timeslices. */
export function summarizeSeries(
  timeslices: ReadonlyMap<string, readonly Timeslice[]>,
  range: TimeRange,
  granule: number,
): MetricDataResult {
  const metrics = new Map<string, Readonly<Record<string, number>>>();
  let isReporting = false;
  for (const [name, inside] of timeslices) {
    if (inside.length === 0) continue;
    isReporting ||= inside.some(({ values }) => Object.values(values).some((value) => value !== 0));
    metrics.set(name, joined(inside, secondsOf(range), granule));
  }
  // New Relic fills a series with zeros, but an application that reported nothing is missing in a summarized response.
  return { window: range, metrics: isReporting ? metrics : new Map(), datastores: undefined };
}

function joined(timeslices: readonly Timeslice[], length: number, granule: number): Timeslice['values'] {
  // A timeslice with unknown values makes the whole window unknown, because a partial sum would be wrong.
  if (!timeslices.every(hasValues)) return {};
  const [first] = timeslices;
  return length === granule && first !== undefined ? first.values : mergeTimeslices(timeslices, length);
}

/** Divides a long timeslice without values, which means "unknown", into one for each granule of the chunk. */
function spread(timeslice: Timeslice, { from: begin, to: end, granule }: SeriesChunk): Timeslice[] {
  const length = secondsOf(timeslice);
  if (hasValues(timeslice) || length <= granule) return [timeslice];
  const granules = (seconds: number): number => Math.max(0, Math.ceil(seconds / granule));
  const first = timeslice.from + granules(begin - timeslice.from) * granule;
  // The response may name any time, so the chunk bounds the number of granules.
  const count = granules(Math.min(end, timeslice.from + length) - first);
  return Array.from({ length: count }, (_, index) => {
    const from = first + index * granule;
    return { from, to: from + granule, values: {} };
  });
}

function onlyValuesWithRule({ from, to, values }: Timeslice): Timeslice {
  return { from, to, values: Object.fromEntries(Object.entries(values).filter(([name]) => hasRule(name))) };
}

function isAllZero(values: Timeslice['values']): boolean {
  const numbers = Object.values(values);
  return numbers.length > 0 && numbers.every((number) => number === 0);
}

function hasValues({ values }: Timeslice): boolean {
  return Object.keys(values).length > 0;
}
