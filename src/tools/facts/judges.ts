import { isList, hasMembers, type Json } from '../../api/http/validation.ts';
import { AGES, count, holds, ratio, undecided, word, type Judged, type Seen, type WORDS } from './evidence.ts';

/** A value, and the one that is expected from other data. */
export interface Pair {
  readonly seen: number;
  readonly expected: number;
}

/** A minute of an application: its calls, and their total time. */
export interface Minute {
  readonly calls: number;
  readonly seconds: number;
}

/** A summary of New Relic with its request rate and response time, and the minutes of the same subject read at the same time. */
export interface Summarized {
  readonly minutes: readonly Minute[];
  readonly requestRate: number;
  readonly responseTime: number;
}

/** Lengths in minutes that the window of a summary may have, and minutes by which it may end before it was read. */
const WINDOW_LENGTHS = [3, 4, 10, 30] as const;
const WINDOW_DELAYS = [0, 1, 2, 3, 4, 5] as const;

/** Relative difference up to which a window fits, rounding to three digits included. */
const WINDOW_FITS = 0.02;
/** Relative difference up to which memory counts as the same: processes come and go. */
const FLUCTUATION = 0.05;
/** Difference in error by which the best form must lead the best one with another verdict; otherwise nothing is decided. */
const CLEAR_LEAD = 0.01;
/** Factors between units in which an interface may give the same quantity. */
const FACTORS = [1 / 1000, 1 / 100, 1 / 60, 1, 60, 100, 1000] as const;

/** A form that values may have, and their distance from it. */
interface Form {
  readonly name: string;
  readonly isAssumed: boolean;
  readonly error: number;
}

/** Decides for the form with the smallest error; `none` is the verdict where every error is above `maxError`. */
function judgeForm(
  of: keyof typeof WORDS,
  forms: readonly Form[],
  maxError: number,
  none: Judged,
  ...seen: readonly Seen[]
): Judged {
  const [best, ...others] = forms.toSorted((a, b) => a.error - b.error);
  if (best === undefined || !(best.error <= maxError)) return none;
  const rival = others.find(({ isAssumed }) => isAssumed !== best.isAssumed);
  if (rival !== undefined && rival.error - best.error < CLEAR_LEAD) return undecided('traffic hardly changes');
  return holds(best.isAssumed, word(of, best.name), ...seen);
}

/** Decides the unit of a value by its sum over applications; `units` gives the unit that each factor would mean. */
export function judgeUnit(
  pairs: readonly Pair[],
  units: Readonly<Record<number, string>>,
  none: 'no traffic' | 'no errors' | 'no browser data',
): Judged {
  const part = sum(pairs.map(({ seen }) => seen)) / sum(pairs.map(({ expected }) => expected));
  if (!(part > 0 && part < Infinity)) return undecided(none);
  const forms = Object.entries(units).map(([factor, name]) => ({
    name,
    isAssumed: Number(factor) === 1,
    error: Math.abs(Math.log(part / Number(factor))),
  }));
  const seen = ratio('seen by expected', part);
  return judgeForm('unit', forms, Math.log(3), holds(false, word('unit', 'other'), seen), seen);
}

/** Decides the window of summaries: the length that fits all subjects, with the same end, in any unit. */
export function judgeWindow(subjects: readonly Summarized[], assumed: readonly number[]): Judged {
  if (subjects.length === 0) return undecided('no traffic');
  const forms = WINDOW_LENGTHS.map((length) => ({
    name: `${length} minutes`,
    isAssumed: assumed.includes(length),
    error: Math.min(
      ...WINDOW_DELAYS.map((delay) => Math.max(...subjects.map((subject) => errorOfWindow(subject, length, delay)))),
    ),
  }));
  const fit = 1 - Math.min(...forms.map(({ error }) => error));
  return judgeForm('window', forms, WINDOW_FITS, undecided('no window fits'), ratio('best fit', fit));
}

/** The difference between a summary and the window of `length` minutes that ended `delay` minutes before the last one. */
function errorOfWindow({ minutes, requestRate, responseTime }: Summarized, length: number, delay: number): number {
  const part = minutes.slice(0, minutes.length - delay).slice(-length);
  const calls = sum(part.map((minute) => minute.calls));
  if (part.length < length || calls === 0) return Infinity;
  const time = sum(part.map((minute) => minute.seconds));
  const inAnyUnit = (a: number, b: number) => Math.min(...FACTORS.map((factor) => difference(a, b * factor)));
  return Math.max(inAnyUnit(requestRate, calls / length / 60), inAnyUnit(responseTime, time / calls));
}

