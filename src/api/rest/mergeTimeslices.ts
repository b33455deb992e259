import { secondsOf } from '../timeslice.ts';
import type { Timeslice } from '../types.ts';

/** One timeslice of the run with its length in seconds. */
interface Slice {
  readonly seconds: number;
  readonly values: Readonly<Record<string, number>>;
}

type Rule = (slices: readonly Slice[], value: string, seconds: number) => number | undefined;

/**
 * How a summarized answer follows from its minutes, by value name. A value name without a rule cannot be had from the
 * minutes alone (such as a standard deviation) or is not read by any calculation, and is left out.
 */
const RULES: Readonly<Record<string, Rule>> = {
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
export function isMerged(valueName: string): boolean {
  return Object.hasOwn(RULES, valueName);
}

/**
 * The values that a summarized answer over `seconds` would have, from the timeslices of one metric that lie in it: counts
 * are summed, averages weighted by `call_count` (by time where no timeslice has one), per-minute rates and percentages
 * averaged over all of `seconds` (a missing minute counts 0), memory averaged over the time it was reported, an Apdex
 * threshold is the highest, and an Apdex score is calculated anew from its counts. The timeslices may come in any order.
 */
export function mergeTimeslices(timeslices: readonly Timeslice[], seconds: number): Timeslice['values'] {
  const slices = timeslices.map((timeslice) => ({ seconds: secondsOf(timeslice), values: timeslice.values }));
  const names = new Set(slices.flatMap((slice) => Object.keys(slice.values)));
  const values: Record<string, number> = {};
  for (const name of names) {
    const rule = isMerged(name) ? RULES[name] : undefined;
    const merged = rule?.(slices, name, seconds);
    if (merged !== undefined && Number.isFinite(merged)) values[name] = merged;
  }
  return values;
}

function sum(slices: readonly Slice[], value: string): number | undefined {
  return total(slices, (slice) => slice.values[value] ?? 0);
}

function highest(slices: readonly Slice[], value: string): number | undefined {
  return slices.reduce((most, slice) => Math.max(most, slice.values[value] ?? -Infinity), -Infinity);
}

/** Total of the value over the seconds of the window: `percent` is CPU time per wall clock time. */
function overTime(slices: readonly Slice[], value: string, seconds: number): number | undefined {
  return total(slices, (slice) => (slice.values[value] ?? 0) * slice.seconds) / seconds;
}

function whilePresent(slices: readonly Slice[], value: string): number | undefined {
  return weighted(slices, value, (slice) => slice.seconds);
}

function byCalls(slices: readonly Slice[], value: string): number | undefined {
  const counted = slices.some((slice) => slice.values['call_count'] !== undefined);
  if (!counted) return whilePresent(slices, value);
  return weighted(slices, value, (slice) => slice.values['call_count'] ?? 0);
}

/** The weighted mean of the slices that have the value; 0 where all weights are 0, as upstream gives over nothing. */
function weighted(slices: readonly Slice[], value: string, weight: (slice: Slice) => number): number | undefined {
  const present = slices.filter((slice) => slice.values[value] !== undefined);
  const weights = total(present, weight);
  if (weights === 0) return 0;
  return total(present, (slice) => (slice.values[value] ?? 0) * weight(slice)) / weights;
}

/** (satisfied + tolerating / 2) / count, the definition of the score; 0 over nothing, as upstream gives. */
function apdexScore(slices: readonly Slice[]): number | undefined {
  const count = total(slices, countOf);
  if (count === 0) return 0;
  const known = slices.every((slice) => countOf(slice) === 0 || pointsOf(slice) !== undefined);
  return known ? total(slices, (slice) => pointsOf(slice) ?? 0) / count : undefined;
}

function countOf({ values: { s = 0, t = 0, f = 0, count = s + t + f } }: Slice): number {
  return count;
}

/** Satisfied requests and half of the tolerating ones; from the score where a timeslice does not give them. */
function pointsOf({ values: { s, t, score, count } }: Slice): number | undefined {
  if (s !== undefined && t !== undefined) return s + t / 2;
  return score === undefined || count === undefined ? undefined : score * count;
}

function total(slices: readonly Slice[], of: (slice: Slice) => number): number {
  return slices.reduce((accumulated, slice) => accumulated + of(slice), 0);
}
