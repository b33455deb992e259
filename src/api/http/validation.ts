import * as z from 'zod';
import { CallFailure, type FailureReason } from '../upstreamError.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { counted, withCommas } from '../../text/wording.ts';

/** An object of a response. */
export type Json = Readonly<Record<string, unknown>>;

/** True if a value read from JSON is an object or a list, so that its members can be read. */
export function isObject(value: unknown): value is Json {
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
export const LONGEST_TEXT = 10_000;

/** A name, or another text that becomes a label. */
export const text = z.string().min(1).max(LONGEST_TEXT);

/** New Relic's figures: times, rates, ratios and thresholds. None can be below 0; zod accepts finite numbers only. */
export const amount = z.number().nonnegative();

export const count = z.int().nonnegative();

/** The parts that were left out for one reason, and where the first one was; empty: none was. */
class LeftOut {
  record = 0;
  value = 0;
  first = '';

  describe(quality: string, cause: string): string {
    const parts = [
      this.record === 0 ? [] : counted(this.record, `${quality}record`),
      this.value === 0 ? [] : counted(this.value, `${quality}value`),
    ];
    return `left out ${parts.flat().join(' and ')}${cause}, the first: ${this.first}`;
  }
}

/** Counts the parts of a response that could not be used (docs/reference.md). */
export class Discarded {
  readonly #bad = new LeftOut();
  readonly #tooLong = new LeftOut();

  /** @param where the path of field names that we know: unknown names may contain anything */
  add(what: 'record' | 'value', where: string): void {
    this.#bad[what] += 1;
    this.#bad.first ||= where;
  }

  /**
   * Counts a part that has a longer text than is read.
   *
   * @param field the path of the text in its record
   */
  addTooLong(what: 'record' | 'value', where: string, record: unknown, field: readonly string[], limit: number): void {
    this.#tooLong[what] += 1;
    const path = [where, ...field].join('.');
    const subject = JSON.stringify(findName(record, field).slice(0, LONGEST_NAME_SHOWN));
    this.#tooLong.first ||= `${path} of ${subject} has more than ${withCommas(limit)} characters`;
  }

  /** What was left out, by the reason under which it counts; empty where nothing was. */
  summaries(): { readonly reason: FailureReason; readonly words: string }[] {
    const bad = { reason: 'invalid_response', words: this.#bad.describe('bad ', '') } as const;
    const long = this.#tooLong.describe('', ' because of a text that is too long');
    const tooLong = { reason: 'too_large', words: `${long}: shorten it in New Relic` } as const;
    return [this.#bad.first === '' ? [] : bad, this.#tooLong.first === '' ? [] : tooLong].flat();
  }

  /** What was left out; empty where nothing was. */
  summary(): string {
    return this.summaries()
      .map(({ words }) => words)
      .join('; ');
  }

  /** The failure of a response whose every part was left out. */
  toFailure(words: string): CallFailure {
    const [first, ...others] = this.summaries();
    const isTooLarge = first?.reason === 'too_large' && others.length === 0;
    return isTooLarge
      ? new CallFailure('too_large', `${words}: ${first.words}`)
      : new CallFailure('invalid_response', words);
  }
}

const LONGEST_NAME_SHOWN = 120;
const NAMING_FIELDS = ['name', 'host', 'key', 'guid', 'id'];

/** How a message calls a record: by its name or id; without either, by the text that is too long. */
function findName(record: unknown, field: readonly string[]): string {
  for (const path of [...NAMING_FIELDS.map((each) => [each]), field]) {
    const name = readPath(record, path);
    if ((typeof name === 'string' && name !== '') || typeof name === 'number') return String(name);
  }
  return '';
}

/** Limit for the records of a page. Pages have 200 records, or 1,000 metric names. */
const MAX_RECORDS = 5_000;

/** The limit that a text exceeds; undefined for any other fault. */
function findExceededLimit(issue: z.core.$ZodIssue): number | undefined {
  return issue.code === 'too_big' && issue.origin === 'string' ? Number(issue.maximum) : undefined;
}

/**
 * Reads a record without its invalid optional fields. Undefined when it is still invalid: a required field is missing, wrong or
 * longer than its limit. An optional field that is null is absent, as in the summaries of a silent application, and not counted.
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
    whole.error.issues.map((issue) => [
      issue.path.join('.'),
      { path: issue.path.map(String), limit: findExceededLimit(issue) },
    ]),
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

/**
 * The records of a list. Rejects with a CallFailure when the list is missing, or when none of them can be read.
 *
 * @param leaveOut takes each record that cannot be read; then the list may have no other
 */
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

/** Says that no record of a list can be read. */
export function describeUnreadable(records: number, member: string): string {
  return `none of the ${records} records in "${member}" can be read`;
}

/** The only record of a response. Throws a CallFailure when it is missing or invalid. */
export function parseSingle<T>(schema: z.ZodType<T>, body: unknown, member: string, discarded: Discarded): T {
  const value = isObject(body) ? body[member] : undefined;
  const record = parseRecord(schema, value, discarded, member);
  if (record === undefined) throw discarded.toFailure(`the response has no usable "${member}"`);
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
    if (seen.has(next)) throw refuse(`page ${page}: the link to its next page repeats an earlier page`);
    stale = fresh === 0 ? stale + 1 : 0;
    if (stale === MAX_STALE_PAGES) throw refuse(`pages ${page - stale + 1} to ${page} repeat records of earlier pages`);
    position = next;
  }
}

function readPath(record: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, field) => (isObject(value) ? value[field] : undefined), record);
}

function removeField(value: unknown, [field, ...deeper]: readonly string[]): unknown {
  if (field === undefined || typeof value !== 'object') return undefined;
  const { [field]: inner, ...others }: Record<string, unknown> = { ...value };
  return deeper.length === 0 ? others : { ...others, [field]: removeField(inner, deeper) };
}
