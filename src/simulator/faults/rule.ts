import * as z from 'zod';
import { CALL_KINDS } from '../callKinds.ts';

/** Which calls a rule is for; without any of these, all. */
const MATCHER = {
  /** Kinds of calls. */
  on: z.union([z.enum(CALL_KINDS), z.array(z.enum(CALL_KINDS)).min(1)]).optional(),
  /** The path, query included, or `/graphql` with the texts of the queries; `*` stands for any run of characters. */
  path: z.string().min(1).optional(),
  /** The application in the path, or in the conditions of the NRQL query. */
  app: z.int().positive().optional(),
  /** How many calls it applies to; without it, all. */
  times: z.int().positive().optional(),
  /** How many calls that match it lets pass first. */
  skip: z.int().nonnegative().optional(),
};

const milliseconds = z.int().nonnegative().max(600_000);
const seconds = z.int().nonnegative();

/** What happens to a call. Each `effect` is described in docs/simulator.md. */
export const FAULT_RULE = z.discriminatedUnion('effect', [
  z.strictObject({
    ...MATCHER,
    effect: z.literal('status'),
    status: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()).default({}),
    body: z.string().default('{}'),
  }),
  z.strictObject({
    ...MATCHER,
    effect: z.literal('rate-limit'),
    header: z.enum(['retry-after', 'reset', 'old', 'none']).default('reset'),
    seconds: seconds.default(30),
  }),
  z.strictObject({ ...MATCHER, effect: z.literal('unavailable'), seconds: seconds.default(30) }),
  z.strictObject({ ...MATCHER, effect: z.literal('invalid-key') }),
  z.strictObject({ ...MATCHER, effect: z.literal('payment-required') }),
  z.strictObject({ ...MATCHER, effect: z.literal('forbidden-page') }),
  z.strictObject({ ...MATCHER, effect: z.literal('hang') }),
  z.strictObject({ ...MATCHER, effect: z.literal('delay'), milliseconds: milliseconds.default(1000) }),
  z.strictObject({
    ...MATCHER,
    effect: z.literal('drip'),
    milliseconds: milliseconds.default(100),
    bytes: z.int().positive().default(16),
  }),
  z.strictObject({ ...MATCHER, effect: z.literal('reset') }),
  z.strictObject({ ...MATCHER, effect: z.literal('cut') }),
  z.strictObject({ ...MATCHER, effect: z.literal('malformed') }),
  z.strictObject({ ...MATCHER, effect: z.literal('empty') }),
  z.strictObject({ ...MATCHER, effect: z.literal('html') }),
  z.strictObject({ ...MATCHER, effect: z.literal('wrong-shape') }),
  z.strictObject({ ...MATCHER, effect: z.literal('bad-record') }),
  z.strictObject({ ...MATCHER, effect: z.literal('nulls') }),
  z.strictObject({ ...MATCHER, effect: z.literal('strings') }),
  z.strictObject({
    ...MATCHER,
    effect: z.literal('numbers'),
    value: z
      .union([z.string(), z.number().transform(String)])
      .pipe(z.string().regex(/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/, 'must be a JSON number'))
      .default('1e999'),
  }),
  z.strictObject({ ...MATCHER, effect: z.literal('huge'), megabytes: z.int().positive().max(4096).default(50) }),
  z.strictObject({
    ...MATCHER,
    effect: z.literal('redirect'),
    location: z.string().min(1),
    status: z.union([z.literal(301), z.literal(302), z.literal(303), z.literal(307), z.literal(308)]).default(302),
  }),
  z.strictObject({ ...MATCHER, effect: z.literal('endless-pages') }),
  z.strictObject({ ...MATCHER, effect: z.literal('repeat-ids') }),
  z.strictObject({ ...MATCHER, effect: z.literal('repeat-next') }),
  z.strictObject({
    ...MATCHER,
    effect: z.literal('graphql-error'),
    class: z.string().min(1).default('SERVER_ERROR'),
    message: z.string().min(1).default('An error occurred'),
  }),
  z.strictObject({
    ...MATCHER,
    effect: z.literal('null-alias'),
    level: z.enum(['field', 'account', 'actor']).default('field'),
  }),
  z.strictObject({ ...MATCHER, effect: z.literal('truncate'), rows: z.int().positive().optional() }),
]);

export type FaultRule = z.infer<typeof FAULT_RULE>;
/** A rule as it is written, before the defaults are filled in. */
export type FaultRuleInput = z.input<typeof FAULT_RULE>;

/** Whether the effect of a rule exists on GraphQL calls alone. */
export function isForGraphql({ effect }: FaultRule): boolean {
  return effect === 'graphql-error' || effect === 'null-alias' || effect === 'truncate';
}

export const EFFECTS: readonly string[] = FAULT_RULE.options.map((option) => option.shape.effect.value);

/** Says in one line what is wrong with a rule, an amendment or another body. */
export function describeFaults(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => [path.join('.'), message].filter((text) => text !== '').join(': '))
    .join('; ');
}
