import { z } from 'zod';
import { parseTime } from '../timestamps.ts';

/** A text written as a number is no id: two systems would disagree about which record it is. */
export const id = z.int().positive();

/** A name, or another word that becomes a label. */
export const text = z.string().min(1);

/** Upstream's figures: times, rates, ratios and thresholds. None can be below 0; zod takes finite numbers only. */
export const amount = z.number().nonnegative();

export const count = z.int().nonnegative();

/** ISO 8601; read as Unix seconds. */
export const time = z.string().transform((value, context) => {
  const seconds = parseTime(value);
  if (seconds !== undefined) return seconds;
  context.issues.push({ code: 'custom', message: 'no time with an offset', input: value });
  return z.NEVER;
});
