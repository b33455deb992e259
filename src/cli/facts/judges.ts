import type { TimeRange } from '../../api/upstreamReader.ts';
import { AGES, count, holds, ratio, undecided, word, type Judged } from './evidence.ts';

/** Values of the same minutes from two interfaces, or of the same quantity from two requests. */
export interface Pair {
  readonly seen: number;
  readonly expected: number;
}

/** The relative difference up to which values count as the same, as in the command `compare`. */
const TOLERANCE = 0.01;

/** A minute of an application: its calls, and their total time in milliseconds. */
export interface Minute {
  readonly calls: number;
  readonly milliseconds: number;
}

/** A rolling summary from REST. */
interface Summary {
  readonly throughput: number;
  readonly responseTime: number;
}

const LENGTHS = [3, 4, 10, 30] as const;
/** A summary may end up to this many minutes before it was read. */
const MOST_EARLIER = 5;
/** Relative difference up to which a window fits: rounding to three digits included. */
const FITS = 0.02;
/** The largest relative difference that rounding to three digits makes. */
const ROUNDING = 0.006;
/** Relative difference up to which memory counts as the same, because processes start and end. */
const MEMORY_FITS = 0.05;
/** The best window decides only if its error is smaller by this than that of the best window with another verdict. */
const CLEARLY = 0.01;

/** Factors between units in which an interface may give the same quantity. */
const FACTORS = [1 / 1000, 1 / 100, 1 / 60, 1, 60, 100, 1000] as const;

/**
 * The factor of the unit that brings the seen value nearest to the expected one, 1 where they agree; undefined where no factor
 * comes within a factor of three.
 */
export function unitFactor({ seen, expected }: Pair): number | undefined {
  if (!(seen > 0) || !(expected > 0)) return undefined;
  const distance = (factor: number): number => Math.abs(Math.log(seen / expected / factor));
  const best = FACTORS.reduce((nearest, factor) => (distance(factor) < distance(nearest) ? factor : nearest));
  return distance(best) <= Math.log(3) ? best : undefined;
}

/** Decides the unit of a value by its sum over applications; `units` gives the meaning of each factor. */
export function judgeUnit(
  pairs: readonly Pair[],
  units: Readonly<Record<number, string>>,
  none: 'no traffic' | 'no errors' | 'no browser data',
): Judged {
  const seen = sum(pairs.map((pair) => pair.seen));
  const expected = sum(pairs.map((pair) => pair.expected));
  if (expected === 0 || seen === 0) return undecided(none);
  const factor = unitFactor({ seen, expected });
  const unit = units[factor ?? NaN] ?? 'other';
  return holds(factor === 1, word('unit', unit), ratio('seen by expected', seen / expected));
}

/** Throughput and response time of a window of `length` minutes that ended `earlier` minutes before the last one. */
function windowOf(minutes: readonly Minute[], length: number, earlier: number): Summary | undefined {
  const end = minutes.length - earlier;
  if (end - length < 0) return undefined;
  const part = minutes.slice(end - length, end);
  const calls = sum(part.map((minute) => minute.calls));
  const time = sum(part.map((minute) => minute.milliseconds));
  return calls === 0 ? undefined : { throughput: calls / length, responseTime: time / calls };
}

/** A summary, with the minutes of the same subject read at the same time. */
export interface Summarized {
  readonly minutes: readonly Minute[];
  readonly summary: Summary;
}

/** The summary in the unit of its minutes, because a different unit is a fact of its own. */
function inUnits({ minutes, summary: { throughput, responseTime } }: Summarized): Summary {
  const typical = windowOf(minutes, 4, 0) ?? windowOf(minutes, 30, 0);
  return {
    throughput: throughput / (unitFactor({ seen: throughput, expected: typical?.throughput ?? 0 }) ?? 1),
    responseTime: responseTime / (unitFactor({ seen: responseTime, expected: typical?.responseTime ?? 0 }) ?? 1),
  };
}

/**
 * The fit of each window length, best first: the worst relative difference of throughput and response time over all subjects,
 * at the best common end.
 */
export function fitWindows(
  subjects: readonly Summarized[],
): readonly { readonly length: (typeof LENGTHS)[number]; readonly error: number }[] {
  const plain = subjects.map((subject) => ({ minutes: subject.minutes, summary: inUnits(subject) }));
  const errorOf = (length: number, earlier: number): number =>
    plain.reduce((most, { minutes, summary }) => {
      const window = windowOf(minutes, length, earlier);
      if (window === undefined) return Infinity;
      const { throughput, responseTime } = window;
      return Math.max(most, difference(throughput, summary.throughput), difference(responseTime, summary.responseTime));
    }, 0);
  const ends = Array.from({ length: MOST_EARLIER + 1 }, (_, earlier) => earlier);
  return LENGTHS.map((length) => ({
    length,
    error: Math.min(...ends.map((earlier) => errorOf(length, earlier))),
  })).sort((a, b) => a.error - b.error);
}

/** Decides the window of summaries: the length that fits clearly better than every length with another verdict. */
export function judgeWindow(subjects: readonly Summarized[], assumed: readonly number[]): Judged {
  const [best, ...others] = fitWindows(subjects);
  if (subjects.length === 0 || best === undefined) return undecided('no traffic');
  if (best.error > FITS) return undecided('no window fits');
  const isAssumed = assumed.includes(best.length);
  const other = others.find(({ length }) => assumed.includes(length) !== isAssumed);
  if (other === undefined || other.error - best.error < CLEARLY) return undecided('traffic hardly changes');
  return holds(isAssumed, word('window', `${best.length} minutes`), ratio('best fit', 1 - best.error));
}

