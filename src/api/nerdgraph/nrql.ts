import type { TimeRange } from '../reader.ts';

/** One stored timeslice record; its members are read as `newrelic.timeslice.value['total']`. */
export const TIMESLICE = 'newrelic.timeslice.value';

type Member = 'count' | 'total' | 'totalExclusive' | 'min' | 'max' | 'sumOfSquares';

/** What a function is taken of. */
type Expression =
  | typeof TIMESLICE
  | `${typeof TIMESLICE}['${Member}']`
  | 'apm.key.transaction.duration'
  | 'apm.key.transaction.error.count';

/** `newrelic.timeslice.value` stands in conditions only: queries of names ask that there is one. */
export type Attribute =
  'appId' | 'appName' | 'host' | 'entity.guid' | 'metricTimesliceName' | 'scope' | typeof TIMESLICE;

/** A column of the answer: a function, or the list of the names that an attribute has. */
export type Selection =
  | { readonly as: string; readonly of: 'count' | 'sum' | 'average' | 'min' | 'max'; readonly from: Expression }
  | { readonly as: string; readonly of: 'uniques'; readonly from: 'metricTimesliceName'; readonly most: number };

/** A part of a WHERE clause, as text. Only the functions of this file make one. */
export class Condition {
  readonly text: string;
  /** What joins its parts: beside another word it needs parentheses. */
  readonly joined: 'AND' | 'OR' | undefined;

  constructor(text: string, joined?: 'AND' | 'OR') {
    this.text = text;
    this.joined = joined;
  }
}

type Literal = string | number;

export interface Query {
  readonly select: readonly [Selection, ...Selection[]];
  readonly where: Condition;
  readonly facet?: readonly Attribute[];
  /** Unix seconds in whole minutes; `to` is exclusive. */
  readonly range: TimeRange;
  /** Minutes per bucket; undefined: one row over the whole range. */
  readonly bucketMinutes?: number | undefined;
}

/** The most facets that the service gives for one query; further ones it leaves out without a word. */
export const MOST_FACETS = 5_000;

/**
 * A query in the service's language NRQL, in the few forms that the exporter uses. Every value stands in it as an escaped
 * literal, and every FACET names its limit, because the service's own is 10.
 *
 * @throws RangeError for a number that NRQL would read as another one, or a time that is no whole minute
 */
export function nrql({ select, where, facet = [], range, bucketMinutes }: Query): string {
  const parts = [
    `SELECT ${select.map(selection).join(', ')} FROM Metric WHERE ${where.text}`,
    ...(facet.length === 0 ? [] : [`FACET ${facet.join(', ')}`]),
    `SINCE ${milliseconds(range.from)} UNTIL ${milliseconds(range.to)}`,
    ...(facet.length === 0 ? [] : ['LIMIT MAX']),
    ...(bucketMinutes === undefined ? [] : [`TIMESERIES ${bucketMinutes} minute${bucketMinutes === 1 ? '' : 's'}`]),
  ];
  return parts.join(' ');
}

export function equals(attribute: Attribute, value: Literal): Condition {
  return new Condition(`${attribute} = ${literal(value)}`);
}

export function isIn(attribute: Attribute, values: readonly [Literal, ...Literal[]]): Condition {
  return new Condition(`${attribute} IN (${values.map(literal).join(',')})`);
}

/**
 * `%` stands for any run of characters, and cannot be escaped; the service ignores case. Callers match again what comes
 * back.
 */
export function isLike(attribute: Attribute, pattern: string): Condition {
  return new Condition(`${attribute} LIKE ${literal(pattern)}`);
}

export function isNull(attribute: Attribute): Condition {
  return new Condition(`${attribute} IS NULL`);
}

export function isNotNull(attribute: Attribute): Condition {
  return new Condition(`${attribute} IS NOT NULL`);
}

export function not(condition: Condition): Condition {
  return new Condition(`NOT (${condition.text})`);
}

export function all(conditions: readonly [Condition, ...Condition[]]): Condition {
  return join(conditions, 'AND');
}

export function any(conditions: readonly [Condition, ...Condition[]]): Condition {
  return join(conditions, 'OR');
}

/** The list as one that holds something, or undefined. */
export function filled<T>(list: readonly T[]): readonly [T, ...T[]] | undefined {
  const [first, ...rest] = list;
  return first === undefined ? undefined : [first, ...rest];
}

function join(conditions: readonly [Condition, ...Condition[]], word: 'AND' | 'OR'): Condition {
  if (conditions.length === 1) return conditions[0];
  const texts = conditions.map(({ text, joined }) => (joined === undefined || joined === word ? text : `(${text})`));
  return new Condition(texts.join(` ${word} `), word);
}

function selection(each: Selection): string {
  const what = each.of === 'uniques' ? `${each.from}, ${each.most}` : each.from;
  return `${each.of}(${what}) AS ${each.as}`;
}

/** The two characters that would end or change a literal are escaped; a name may hold any other. */
function literal(value: Literal): string {
  if (typeof value === 'string') return `'${value.replace(/[\\']/g, '\\$&')}'`;
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} cannot stand in a query`);
  return String(value);
}

function milliseconds(seconds: number): string {
  if (!Number.isSafeInteger(seconds) || seconds % 60 !== 0) throw new RangeError(`${seconds} is no whole minute`);
  return String(seconds * 1000);
}

const HOUR = 3_600;
const DAY = 24 * HOUR;

/**
 * The range that is asked for in place of a long one: metric data of an hour and more is kept in steps, and what is asked for
 * off them is answered for other times (the vendor's page "Query time range"). It is as long, and ends on the step before.
 */
export function aligned({ from, to }: TimeRange): TimeRange {
  const step = stepOf(to - from);
  const end = Math.floor(to / step) * step;
  return { from: end - (to - from), to: end };
}

/** The step, in seconds, that both ends of a range so long have to be on. */
export function stepOf(seconds: number): number {
  if (seconds < HOUR) return 60;
  return seconds < DAY ? 300 : 600;
}
