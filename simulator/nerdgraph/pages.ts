import { GraphQLError } from 'graphql';
import type { FaultRule } from '../faults/faultRules.ts';

const MAX_PER_PAGE = 200;

/** Returns the number of rows to show: all, or under a `truncate` fault its number, by default half; at least one. */
export function truncated(fault: FaultRule | undefined, rows: number): number {
  if (fault?.effect !== 'truncate') return rows;
  return Math.max(1, Math.min(rows, fault.rows ?? Math.ceil(rows / 2)));
}

/** True if an `omit` fault hides an entity from a call, as if somebody had deleted it. */
export function isOmitted(name: string, fault: FaultRule | undefined): boolean {
  return fault?.effect === 'omit' && fault.entity === name;
}

export function invalidInput(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { errorClass: 'INVALID_INPUT' } });
}

const encodeCursor = (offset: number): string => Buffer.from(`from:${offset}`).toString('base64url');

/** Cuts one page out of the results of a search. Throws a GraphQLError for an unknown cursor. */
export function cutPage<One>(
  found: readonly One[],
  cursor: string | null | undefined,
  limit: number | null | undefined,
  fault: FaultRule | undefined,
) {
  const size = Math.max(1, Math.min(limit ?? MAX_PER_PAGE, MAX_PER_PAGE));
  const requested = cursor ?? encodeCursor(0);
  const offset = Number(/^from:(\d{1,9})$/.exec(Buffer.from(requested, 'base64url').toString())?.[1] ?? NaN);
  if (Number.isNaN(offset)) throw invalidInput('Invalid cursor');
  const isEndless = fault?.effect === 'endless-pages' && found.length > 0;
  const all = found.slice(isEndless ? offset % found.length : offset).slice(0, size);
  const shown = all.slice(0, truncated(fault, all.length));
  const page = fault?.effect === 'repeat-ids' ? shown.flatMap((one) => [one, one]) : shown;
  if (fault?.effect === 'repeat-next') return { page, nextCursor: encodeCursor(offset) };
  return { page, nextCursor: isEndless || offset + size < found.length ? encodeCursor(offset + size) : null };
}

/** Creates the error of a fault. BAD_API_KEY is in another member than other classes. */
export function createError({ class: name, message }: Extract<FaultRule, { effect: 'graphql-error' }>): GraphQLError {
  return new GraphQLError(message, { extensions: { [name === 'BAD_API_KEY' ? 'error_code' : 'errorClass']: name } });
}
