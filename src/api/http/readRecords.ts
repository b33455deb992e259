import * as z from 'zod';
import { CallFailure } from './callFailure.ts';

/** An object of a response. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a value read from JSON is an object or a list, so that its members can be looked at. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** A time as upstream takes it without any character that needs encoding: `2026-11-21T02:00:00Z`. */
export function formatTime(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`;
}

/**
 * Unix seconds of an ISO 8601 timestamp with `Z` or a numeric offset.
 * Undefined for anything else: a time without an offset could be any hour.
 */
export function parseTime(text: string): number | undefined {
  if (!ISO_8601.test(text)) return undefined;
  const milliseconds = Date.parse(text);
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

/** A number; written as a text it is none, and beyond 2^53 it would be read as another one. */
export const id = z.int().positive();

/** Nothing that has a name has a longer one; labels are cut far before that. */
const LONGEST_TEXT = 10_000;

/** A name, or another word that becomes a label. */
export const text = z.string().min(1).max(LONGEST_TEXT);

/** Upstream's figures: times, rates, ratios and thresholds. None can be below 0; zod takes finite numbers only. */
export const amount = z.number().nonnegative();

export const count = z.int().nonnegative();

/**
 * A list that is checked as one value: it goes as a whole when an element is bad, because its length is a number we give,
 * and an issue for each of a million bad elements would not fit into the memory.
 */
export const ids = z.custom<readonly number[]>((value) => Array.isArray(value) && value.every(isId));
export const texts = z.custom<readonly string[]>(
  (value) => Array.isArray(value) && value.every((element) => typeof element === 'string'),
);

function isId(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

/** ISO 8601; read as Unix seconds. */
export const time = z.string().transform((value, context) => {
  const seconds = parseTime(value);
  if (seconds !== undefined) return seconds;
  context.issues.push({ code: 'custom', message: 'no time with an offset', input: value });
  return z.NEVER;
});

/** Counts what a response held that could not be used (docs/interface.md). */
export class Discarded {
  #values = 0;
  #records = 0;
  #first = '';

  /** @param where the place within a record, made of our own field names only: others' may hold anything */
  value(where: string): void {
    this.#values += 1;
    this.#first ||= where;
  }

  record(where: string): void {
    this.#records += 1;
    this.#first ||= where;
  }

  /** Undefined when nothing was left out. */
  summary(): string | undefined {
    const parts = [counted(this.#records, 'record'), counted(this.#values, 'value')].filter((part) => part !== '');
    return parts.length === 0 ? undefined : `left out ${parts.join(' and ')}, the first: ${this.#first}`;
  }
}

function counted(count: number, what: string): string {
  return count === 0 ? '' : `${count} bad ${what}${count === 1 ? '' : 's'}`;
}

/** Pages have 200 records, of metric names 1,000; a page of many more would stop everything else. */
const MOST_RECORDS = 5_000;

/**
 * Reads a record after leaving out the optional fields that are bad. Undefined when it is bad without them too: then a
 * field that must be there is missing or wrong.
 */
export function parseRecord<T>(
  schema: z.ZodType<T>,
  record: unknown,
  discarded: Discarded,
  where: string,
): T | undefined {
  const whole = schema.safeParse(record);
  if (whole.success) return whole.data;
  const bad = new Map(whole.error.issues.map(({ path }) => [path.join('.'), path.map(String)]));
  const rest = schema.safeParse([...bad.values()].reduce(without, record));
  if (!rest.success) {
    discarded.record(where);
    return undefined;
  }
  for (const name of bad.keys()) discarded.value(`${where}.${name}`);
  return rest.data;
}

/**
 * The records of a list. Throws a CallFailure when the list is missing, or holds records but none that can be read:
 * taken for an empty list, it would end every series of its kind.
 */
export function parseList<T>(schema: z.ZodType<T>, body: unknown, member: string, discarded: Discarded): T[] {
  const records = memberOf(body, member);
  if (!isList(records)) throw new CallFailure('invalid_response', `the answer has no list "${member}"`);
  if (records.length > MOST_RECORDS) {
    throw new CallFailure('invalid_response', `"${member}" has more than ${MOST_RECORDS} records on one page`);
  }
  const parsed = records.flatMap((record) => parseRecord(schema, record, discarded, member) ?? []);
  if (records.length > 0 && parsed.length === 0) {
    throw new CallFailure('invalid_response', `none of the ${records.length} records in "${member}" can be read`);
  }
  return parsed;
}

/** The one record of a response. Throws a CallFailure when it is missing or bad. */
export function parseSingle<T>(schema: z.ZodType<T>, body: unknown, member: string, discarded: Discarded): T {
  const record = parseRecord(schema, memberOf(body, member), discarded, member);
  if (record === undefined) throw new CallFailure('invalid_response', `the answer has no usable "${member}"`);
  return record;
}

function memberOf(body: unknown, member: string): unknown {
  return isObject(body) ? body[member] : undefined;
}

function without(value: unknown, [field, ...deeper]: readonly string[]): unknown {
  if (field === undefined || typeof value !== 'object') return undefined;
  const { [field]: inner, ...others }: Record<string, unknown> = { ...value };
  return deeper.length === 0 ? others : { ...others, [field]: without(inner, deeper) };
}

/** So many pages in a row without anything new mean that upstream goes in circles under ever new places. */
const MOST_STALE_PAGES = 3;

/** How far a list is read. */
export interface PageLimits {
  /** Given up, as invalid, beyond so many pages. */
  readonly mostPages: number;
  /** Reading stops after so many pages. */
  readonly stopAfter?: number | undefined;
}

/**
 * Reads a list page by page, one after the other, from place to place: an address, or a cursor. Rejects when any page fails,
 * names a place twice, or there is no end: half a list is no list.
 *
 * @param refuse makes the error of a list that is no good
 * @param readPage how much of a page was not on an earlier one, and the place of the next; undefined: the list ends
 * @returns false when it stopped before the end as told
 */
export async function readPages(
  first: string,
  { mostPages, stopAfter }: PageLimits,
  refuse: (words: string) => Error,
  readPage: (position: string, page: number) => Promise<{ readonly fresh: number; readonly next: string | undefined }>,
): Promise<boolean> {
  const seen = new Set<string>();
  let position = first;
  let stale = 0;
  for (let page = 1; ; page += 1) {
    seen.add(position);
    const { fresh, next } = await readPage(position, page);
    if (next === undefined) return true;
    if (page === stopAfter) return false;
    if (page >= mostPages) throw refuse(`the list does not end within ${page} pages`);
    if (seen.has(next)) throw refuse(`page ${page}: its next page has been read before`);
    stale = fresh === 0 ? stale + 1 : 0;
    if (stale === MOST_STALE_PAGES) throw refuse(`pages ${page - stale + 1} to ${page} repeat what was read before`);
    position = next;
  }
}
