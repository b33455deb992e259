import * as z from 'zod';
import { DURATION_PATTERN, adviseOnDuration, formatDuration, parseDuration } from '../duration.ts';
import { describeMismatch } from '../schemaIssues.ts';

/** Maximum duration. The timers of Node.js overflow after 24.8 days. */
const LONGEST = '24d';

/** Schema of a duration: text in the file, milliseconds in the program. */
export function duration(range: { readonly min: string; readonly wholeMinutes?: boolean; readonly max?: string }) {
  const min = toMilliseconds(range.min);
  const longest = range.max ?? LONGEST;
  const allowed = [min > 0 ? `at least ${range.min}` : '', range.wholeMinutes === true ? 'whole minutes' : ''];
  if (range.max !== undefined) allowed.push(`at most ${range.max}`);
  const max = toMilliseconds(longest);
  const written = z
    .string({ error: ({ input }) => describeMismatch(input, 'a duration such as 30s, 5m or 1h30m') })
    .regex(DURATION_PATTERN, {
      error: ({ input }) => {
        const advice = adviseOnDuration(String(input));
        const hint = advice === '' ? '' : `${advice}; `;
        return `is not a duration: ${hint}write whole numbers with units, such as 30s, 5m or 1h30m`;
      },
    });
  return z
    .codec(written, z.number(), { decode: toMilliseconds, encode: formatDuration })
    .superRefine((value, ctx) => {
      if (value < min) ctx.addIssue(`must be at least ${range.min}`);
      else if (value > max) ctx.addIssue(`must be at most ${longest}`);
      else if (range.wholeMinutes === true && value % 60_000 !== 0) {
        const below = value - (value % 60_000);
        ctx.addIssue(`must be whole minutes: write ${formatDuration(below)} or ${formatDuration(below + 60_000)}`);
      }
    })
    .meta({ placeholder: '<duration>', range: allowed.filter((part) => part !== '').join(', ') });
}

function toMilliseconds(text: string): number {
  return parseDuration(text) ?? Number.NaN;
}

export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  return z.int().min(min).max(max);
}

export function text() {
  return z.string().min(1);
}

/** Schema of a text that is valid unless `problem` returns a message. */
export function textWithout(problem: (text: string) => string | undefined, schema = text()) {
  return schema.superRefine((value, ctx) => {
    const message = problem(value);
    if (message !== undefined) ctx.addIssue(message);
  });
}

/** Schema of one of `words`, in any case. */
export function anyCase<T extends string>(words: readonly T[]) {
  return z.codec(z.string().meta({ enum: words }), z.enum(words), {
    decode: (written) => written.toLowerCase() as T,
    encode: (word) => word,
  });
}

export function scale() {
  const number = z.number().refine((value) => value !== 0, 'must not be 0');
  return notes(number.default(1), { description: 'Factor for the value, for instance to convert it to base units.' });
}

export function notes<T extends z.ZodType>(
  schema: T,
  notes: {
    readonly description: string;
    /** Name of the value's grammar in the reference page, such as `<duration>`. */
    readonly placeholder?: string;
    /** Value for the example file, for keys without a default. Not named `examples`: editors offer those values. */
    readonly example?: unknown;
    readonly range?: string;
    readonly otherwise?: string;
  },
): T {
  return schema.meta({ ...notes });
}

export function list<T extends z.ZodType>(entry: T, min = 0): z.ZodType<readonly z.output<T>[], readonly z.input<T>[]> {
  const entries = z.array(entry);
  return min === 0 ? entries : entries.min(min);
}

/** Returns the keys for the times of a query, or of the golden metrics of a type of entities. */
export function ownTimes(subject: 'query' | 'values', window: string) {
  return {
    window: notes(duration({ min: '1m', wholeMinutes: true, max: '366d' }).optional(), {
      description: `Time range of the ${subject}, in whole minutes.`,
      otherwise: '`collection.window`',
      example: window,
    }),
    delay: notes(duration({ min: '1m', wholeMinutes: true, max: '24h' }).optional(), {
      description: 'How far the end of the window lags behind now, for data that reaches New Relic late.',
      otherwise: '`collection.delay`',
      example: '10m',
    }),
    interval: notes(duration({ min: '1m' }).prefault('1m'), { description: 'Minimum time between two reads.' }),
  };
}
