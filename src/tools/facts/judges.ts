import { isList, hasMembers, type Json } from '../../api/http/validation.ts';
import type { RollingSummary } from '../../api/types.ts';
import { sumOf } from '../grouping.ts';
import { AGES, holds, ratio, undecided, word, type Judged, type Reason, type Seen } from './evidence.ts';

/** A minute of an application: its calls, and their total time. */
export interface Minute {
  readonly calls: number;
  readonly seconds: number;
}

/** A summary of New Relic with its request rate and response time, and the minutes of the same subject read at the same time. */
export interface Summarized extends Pick<Partial<RollingSummary>, 'requestRate' | 'responseTime'> {
  readonly minutes: readonly Minute[];
}

/** Lengths in minutes that the window of a summary may have, and minutes by which it may end before it was read. */
const WINDOW_LENGTHS = [3, 4, 10, 30] as const;
const WINDOW_DELAYS = [0, 1, 2, 3, 4, 5] as const;

/** Relative difference up to which a window fits, rounding to three digits included. */
const WINDOW_FITS = 0.02;
/** Difference in error by which the best form must lead the best one with another verdict; otherwise nothing is decided. */
const CLEAR_LEAD = 0.01;
/** Factors between units in which an interface may give the same quantity. */
const FACTORS = [1 / 1000, 1 / 100, 1 / 60, 1, 60, 100, 1000] as const;

/** Decides for the form with the smallest error; `none` is the verdict where every error is above `maxError`. */
function judgeForm(
  forms: readonly { readonly name: string; readonly isAssumed: boolean; readonly error: number }[],
  maxError: number,
  none: Judged,
  seen: Seen,
): Judged {
  const [best, ...others] = forms.toSorted((a, b) => a.error - b.error);
  if (best === undefined || !(best.error <= maxError)) return none;
  const rival = others.find(({ isAssumed }) => isAssumed !== best.isAssumed);
  if (rival !== undefined && rival.error - best.error < CLEAR_LEAD) return undecided('traffic hardly changes');
  return holds(best.isAssumed, word('form', best.name), seen);
}

/**
 * Decides which form a value has by the sum of its readings: `forms` names each factor to the expected sum, of which the exporter
 * assumes 1. The sum may miss a form by `maxFactor`. Readings without a value, or with none expected, do not count.
 */
export function judgeFactor(
  pairs: readonly { readonly seen: number | undefined; readonly expected: number }[],
  forms: Readonly<Record<number, string>>,
  none: Reason,
  maxFactor = 3,
): Judged {
  const known = pairs.filter(({ seen = 0, expected }) => seen > 0 && expected > 0);
  if (known.length === 0) return undecided(none);
  const part = sum(known.map(({ seen = 0 }) => seen)) / sum(known.map(({ expected }) => expected));
  const named = Object.entries(forms).map(([factor, name]) => {
    return { name, isAssumed: factor === '1', error: Math.abs(Math.log(part / Number(factor))) };
  });
  const seen = ratio('seen by expected', part);
  return judgeForm(named, Math.log(maxFactor), holds(false, word('form', 'other'), seen), seen);
}

/** Decides the window of summaries: the length that fits all subjects, with the same end, in any unit. */
export function judgeWindow(subjects: readonly Summarized[], assumed: readonly number[]): Judged {
  const busy = subjects.filter(({ requestRate = 0, responseTime = 0 }) => requestRate > 0 && responseTime > 0);
  if (busy.length === 0) return undecided('no traffic');
  const forms = WINDOW_LENGTHS.map((length) => ({
    name: `${length} minutes`,
    isAssumed: assumed.includes(length),
    error: Math.min(
      ...WINDOW_DELAYS.map((delay) => Math.max(...busy.map((subject) => errorOfWindow(subject, length, delay)))),
    ),
  }));
  const fit = 1 - Math.min(...forms.map(({ error }) => error));
  return judgeForm(forms, WINDOW_FITS, undecided('no window fits'), ratio('best fit', fit));
}

/** The difference between a summary and the window of `length` minutes that ended `delay` minutes before the last one. */
function errorOfWindow(
  { minutes, requestRate = 0, responseTime = 0 }: Summarized,
  length: number,
  delay: number,
): number {
  const part = minutes.slice(0, minutes.length - delay).slice(-length);
  const calls = sum(part.map((minute) => minute.calls));
  if (part.length < length || calls === 0) return Infinity;
  const time = sum(part.map((minute) => minute.seconds));
  const inAnyUnit = (a: number, b: number) => Math.min(...FACTORS.map((factor) => difference(a, b * factor)));
  return Math.max(inAnyUnit(requestRate, calls / length / 60), inAnyUnit(responseTime, time / calls));
}

/** Decides whether values with raw=true have more than three digits; `rate` is one of them before any rounding. */
export function judgeRaw(values: readonly number[], rate: number): Judged {
  if (values.filter((value) => value !== 0).length < 3) return undecided('no traffic');
  const isUnrounded = values.some(isLong);
  // Values of traffic that never changes may have three digits or fewer before rounding, too.
  if (!isUnrounded && !isLong(rate)) return undecided('traffic hardly changes');
  return holds(isUnrounded, word('shape', isUnrounded ? 'unrounded' : 'rounded'));
}

/** True for a number that rounding to three digits changes. */
const isLong = (value: number): boolean => Number(value.toPrecision(3)) !== value;

/** The share of its final value at which a minute counts as complete. */
const COMPLETE = 0.99;

/** Decides which delay is enough for a minute, by its calls at ages in minutes after its end, of which the last is final. */
export function judgeLate(readings: readonly (readonly [age: number, calls: number])[], delayMinutes: number): Judged {
  const [, last = 0] = readings.at(-1) ?? [];
  if (readings.length < 2) return undecided('needs --wait');
  if (last === 0) return undecided('no traffic');
  const [enough = Infinity] = readings[readings.findLastIndex(([, calls]) => calls < COMPLETE * last) + 1] ?? [];
  const delay = AGES.find((age) => age >= enough);
  const known = new Map(readings);
  const seen = AGES.filter((age) => known.has(age)).map((age) =>
    ratio(`of the final count after ${age} minutes`, (known.get(age) ?? 0) / last),
  );
  const isComplete = enough <= Math.max(delayMinutes, AGES[0]);
  return holds(isComplete, ...seen, word('delay', delay === undefined ? 'more than 10m' : `${delay}m`));
}

/** |a - b| divided by the larger of both. */
function difference(a: number, b: number): number {
  return a === b ? 0 : Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b));
}

export const sum = (values: readonly number[]): number => sumOf(values, (value) => value);

/** The objects of a list; none where there is no list. */
export function objectsIn(value: unknown): readonly Json[] {
  return isList(value) ? value.filter(hasMembers) : [];
}

/** The number at a key of a row; 0 without one. */
export function numberAt(row: unknown, key: string): number {
  const value = hasMembers(row) ? row[key] : undefined;
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
