import * as z from 'zod';
import { CallFailure, type FailureReason } from '../upstreamError.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { counted, withCommas } from '../../text/wording.ts';

export type Json = Readonly<Record<string, unknown>>;

/** True if a parsed JSON value is an object or a list, so that reading members is safe. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** Returns the Unix seconds of an ISO 8601 time. Undefined without `Z` or an offset: such a time is ambiguous. */
export function parseTime(text: string): number | undefined {
  if (!ISO_8601.test(text)) return undefined;
  const milliseconds = Date.parse(text);
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

/** An id. Rejects a number in quotes, and a number beyond 2^53, which would lose precision. */
export const id = z.int().positive();

export const LONGEST_TEXT = 10_000;

export const text = z.string().min(1).max(LONGEST_TEXT);

/** A time, rate, ratio or threshold, which cannot be negative. zod accepts only finite numbers. */
export const amount = z.number().nonnegative();

export const count = z.int().nonnegative();

/** Numbers of parts that a reader left out for one reason. `first` is the place of the first part. */
interface LeftOut {
  record: number;
  value: number;
  first: string;
}

function describe({ record, value, first }: LeftOut, quality: string, cause: string): string {
  const records = record === 0 ? [] : counted(record, `${quality}record`);
  const values = value === 0 ? [] : counted(value, `${quality}value`);
  return `left out ${[records, values].flat().join(' and ')}${cause}, the first: ${first}`;
}

/** Counts the unusable parts of a response (docs/reference.md). */
export class Discarded {
  readonly #bad: LeftOut = { record: 0, value: 0, first: '' };
  readonly #tooLong: LeftOut = { record: 0, value: 0, first: '' };

  /** @param where a path of known field names: unknown names may contain anything */
  add(what: 'record' | 'value', where: string): void {
    this.#bad[what] += 1;
    this.#bad.first ||= where;
  }

  /** Counts a part whose text at the path `field` of its record is above the limit. */
  addTooLong(what: 'record' | 'value', where: string, record: unknown, field: readonly string[], limit: number): void {
    this.#tooLong[what] += 1;
    const path = [where, ...field].join('.');
    const subject = JSON.stringify(findName(record, field).slice(0, LONGEST_NAME_SHOWN));
    this.#tooLong.first ||= `${path} of ${subject} has more than ${withCommas(limit)} characters`;
  }

  summaries(): { readonly reason: FailureReason; readonly words: string }[] {
    const bad = { reason: 'invalid_response', words: describe(this.#bad, 'bad ', '') } as const;
    const long = describe(this.#tooLong, '', ' because of a text that is too long');
    const tooLong = { reason: 'too_large', words: `${long}: shorten it in New Relic` } as const;
    return [this.#bad.first === '' ? [] : bad, this.#tooLong.first === '' ? [] : tooLong].flat();
  }

  summary(): string {
    return this.summaries()
      .map(({ words }) => words)
      .join('; ');
  }

  toFailure(words: string): CallFailure {
    const [first, ...others] = this.summaries();
    if (first?.reason !== 'too_large' || others.length > 0) return new CallFailure('invalid_response', words);
    return new CallFailure('too_large', `${words}: ${first.words}`);
  }
}

const LONGEST_NAME_SHOWN = 120;
const NAMING_FIELDS = ['name', 'host', 'key', 'guid', 'id'];

function findName(record: unknown, field: readonly string[]): string {
  for (const path of [...NAMING_FIELDS.map((each) => [each]), field]) {
    const name = readPath(record, path);
    if ((typeof name === 'string' && name !== '') || typeof name === 'number') return String(name);
  }
  return '';
}

/** Full pages have 200 records, or 1,000 metric names. */
const MAX_RECORDS = 5_000;

/**
 * Reads a record, and drops invalid optional fields. Returns undefined for an invalid required field. An optional field
 * that is null counts as absent, not as invalid: summaries of a silent application have such fields.
 */
export function parseRecord<T>(
  schema: z.ZodType<T>,
  record: unknown,
  discarded: Discarded,
  where: string,
): T | undefined {
  const whole = schema.safeParse(record);
  if (whole.success) return whole.data;
  const bad = new Map(
    whole.error.issues.map((issue) => {
      // Set for a text above its limit.
      const limit = issue.code === 'too_big' && issue.origin === 'string' ? Number(issue.maximum) : undefined;
      return [issue.path.join('.'), { path: issue.path.map(String), limit }];
    }),
  );
  const rest = schema.safeParse([...bad.values()].map(({ path }) => path).reduce(removeField, record));
  if (!rest.success) {
    const causes = rest.error.issues.map(({ path }) => bad.get(path.join('.')));
    const [first] = causes;
    const isTooLong = causes.every((cause) => cause?.limit !== undefined);
    if (isTooLong && first?.limit !== undefined) {
      discarded.addTooLong('record', where, record, first.path, first.limit);
    } else discarded.add('record', where);
    return undefined;
  }
  for (const [name, { path, limit }] of bad) {
    if (limit !== undefined) discarded.addTooLong('value', where, record, path, limit);
    else if (readPath(record, path) !== null) discarded.add('value', `${where}.${name}`);
  }
  return rest.data;
}

/** Reads a list. Rejects with a CallFailure for a missing list, and without `leaveOut` if no record is readable. */
export async function parseList<T>(
  schema: z.ZodType<T>,
  body: unknown,
  member: string,
  discarded: Discarded,
  leaveOut?: (record: unknown, discarded: Discarded) => void,
): Promise<T[]> {
  const records = isObject(body) ? body[member] : undefined;
  if (!isList(records)) throw new CallFailure('invalid_response', `the response has no list "${member}"`);
  if (records.length > MAX_RECORDS) {
    throw new CallFailure('too_large', `"${member}" has more than ${MAX_RECORDS} records on one page`);
  }
  const parsed: T[] = [];
  await inSlices(records, (each) => {
    const record = parseRecord(schema, each, discarded, member);
    if (record === undefined) leaveOut?.(each, discarded);
    else parsed.push(record);
  });
  if (records.length > 0 && parsed.length === 0 && leaveOut === undefined) {
    throw discarded.toFailure(describeUnreadable(records.length, member));
  }
  return parsed;
}

export function describeUnreadable(records: number, member: string): string {
  return `none of the ${records} records in "${member}" can be read`;
}

/** Limit for successive pages without a new record. A list that repeats itself under new cursors would never end. */
const MAX_STALE_PAGES = 3;

/**
 * Reads a list page by page. Rejects if a page fails, a cursor repeats, or the list does not end within `maxPages`,
 * because half a list is useless. Returns false if further pages exist after `stopAfter` pages.
 *
 * @param readPage returns the number of new records, and the next address or cursor; undefined after the last page
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
    if (seen.has(next)) throw refuse(`page ${page}: the link to its next page repeats an earlier page`);
    stale = fresh === 0 ? stale + 1 : 0;
    if (stale === MAX_STALE_PAGES) throw refuse(`pages ${page - stale + 1} to ${page} repeat records of earlier pages`);
    position = next;
  }
}

export function readPath(record: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, field) => (isObject(value) ? value[field] : undefined), record);
}

function removeField(value: unknown, [field, ...deeper]: readonly string[]): unknown {
  if (field === undefined || typeof value !== 'object') return undefined;
  const { [field]: inner, ...others }: Record<string, unknown> = { ...value };
  return deeper.length === 0 ? others : { ...others, [field]: removeField(inner, deeper) };
}
