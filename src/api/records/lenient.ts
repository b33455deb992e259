import type * as z from 'zod';
import { CallFailure } from '../http/callFailure.ts';
import type { Client } from '../http/client.ts';
import { isList, isObject } from '../http/jsonShape.ts';

/** Counts what an answer held that could not be used (docs/interface.md). */
export class LeftOut {
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
  words(): string | undefined {
    const parts = [counted(this.#records, 'record'), counted(this.#values, 'value')].filter((part) => part !== '');
    return parts.length === 0 ? undefined : `left out ${parts.join(' and ')}, the first: ${this.#first}`;
  }
}

function counted(count: number, what: string): string {
  return count === 0 ? '' : `${count} bad ${what}${count === 1 ? '' : 's'}`;
}

/** Reads an answer, and reports what of it was left out, or that it is useless. */
export function checked<T>(reports: Client['reports'], endpoint: string, read: (leftOut: LeftOut) => T): T {
  const leftOut = new LeftOut();
  try {
    return read(leftOut);
  } catch (error) {
    throw error instanceof CallFailure ? reports.fail(endpoint, error) : error;
  } finally {
    const words = leftOut.words();
    if (words !== undefined) reports.leftOut(endpoint, words);
  }
}

/** Pages have 200 records, of metric names 1,000; a page of many more would stop everything else. */
const MOST_RECORDS = 5_000;

/**
 * Reads a record after leaving out the optional fields that are bad. Undefined when it is bad without them too: then a
 * field that must be there is missing or wrong.
 */
export function parseRecord<T>(schema: z.ZodType<T>, record: unknown, leftOut: LeftOut, where: string): T | undefined {
  const whole = schema.safeParse(record);
  if (whole.success) return whole.data;
  const bad = new Map(whole.error.issues.map(({ path }) => [path.join('.'), path.map(String)]));
  const rest = schema.safeParse([...bad.values()].reduce(without, record));
  if (!rest.success) {
    leftOut.record(where);
    return undefined;
  }
  for (const name of bad.keys()) leftOut.value(`${where}.${name}`);
  return rest.data;
}

/**
 * The records of a list. Throws a CallFailure when the list is missing, or holds records but none that can be read:
 * taken for an empty list, it would end every series of its kind.
 */
export function parseList<T>(schema: z.ZodType<T>, body: unknown, member: string, leftOut: LeftOut): T[] {
  const records = memberOf(body, member);
  if (!isList(records)) throw new CallFailure('invalid_response', `the answer has no list "${member}"`);
  if (records.length > MOST_RECORDS) {
    throw new CallFailure('invalid_response', `"${member}" has more than ${MOST_RECORDS} records on one page`);
  }
  const parsed = records.flatMap((record) => parseRecord(schema, record, leftOut, member) ?? []);
  if (records.length > 0 && parsed.length === 0) {
    throw new CallFailure('invalid_response', `none of the ${records.length} records in "${member}" can be read`);
  }
  return parsed;
}

/** The one record of an answer. Throws a CallFailure when it is missing or bad. */
export function parseSingle<T>(schema: z.ZodType<T>, body: unknown, member: string, leftOut: LeftOut): T {
  const record = parseRecord(schema, memberOf(body, member), leftOut, member);
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
