import * as z from 'zod';
import { CallFailure, type FailureReason } from '../upstreamError.ts';
import { inSlices } from '../../eventLoop/turns.ts';

/** An object of a response. */
export type Json = Readonly<Record<string, unknown>>;

/** True if a value read from JSON is an object or a list, so that its members can be read. */
export function hasMembers(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** Unix seconds of an ISO 8601 time with `Z` or a numeric offset. Undefined without an offset: the time is then ambiguous. */
export function parseTime(text: string): number | undefined {
  if (!ISO_8601.test(text)) return undefined;
  const milliseconds = Date.parse(text);
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

/** An id. A number in quotes is rejected, and so is one beyond 2^53, which would lose precision. */
export const id = z.int().positive();

/** Limit for names, in characters: no genuine name is longer, and labels are cut far shorter. */
const LONGEST_TEXT = 10_000;

/** A name, or another text that becomes a label. */
export const text = z.string().min(1).max(LONGEST_TEXT);

/** New Relic's figures: times, rates, ratios and thresholds. None can be below 0; zod accepts finite numbers only. */
export const amount = z.number().nonnegative();

export const count = z.int().nonnegative();

/** Counts the parts of a response that could not be used (docs/interface.md). */
export class Discarded {
  readonly #counts = { record: 0, value: 0 };
  /** Where the first part was; empty while nothing was left out. */
  first = '';

  /** @param where the path of field names that we know: unknown names may contain anything */
  add(what: 'record' | 'value', where: string): void {
    this.#counts[what] += 1;
    this.first ||= where;
  }

  /** What was left out. */
  summary(): string {
    const parts = Object.entries(this.#counts)
      .filter(([, count]) => count > 0)
      .map(([what, count]) => `${count} bad ${what}${count === 1 ? '' : 's'}`);
    return `left out ${parts.join(' and ')}, the first: ${this.first}`;
  }
}

/** Limit for the records of a page. Pages have 200 records, or 1,000 metric names. */
const MAX_RECORDS = 5_000;

/**
 * Reads a record without its invalid optional fields. Undefined when it is still invalid: a required field is missing or wrong.
 * An optional field that is null is absent, as in the summaries of a silent application, and not counted.
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
    discarded.add('record', where);
    return undefined;
  }
  for (const [name, path] of bad) {
    if (valueAt(record, path) !== null) discarded.add('value', `${where}.${name}`);
  }
  return rest.data;
}

/** The records of a list. Rejects with a CallFailure when the list is missing, or when none of them can be read. */
export async function parseList<T>(
  schema: z.ZodType<T>,
  body: unknown,
  member: string,
  discarded: Discarded,
): Promise<T[]> {
  const records = hasMembers(body) ? body[member] : undefined;
  if (!isList(records)) throw new CallFailure('invalid_response', `the response has no list "${member}"`);
  if (records.length > MAX_RECORDS) {
    throw new CallFailure('too_large', `"${member}" has more than ${MAX_RECORDS} records on one page`);
  }
  const parsed: T[] = [];
  await inSlices(records, (each) => {
    const record = parseRecord(schema, each, discarded, member);
    if (record !== undefined) parsed.push(record);
  });
  if (records.length > 0 && parsed.length === 0) {
    throw new CallFailure('invalid_response', `none of the ${records.length} records in "${member}" can be read`);
  }
  return parsed;
}

/** The only record of a response. Throws a CallFailure when it is missing or invalid. */
export function parseSingle<T>(schema: z.ZodType<T>, body: unknown, member: string, discarded: Discarded): T {
  const given = hasMembers(body) ? body[member] : undefined;
  const record = parseRecord(schema, given, discarded, member);
  if (record === undefined) throw new CallFailure('invalid_response', `the response has no usable "${member}"`);
  return record;
}

/** Limit for successive pages without a new record: such a list repeats itself under new cursors, and would never end. */
const MAX_STALE_PAGES = 3;

/**
 * Reads a list page by page, each from an address or a cursor. Rejects when any page fails, a cursor repeats, or the list has
 * no end, because half a list is useless; false: it stopped early because of the limits.
 *
 * @param limits.maxPages a longer list is too large; reading stops after `stopAfter` pages
 * @param readPage returns the number of new records, and the next address or cursor; undefined: the list ends
 */
export async function readPages(
  first: string,
  { maxPages, stopAfter }: { readonly maxPages: number; readonly stopAfter?: number | undefined },
  refuse: (words: string, reason?: FailureReason) => Error,
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
    if (page >= maxPages) throw refuse(`the list does not end within ${page} pages`, 'too_large');
    if (seen.has(next)) throw refuse(`page ${page}: its next page has been read before`);
    stale = fresh === 0 ? stale + 1 : 0;
    if (stale === MAX_STALE_PAGES) throw refuse(`pages ${page - stale + 1} to ${page} repeat what was read before`);
    position = next;
  }
}

function valueAt(record: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, field) => (hasMembers(value) ? value[field] : undefined), record);
}

function without(value: unknown, [field, ...deeper]: readonly string[]): unknown {
  if (field === undefined || typeof value !== 'object') return undefined;
  const { [field]: inner, ...others }: Record<string, unknown> = { ...value };
  return deeper.length === 0 ? others : { ...others, [field]: without(inner, deeper) };
}