/**
 * Decides whether values with raw=true have more than three digits.
 *
 * @param rate one of the values before any rounding
 */
export function judgeRaw(values: readonly number[], rate: number): Judged {
  if (values.filter((value) => value !== 0).length < 3) return undecided('no traffic');
  const isUnrounded = values.some(isLong);
  // Values of traffic that never changes may have three digits or fewer before rounding, too.
  if (!isUnrounded && !isLong(rate)) return undecided('traffic hardly changes');
  return holds(isUnrounded, word('shape', isUnrounded ? 'unrounded' : 'rounded'));
}

/** True for a number that rounding to three digits changes. */
function isLong(value: number): boolean {
  return Number(value.toPrecision(3)) !== value;
}

/** Decides whether a list filtered by a text has every name with that text that the first page without the filter has. */
export function judgeFilter(names: readonly string[], text: string, filtered: readonly string[]): Judged {
  const expected = names.filter((name) => name.includes(text));
  if (expected.length === 0 && filtered.length === 0 && names.length > 0) return undecided('no database');
  if (expected.length === 0) return holds(filtered.length > 0, count('names', filtered.length));
  const found = expected.filter((name) => filtered.includes(name));
  return holds(found.length === expected.length, ratio('seen by expected', found.length / expected.length));
}

/** Compares `total_used_mb` of an application over some minutes with its value in each of these minutes. */
export function judgeMemoryMinutes(whole: number | undefined, minutes: readonly number[]): Judged {
  if (whole === undefined || minutes.length < 2 || sum(minutes) === 0) return undecided('no host');
  const mean = sum(minutes) / minutes.length;
  const forms = [
    { name: 'mean of the minutes', isAssumed: true, error: difference(whole, mean) },
    { name: 'sum of the minutes', isAssumed: false, error: difference(whole, sum(minutes)) },
  ];
  const seen = ratio('seen by expected', whole / mean);
  return judgeForm('shape', forms, FLUCTUATION, holds(false, word('shape', 'other'), seen), seen);
}

/** Compares `total_used_mb` of an application with the mean of a process and the number of processes of each host. */
export function judgeMemoryHosts(
  whole: number | undefined,
  hosts: readonly { readonly megabytes: number; readonly processes: number }[],
): Judged {
  const expected = sum(hosts.map(({ megabytes, processes }) => megabytes * processes));
  if (whole === undefined || hosts.length === 0 || expected === 0) return undecided('no host');
  const fits = difference(whole, expected) <= FLUCTUATION;
  return holds(fits, ratio('seen by expected', whole / expected), count('hosts', hosts.length));
}

/** The share of its final value at which a minute counts as complete. */
const COMPLETE = 0.99;

/** The calls of a minute, read at an age in minutes after its end. */
export interface Reading {
  readonly age: number;
  readonly calls: number;
}

/**
 * Decides whether a minute was complete after the configured delay, and which delay would be enough, from its calls at several
 * ages, the last taken as final.
 */
export function judgeLate(readings: readonly Reading[], delayMinutes: number): Judged {
  const last = readings.at(-1);
  if (last === undefined || readings.length < 2) return undecided('needs --wait');
  if (last.calls === 0) return undecided('no traffic');
  const parts = new Map(readings.map(({ age, calls }) => [age, calls / last.calls]));
  const seen = AGES.flatMap((age) => {
    const part = parts.get(age);
    return part === undefined ? [] : [ratio(`of the final count after ${age} minutes`, part)];
  });
  const tooEarly = [...parts].findLast(([, part]) => part < COMPLETE)?.[0] ?? -Infinity;
  const enough = [...parts.keys()].find((age) => age > tooEarly) ?? Infinity;
  const delay = AGES.find((age) => age >= enough);
  const isComplete = enough <= Math.max(delayMinutes, AGES[0]);
  return holds(isComplete, ...seen, word('delay', delay === undefined ? 'more than 10m' : `${delay}m`));
}

/** |a - b| divided by the larger of both. */
function difference(a: number, b: number): number {
  return a === b ? 0 : Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b));
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The objects of a list; none where there is no list. */
export function objectsIn(value: unknown): readonly Json[] {
  return isList(value) ? value.filter(hasMembers) : [];
}

/** The number at a key of a row; 0 without one. */
export function numberAt(row: unknown, key: string): number {
  const value = hasMembers(row) ? row[key] : undefined;
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