/** The pair with the largest relative difference; undefined without pairs. */
function worstOf(pairs: readonly Pair[]): Pair | undefined {
  return pairs.toSorted((a, b) => difference(b.seen, b.expected) - difference(a.seen, a.expected))[0];
}

const ratioOf = ({ seen, expected }: Pair): number => (expected === 0 ? 0 : seen / expected);

/** Decides whether values are the same in both interfaces, each pair separately. */
export function judgeSame(pairs: readonly Pair[], tolerance = TOLERANCE): Judged {
  const worst = worstOf(pairs.filter(({ seen, expected }) => seen > 0 || expected > 0));
  if (worst === undefined) return undecided('no traffic');
  return holds(difference(worst.seen, worst.expected) <= tolerance, ratio('REST by NerdGraph', ratioOf(worst)));
}

/** Compares values with raw=true (seen) and without it (expected): the same numbers, with more than three digits. */
export function judgeRaw(pairs: readonly Pair[]): Judged {
  const busy = pairs.filter(({ seen, expected }) => seen !== 0 || expected !== 0);
  const worst = worstOf(busy);
  if (worst === undefined || busy.length < 3) return undecided('no traffic');
  if (difference(worst.seen, worst.expected) > ROUNDING) {
    return holds(false, word('shape', 'other'), ratio('seen by expected', ratioOf(worst)));
  }
  const isUnrounded = busy.some(({ seen }) => Number(seen.toPrecision(3)) !== seen);
  return holds(isUnrounded, word('shape', isUnrounded ? 'unrounded' : 'rounded'));
}

/** Compares `total_used_mb` of an application over some minutes with its value in each of these minutes. */
export function judgeMemoryMinutes(whole: number | undefined, minutes: readonly number[]): Judged {
  if (whole === undefined || minutes.length < 2 || sum(minutes) === 0) return undecided('no host');
  const mean = sum(minutes) / minutes.length;
  const isMean = difference(whole, mean) <= MEMORY_FITS;
  const isSum = difference(whole, sum(minutes)) <= MEMORY_FITS;
  const form = isMean ? 'mean of the minutes' : isSum ? 'sum of the minutes' : 'other';
  return holds(isMean, word('shape', form), ratio('seen by expected', whole / mean));
}

/** Compares `total_used_mb` of an application with the mean of a process and the number of processes of each host. */
export function judgeMemoryHosts(
  whole: number | undefined,
  hosts: readonly { readonly megabytes: number; readonly processes: number }[],
): Judged {
  const expected = sum(hosts.map(({ megabytes, processes }) => megabytes * processes));
  if (whole === undefined || hosts.length === 0 || expected === 0) return undecided('no host');
  const fits = difference(whole, expected) <= MEMORY_FITS;
  return holds(fits, ratio('seen by expected', whole / expected), count('hosts', hosts.length));
}

/** Decides whether both ends of the returned window are at most `most` seconds from those of the requested one. */
export function judgeCut(requested: TimeRange, answered: TimeRange | undefined, most: number): Judged {
  if (answered === undefined) return holds(false, word('shape', 'absent'));
  const length = requested.to - requested.from;
  const shift = Math.max(Math.abs(requested.to - answered.to), Math.abs(requested.from - answered.from));
  const part = (answered.to - answered.from) / length;
  return holds(shift <= most, ratio('answered by asked', part), ratio('shift by asked', shift / length));
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
  const errors = [-1, 0, 1].map((shift) => ({ shift, error: errorAt(shift) })).sort((a, b) => a.error - b.error);
  const [best, second] = errors;
  if (best === undefined || second === undefined || !(best.error <= 0.05)) {
    return holds(false, word('shape', 'other minutes'));
  }
  if (second.error - best.error < 0.01) return undecided('traffic hardly changes');
  const shapes: Readonly<Record<number, string>> = { [-1]: 'one minute later', 1: 'one minute earlier' };
  return best.shift === 0 ? holds(true) : holds(false, word('shape', shapes[best.shift] ?? 'other minutes'));
}

/** The share of its final value at which a minute counts as complete. */
const COMPLETE = 0.99;

/**
 * Decides whether a minute was complete after the configured delay, and which delay would be enough, from its calls at several
 * ages (in minutes after its end), the last taken as final.
 */
export function judgeLate(
  readings: readonly { readonly age: number; readonly calls: number }[],
  delayMinutes: number,
): Judged {
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

/** Judges each field that a pack reads by the number of events that have it. */
export function judgeFields(events: number, fields: Readonly<Record<string, number>>, least = LEAST_EVENTS): Judged {
  if (events === 0) return undecided('too few events');
  const missing = Object.entries(fields).filter(([, present]) => present === 0);
  if (missing.length === 0) return holds(true);
  // A few events may lack a field by chance, such as an interaction that no visitor made.
  if (events < least) return undecided('too few events');
  return holds(false, ...missing.map(([field]) => word('field', field)));
}

const LEAST_EVENTS = 10;

/** |a - b| divided by the larger of both. */
export function difference(a: number, b: number): number {
  return a === b ? 0 : Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b));
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
