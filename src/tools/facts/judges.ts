import { isList, hasMembers } from '../../api/http/validation.ts';
import type { TimeRange } from '../../api/upstreamReader.ts';
import { AGES, count, holds, ratio, undecided, word, type Judged, type Seen, type WORDS } from './evidence.ts';

/** Values of the same minutes from two interfaces, or of the same quantity from two requests. */
export interface Pair {
  readonly seen: number;
  readonly expected: number;
}

/** A minute of an application: its calls, and their total time in milliseconds. */
export interface Minute {
  readonly calls: number;
  readonly milliseconds: number;
}

/** A summary of New Relic with its throughput and response time, and the minutes of the same subject read at the same time. */
export interface Summarized {
  readonly minutes: readonly Minute[];
  readonly throughput: number;
  readonly responseTime: number;
}

/** Lengths in minutes that the window of a summary may have, and minutes by which it may end before it was read. */
const WINDOW_LENGTHS = [3, 4, 10, 30] as const;
const WINDOW_DELAYS = [0, 1, 2, 3, 4, 5] as const;

/** Relative difference up to which values count as the same, as in the command `compare`. */
const SAME = 0.01;
/** Relative difference up to which a window fits, rounding to three digits included. */
const WINDOW_FITS = 0.02;
/** The largest relative difference that rounding to three digits makes. */
const ROUNDING = 0.006;
/** Relative difference up to which memory, and calls by minute, count as the same: processes and calls come and go. */
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
function errorOfWindow({ minutes, throughput, responseTime }: Summarized, length: number, delay: number): number {
  const part = minutes.slice(0, minutes.length - delay).slice(-length);
  const calls = sum(part.map((minute) => minute.calls));
  if (part.length < length || calls === 0) return Infinity;
  const time = sum(part.map((minute) => minute.milliseconds));
  const inAnyUnit = (a: number, b: number) => Math.min(...FACTORS.map((factor) => difference(a, b * factor)));
  return Math.max(inAnyUnit(throughput, calls / length), inAnyUnit(responseTime, time / calls));
}

/** The pair with the largest relative difference; undefined without pairs. */
function worstOf(pairs: readonly Pair[]): Pair | undefined {
  return pairs.toSorted((a, b) => difference(b.seen, b.expected) - difference(a.seen, a.expected))[0];
}

const ratioOf = ({ seen, expected }: Pair): number => (expected === 0 ? 0 : seen / expected);

/** Decides whether values are the same in both interfaces, each pair separately. */
export function judgeSame(pairs: readonly Pair[], tolerance = SAME): Judged {
  const worst = worstOf(pairs.filter(({ seen, expected }) => seen > 0 || expected > 0));
  if (worst === undefined) return undecided('no traffic');
  return holds(difference(worst.seen, worst.expected) <= tolerance, ratio('REST by NerdGraph', ratioOf(worst)));
}

/**
 * Compares values with raw=true (seen) and without it (expected): the same numbers, with more than three digits.
 *
 * @param rate one of the values before any rounding
 */
