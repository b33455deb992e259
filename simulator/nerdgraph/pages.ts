import { GraphQLError } from 'graphql';
import type { FaultRule } from '../faults/faultRules.ts';

const MAX_PER_PAGE = 200;

/** The number of rows to show: all, or with a `truncate` fault the number that it gives, else half of them; at least one. */
export function truncated(fault: FaultRule | undefined, rows: number): number {
  if (fault?.effect !== 'truncate') return rows;
  return Math.max(1, Math.min(rows, fault.rows ?? Math.ceil(rows / 2)));
}

/** True for an entity that an `omit` fault leaves out of what a call finds, as if it had been deleted before. */
export function isOmitted(name: string, fault: FaultRule | undefined): boolean {
  return fault?.effect === 'omit' && fault.entity === name;
}

export function invalidInput(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { errorClass: 'INVALID_INPUT' } });
}

const encodeCursor = (offset: number): string => Buffer.from(`from:${offset}`).toString('base64url');

/** One page of the results of a search. Throws a GraphQLError for an unknown cursor. */
export function pageOf<One>(
  found: readonly One[],
  cursor: string | null | undefined,
  limit: number | null | undefined,
  fault: FaultRule | undefined,
) {
  const size = Math.max(1, Math.min(limit ?? MAX_PER_PAGE, MAX_PER_PAGE));
  const given = cursor ?? encodeCursor(0);
  const offset = Number(/^from:(\d{1,9})$/.exec(Buffer.from(given, 'base64url').toString())?.[1] ?? NaN);
  if (Number.isNaN(offset)) throw invalidInput('Invalid cursor');
  const isEndless = fault?.effect === 'endless-pages' && found.length > 0;
  const all = found.slice(isEndless ? offset % found.length : offset).slice(0, size);
  const shown = all.slice(0, truncated(fault, all.length));
  const page = fault?.effect === 'repeat-ids' ? shown.flatMap((one) => [one, one]) : shown;
  if (fault?.effect === 'repeat-next') return { page, nextCursor: encodeCursor(offset) };
  return { page, nextCursor: isEndless || offset + size < found.length ? encodeCursor(offset + size) : null };
}

/** The error of a fault. The class of a bad key is in another member than the other classes. */
export function errorOf({ class: name, message }: Extract<FaultRule, { effect: 'graphql-error' }>): GraphQLError {
  return new GraphQLError(message, { extensions: { [name === 'BAD_API_KEY' ? 'error_code' : 'errorClass']: name } });
}
