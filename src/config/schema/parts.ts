import * as z from 'zod';
import { DURATION_PATTERN, durationAdvice, formatDuration, parseDuration } from '../duration.ts';
import { typeMismatch } from '../schemaIssues.ts';

/** Longest duration, because the timers of Node.js overflow after 24.8 days. */
const LONGEST = '24d';

/** A duration: text in the file, milliseconds in the program. */
export function duration(range: { readonly min: string; readonly wholeMinutes?: boolean; readonly max?: string }) {
  const min = milliseconds(range.min);
  const longest = range.max ?? LONGEST;
  const allowed = [min > 0 ? `at least ${range.min}` : '', range.wholeMinutes === true ? 'whole minutes' : ''];
  if (range.max !== undefined) allowed.push(`at most ${range.max}`);
  const max = milliseconds(longest);
  const written = z
    .string({ error: ({ input }) => typeMismatch(input, 'a duration such as 30s, 5m or 1h30m') })
    .regex(DURATION_PATTERN, {
      error: ({ input }) => {
        const advice = durationAdvice(String(input));
        const hint = advice === '' ? '' : `${advice}; `;
        return `is not a duration: ${hint}write whole numbers with units, such as 30s, 5m or 1h30m`;
      },
    });
  return z
    .codec(written, z.number(), { decode: milliseconds, encode: formatDuration })
    .superRefine((value, ctx) => {
      if (value < min) ctx.addIssue(`must be at least ${range.min}`);
      else if (value > max) ctx.addIssue(`must be at most ${longest}`);
      else if (range.wholeMinutes === true && value % 60_000 !== 0) {
        const [below, above] = [Math.floor(value / 60_000), Math.ceil(value / 60_000)].map((m) =>
          formatDuration(m * 60_000),
        );
        ctx.addIssue(`must be whole minutes: write ${String(below)} or ${String(above)}`);
      }
    })
    .meta({ placeholder: '<duration>', range: allowed.filter((part) => part !== '').join(', ') });
}

function milliseconds(text: string): number {
  return parseDuration(text) ?? Number.NaN;
}

export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  return z.int().min(min).max(max);
}

export function text() {
  return z.string().min(1);
}

/** Text that is valid unless `problem` finds something wrong with it, in words for the user. */
export function textWithout(problem: (text: string) => string | undefined, schema = text()) {
  return schema.superRefine((value, ctx) => {
    const message = problem(value);
    if (message !== undefined) ctx.addIssue(message);
  });
}

/** One of these words, in any case. */
export function anyCase<T extends string>(words: readonly T[]) {
  return z.codec(z.string().meta({ enum: words }), z.enum(words), {
    decode: (written) => written.toLowerCase() as T,
    encode: (word) => word,
  });
}

/** The factor that the values of a metric are multiplied with. */
export function scale() {
  const number = z.number().refine((value) => value !== 0, 'must not be 0');
  return notes(number.default(1), { description: 'Multiplied into the value, for instance to get to base units.' });
}

/** Attaches documentation of a key beyond its type: the written form of its value, and an example. */
export function notes<T extends z.ZodType>(
  schema: T,
  notes: {
    readonly description: string;
    /** Name of the value's grammar in the reference page, such as `<duration>`. */
    readonly placeholder?: string;
    /** For keys without a default: a value for the example file. It is not named `examples`: editors offer to insert those. */
    readonly example?: unknown;
    /** The allowed values, where the grammar allows more. */
    readonly range?: string;
    /** The behaviour without the key, where that is not a fixed value. */
    readonly otherwise?: string;
  },
): T {
  return schema.meta({ ...notes });
}

export function list<T extends z.ZodType>(entry: T, min = 0): z.ZodType<readonly z.output<T>[], readonly z.input<T>[]> {
  const entries = z.array(entry);
  return min === 0 ? entries : entries.min(min);
}

/** `delay` of a query and of a type of entities. */
export const ownDelay = notes(duration({ min: '1m', wholeMinutes: true, max: '24h' }).optional(), {
  description: 'The window ends this long ago: for data that New Relic has later than the rest.',
  otherwise: '`collection.delay`',
  example: '10m',
});
