import * as z from 'zod';

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
