import { planChunks, type SeriesLimits } from '../seriesChunks.ts';
import type { SeriesChunk, TimeRange, MetricDataResult, MetricSeries, MinuteSeries } from '../upstreamReader.ts';
import { endOf, secondsOf, type Timeslice, type MetricData } from '../types.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;

/**
 * The longest range that is answered by the minute; ranges longer than 4 days and up to 7 days are answered by the hour
 * whatever their age, shorter old ones are not (the vendor's page "Extract metric timeslice data").
 */
const LIMITS: SeriesLimits = {
  longestByMinute: 3 * HOUR,
  longestByHour: 7 * DAY,
  leastByHour: 97 * HOUR,
  stepOf: () => 60,
};

/** The calls that give each sample of the range its window, oldest first. */
export function planRestChunks(range: TimeRange, window: number, now: number): SeriesChunk[] {
  return planChunks(range, window, now, LIMITS);
}

/**
 * How a summarized response follows from its minutes, by value name. A value name without a rule cannot be had from the
 * minutes alone (such as a standard deviation) or is not read by any calculation, and is left out.
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

/** The value names that have a rule. */
function isMerged(valueName: string): boolean {
  return Object.hasOwn(RULES, valueName);
}

/**
 * The values that a summarized response over `seconds` would have, from the timeslices of one metric that lie in it: counts
 * are summed, averages weighted by `call_count` (by time where no timeslice has one), per-minute rates and percentages
 * averaged over all of `seconds` (a missing minute counts 0), memory averaged over the time it was reported, an Apdex
 * threshold is the highest, and an Apdex score is calculated anew from its counts. The timeslices may come in any order.
 */
export function mergeTimeslices(timeslices: readonly Timeslice[], seconds: number): Timeslice['values'] {
  const names = new Set(timeslices.flatMap((slice) => Object.keys(slice.values)));
  const values: Record<string, number> = {};
  for (const name of names) {
    const rule = isMerged(name) ? RULES[name] : undefined;
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

/** Total of the value over the seconds of the window: `percent` is CPU time per wall clock time. */
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

/** The weighted mean of the slices that have the value; 0 where all weights are 0, as upstream gives over nothing. */
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

/** (satisfied + tolerating / 2) / count, the definition of the score; 0 over nothing, as upstream gives. */
function apdexScore(slices: readonly Timeslice[]): number | undefined {
  const count = total(slices, countOf);
  if (count === 0) return 0;
  const known = slices.every((slice) => countOf(slice) === 0 || pointsOf(slice) !== undefined);
  return known ? total(slices, (slice) => pointsOf(slice) ?? 0) / count : undefined;
}

function countOf({ values: { s = 0, t = 0, f = 0, count = s + t + f } }: Timeslice): number {
  return count;
}

/** Satisfied requests and half of the tolerating ones; from the score where a timeslice does not give them. */
function pointsOf({ values: { s, t, score, count } }: Timeslice): number | undefined {
  if (s !== undefined && t !== undefined) return s + t / 2;
  return score === undefined || count === undefined ? undefined : score * count;
}

function total(slices: readonly Timeslice[], of: (slice: Timeslice) => number): number {
  return slices.reduce((accumulated, slice) => accumulated + of(slice), 0);
}

/**
 * Agents report these only with something in them, while upstream fills every timeslice of a series: zeros are then its
 * filling, which a summarized response would not have (no memory, a threshold of 0, no errors where there may be no such metric).
 */
const NEVER_ZERO: ReadonlySet<string> = new Set(['Errors/all', 'Apdex', 'EndUser/Apdex', 'Memory/Physical']);

/** The minutes of a response. Without any timeslice it says that nothing happened in all of the range. */
export function toMinutes(data: MetricData, range: TimeRange): MinuteSeries {
  const timeslices = [...data.values()].flat();
  const from = timeslices.reduce((first, each) => Math.min(first, each.from), Infinity);
  const to = timeslices.reduce((last, each) => Math.max(last, endOf(each)), -Infinity);
  return { window: timeslices.length === 0 ? range : { from, to }, metrics: data };
}

/** What a series keeps of a response: the timeslices of the chunk, with the values that `summarizeSeries` reads. */
export function toSeries(data: MetricData, names: readonly string[], chunk: SeriesChunk): MetricSeries {
  const metrics = names.flatMap((name) => {
    const timeslices = (data.get(name) ?? []).flatMap((timeslice) => spread(timeslice, chunk));
    const kept = timeslices.filter(({ from }) => from >= chunk.from).map(withMergedValues);
    const reported = kept.filter(({ values }) => !NEVER_ZERO.has(name) || !isFilling(values));
    return reported.length === 0 ? [] : [[name, reported] as const];
  });
  const lengths = metrics.flatMap(([, timeslices]) => timeslices.filter(hasValues).map(secondsOf));
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  return { granule: longest === 0 ? chunk.granule : longest, metrics };
}

/** What a summarized call for the window would have answered, from the timeslices that lie in it. */
export function summarizeSeries(
  timeslices: ReadonlyMap<string, readonly Timeslice[]>,
  range: TimeRange,
  granule: number,
): MetricDataResult {
  const metrics = new Map<string, Readonly<Record<string, number>>>();
  let reports = false;
  for (const [name, inside] of timeslices) {
    if (inside.length === 0) continue;
    reports ||= inside.some(({ values }) => Object.values(values).some((value) => value !== 0));
    metrics.set(name, joined(inside, secondsOf(range), granule));
  }
  // Upstream fills a series with zeros; an application that reported nothing at all is not found in a summarized response.
  return { window: range, metrics: reports ? metrics : new Map(), datastores: undefined };
}

function joined(timeslices: readonly Timeslice[], length: number, granule: number): Timeslice['values'] {
  // A timeslice whose values are not known makes the whole window unknown: a part would give wrong sums.
  if (!timeslices.every(hasValues)) return {};
  const [first] = timeslices;
  return length === granule && first !== undefined ? first.values : mergeTimeslices(timeslices, length);
}

/** The reader's one timeslice over the whole range without values says "not known": that holds for each granule of it. */
function spread(timeslice: Timeslice, { granule }: SeriesChunk): Timeslice[] {
  const length = secondsOf(timeslice);
  if (hasValues(timeslice) || length <= granule) return [timeslice];
  return Array.from({ length: Math.ceil(length / granule) }, (_, index) => {
    const from = timeslice.from + index * granule;
    return { from, to: from + granule, values: {} };
  });
}

function withMergedValues({ from, to, values }: Timeslice): Timeslice {
  return { from, to, values: Object.fromEntries(Object.entries(values).filter(([name]) => isMerged(name))) };
}

function isFilling(values: Timeslice['values']): boolean {
  const numbers = Object.values(values);
  return numbers.length > 0 && numbers.every((number) => number === 0);
}

function hasValues({ values }: Timeslice): boolean {
  return Object.keys(values).length > 0;
}
