import { count, holds, ratio, undecided, word, type Judged, type Seen } from './evidence.ts';

/** Values of the same minutes from two interfaces, or of the same quantity from two requests. */
export interface Pair {
  readonly seen: number;
  readonly expected: number;
}

/** The relative difference up to which values count as the same, as in the command `compare`. */
export const TOLERANCE = 0.01;

/** A minute of an application: its calls, and their total time in milliseconds. */
export interface Minute {
  /** Unix seconds. */
  readonly from: number;
  readonly calls: number;
  readonly milliseconds: number;
}

/** A rolling summary from REST. */
export interface Summary {
  readonly throughput: number;
  readonly responseTime: number;
}

const LENGTHS = [3, 4, 10, 30] as const;
/** A summary may end up to this many minutes before it was read. */
const MOST_EARLIER = 5;
/** Relative difference up to which a window fits: rounding to three digits included. */
const FITS = 0.02;
/** The least advantage of a fit over fits with another meaning; a smaller one decides nothing. */
const CLEARLY = 0.01;

/** Factors between units in which an interface may give the same number. */
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

/** Decides whether values are the same in both interfaces, each pair separately. */
export function judgeSame(pairs: readonly Pair[], tolerance = TOLERANCE): Judged {
  const busy = pairs.filter(({ seen, expected }) => seen > 0 || expected > 0);
  if (busy.length === 0) return undecided('no traffic');
  const worst = busy.reduce((most, pair) =>
    difference(pair.seen, pair.expected) > difference(most.seen, most.expected) ? pair : most,
  );
  const isSame = difference(worst.seen, worst.expected) <= tolerance;
  return holds(isSame, ratio('REST by NerdGraph', worst.expected === 0 ? 0 : worst.seen / worst.expected));
}

/** Compares values with and without raw=true: the same numbers, with more than three digits. */
export function judgeRaw(pairs: readonly { readonly raw: number; readonly plain: number }[]): Judged {
  const busy = pairs.filter(({ raw, plain }) => raw !== 0 || plain !== 0);
  if (busy.length < 3) return undecided('no traffic');
  if (busy.some(({ raw, plain }) => difference(raw, plain) > 0.006)) {
    return holds(false, word('shape', 'other'), ratio('seen by expected', worstRatio(busy)));
  }
  const isUnrounded = busy.some(({ raw }) => Number(raw.toPrecision(3)) !== raw);
  return holds(isUnrounded, word('shape', isUnrounded ? 'unrounded' : 'rounded'));
}

function worstRatio(pairs: readonly { readonly raw: number; readonly plain: number }[]): number {
  const worst = pairs.reduce((most, each) =>
    difference(each.raw, each.plain) > difference(most.raw, most.plain) ? each : most,
  );
  return worst.plain === 0 ? 0 : worst.raw / worst.plain;
}

/** Compares `total_used_mb` of an application over some minutes with its value in each of these minutes. */
export function judgeMemoryMinutes(whole: number | undefined, minutes: readonly number[]): Judged {
  if (whole === undefined || minutes.length < 2 || sum(minutes) === 0) return undecided('no host');
  const mean = sum(minutes) / minutes.length;
  const form =
    difference(whole, mean) <= 0.05
      ? 'mean of the minutes'
      : difference(whole, sum(minutes)) <= 0.05
        ? 'sum of the minutes'
        : 'other';
  return holds(form === 'mean of the minutes', word('shape', form), ratio('seen by expected', whole / mean));
}

/** Compares `total_used_mb` of an application with the mean of a process and the number of processes of each host. */
export function judgeMemoryHosts(
  whole: number | undefined,
  hosts: readonly { readonly megabytes: number; readonly processes: number }[],
): Judged {
  const expected = sum(hosts.map(({ megabytes, processes }) => megabytes * processes));
  if (whole === undefined || hosts.length === 0 || expected === 0) return undecided('no host');
  return holds(
    difference(whole, expected) <= 0.05,
    ratio('seen by expected', whole / expected),
    count('hosts', hosts.length),
  );
}

/** Decides by how much the returned window differs from the requested one; all in seconds. */
export function judgeCut(
  asked: { readonly from: number; readonly to: number },
  answered: { readonly from: number; readonly to: number } | undefined,
  most: number,
): Judged {
  if (answered === undefined) return holds(false, word('shape', 'absent'));
  const length = asked.to - asked.from;
  const shift = Math.max(Math.abs(asked.to - answered.to), Math.abs(asked.from - answered.from));
  const seen: readonly Seen[] = [
    ratio('answered by asked', (answered.to - answered.from) / length),
    ratio('shift by asked', shift / length),
  ];
  return holds(shift <= most, ...seen);
}

/** Judges the rows of a query with LIMIT MAX, and the total in its otherResult. */
export function judgeLimitMax(rows: number, others: number): Judged {
  if (rows < 5_000 && others === 0) return undecided('too few rows', count('rows', rows));
  return holds(rows === 5_000, count('rows', rows));
}

/** Judges otherResult of a query with a small limit against the rows of all the others, by the first function. */
export function judgeOtherResult(rows: readonly number[], limit: number, others: number | undefined): Judged {
  if (rows.length < limit) return undecided('too few rows', count('rows', rows.length));
  return holds(others !== undefined && others > 0, word('shape', others === undefined ? 'absent' : 'number'));
}

/** Decides whether a limit keeps the rows with the largest first function, by their order. */
export function judgeFirstFunction(rows: readonly number[], limit: number): Judged {
  if (rows.length < limit || new Set(rows).size < 2) return undecided('too few rows', count('rows', rows.length));
  const isFalling = rows.every((value, index) => index === 0 || value <= (rows[index - 1] ?? Infinity));
  const isRising = rows.every((value, index) => index === 0 || value >= (rows[index - 1] ?? 0));
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
const AGES = [2, 3, 5, 10] as const;

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
  const parts = readings.map(({ age, calls }) => ({ age, part: calls / last.calls }));
  const seen = AGES.flatMap((age) => {
    const part = parts.find((each) => each.age === age);
    return part === undefined ? [] : [ratio(`of the final count after ${age} minutes`, part.part)];
  });
  const enough = parts.find(
    ({ part }, index) => part >= COMPLETE && parts.slice(index).every((p) => p.part >= COMPLETE),
  );
  const delay = AGES.find((age) => age >= (enough?.age ?? Infinity));
  const isComplete = (enough?.age ?? Infinity) <= Math.max(delayMinutes, AGES[0]);
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