export function judgeRaw(pairs: readonly Pair[], rate: number): Judged {
  const busy = pairs.filter(({ seen, expected }) => seen !== 0 || expected !== 0);
  const worst = worstOf(busy);
  if (worst === undefined || busy.length < 3) return undecided('no traffic');
  if (difference(worst.seen, worst.expected) > ROUNDING) {
    return holds(false, word('shape', 'other'), ratio('seen by expected', ratioOf(worst)));
  }
  const isUnrounded = busy.some(({ seen }) => isLong(seen));
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

/** Decides whether each end of the returned window is at most `most` seconds from the requested one. */
export function judgeCut(requested: TimeRange, answered: TimeRange | undefined, maxShift: number): Judged {
  if (answered === undefined) return holds(false, word('shape', 'absent'));
  const length = requested.to - requested.from;
  const shift = Math.max(Math.abs(requested.to - answered.to), Math.abs(requested.from - answered.from));
  const part = (answered.to - answered.from) / length;
  return holds(shift <= maxShift, ratio('answered by asked', part), ratio('shift by asked', shift / length));
}

/** Judges the rows of a query with LIMIT MAX, and the total in its otherResult. */
export function judgeLimitMax(rows: number, others: number): Judged {
  if (rows < 5_000 && others === 0) return undecided('too few rows', count('rows', rows));
  return holds(rows === 5_000, count('rows', rows));
}

/** Decides whether otherResult counts what a small limit leaves out; `others` is its count, undefined without otherResult. */
export function judgeOtherResult(rows: readonly number[], limit: number, others: number | undefined): Judged {
  if (rows.length < limit) return undecided('too few rows', count('rows', rows.length));
  return holds(others !== undefined && others > 0, word('shape', others === undefined ? 'absent' : 'number'));
}

/** Decides whether a limit keeps the rows with the largest first function, by their order. */
export function judgeFirstFunction(rows: readonly number[], limit: number): Judged {
  if (rows.length < limit || new Set(rows).size < 2) return undecided('too few rows', count('rows', rows.length));
  const isFalling = rows.every((value, index) => value <= (rows[index - 1] ?? Infinity));
  const isRising = rows.every((value, index) => value >= (rows[index - 1] ?? 0));
  return holds(isFalling, word('shape', isFalling ? 'descending' : isRising ? 'ascending' : 'unordered'));
}

/**
 * Decides whether the facets of a row are texts in the order of `metadata.facets`, as the exporter assumes: each row then has
 * the id of an application at the index of `appId`.
 */
export function judgeFacets(
  rows: readonly unknown[],
  returned: readonly string[],
  requested: readonly string[],
  ids: ReadonlySet<string>,
): Judged {
  if (rows.length === 0) return undecided('too few rows');
  const position = (returned.length === requested.length ? returned : requested).indexOf('appId');
  const facets = rows.map((row) => (hasMembers(row) ? row['facet'] : undefined));
  if (!facets.every((facet) => isList(facet) && ids.has(String(facet[position]))))
    return holds(false, word('shape', 'other'));
  const areTexts = facets.flat().every((each) => typeof each === 'string');
  return holds(areTexts, word('shape', areTexts ? 'list of texts' : 'list'));
}

/** Compares the calls of the same minutes in both interfaces, and finds the shift at which they agree best. */
export function judgeMinutes(rest: readonly number[], nerdgraph: readonly number[]): Judged {
  const errorAt = (shift: number): number => {
    const pairs = nerdgraph.flatMap((value, index) => {
      const other = rest[index + shift];
      return other === undefined ? [] : [[value, other] as const];
    });
    const scale = sum(pairs.map(([a]) => a)) / sum(pairs.map(([, b]) => b));
    return sum(pairs.map(([a, b]) => Math.abs(a - b * scale))) / sum(pairs.map(([a]) => a));
  };
  if (sum(rest) === 0 || sum(nerdgraph) === 0) return undecided('no traffic');
  const forms = [
    { name: 'one minute later', isAssumed: false, error: errorAt(-1) },
    { name: 'the same minutes', isAssumed: true, error: errorAt(0) },
    { name: 'one minute earlier', isAssumed: false, error: errorAt(1) },
  ];
  return judgeForm('shape', forms, FLUCTUATION, holds(false, word('shape', 'other minutes')));
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

/** Judges the fields that a pack reads: a missing one is on none of the events. */
export function judgeFields(events: number, missing: readonly string[], minEvents = MIN_EVENTS): Judged {
  if (events === 0) return undecided('too few events');
  if (missing.length === 0) return holds(true);
  // A few events may lack a field by chance, such as an interaction that no visitor made.
  if (events < minEvents) return undecided('too few events');
  return holds(false, ...missing.map((field) => word('field', field)));
}

const MIN_EVENTS = 10;

/** |a - b| divided by the larger of both. */
function difference(a: number, b: number): number {
  return a === b ? 0 : Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b));
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
