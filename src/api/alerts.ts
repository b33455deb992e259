import * as z from 'zod';

// The alerting of an account as New Relic stores it. Durations are seconds; a missing setting is undefined.

/** A field that New Relic may leave out or return as null, with the value that it then has. */
const withDefault = <T extends z.ZodType, V>(schema: T, value: V) =>
  schema.nullish().transform((given) => given ?? value);

const text = withDefault(z.string(), '');
const flag = withDefault(z.boolean(), false);
const number = withDefault(z.number(), undefined);
const id = z.union([z.string(), z.number().transform(String)]).pipe(z.string().min(1));

/** A policy or another part of an account's alerting of which only the name is needed. */
export const named = z.object({ id, name: text });

export const compoundCondition = named.extend({ policyId: withDefault(id, undefined) });

/** A threshold of a condition. */
const term = z
  .object({
    __typename: text,
    operator: z.string(),
    /** `CRITICAL` or `WARNING`. */
    priority: z.string(),
    threshold: z.number(),
    thresholdDuration: z.number().nonnegative(),
    /** `ALL` or `AT_LEAST_ONCE`. */
    thresholdOccurrences: z.string(),
  })
  .transform(({ __typename, ...fields }) => ({ ...fields, isPredicted: __typename.endsWith('WithPrediction') }));

const signal = z.object({
  aggregationWindow: number,
  slideBy: number,
  evaluationDelay: number,
  /** `NONE`, `LAST_VALUE` or `STATIC`. */
  fillOption: text,
  fillValue: number,
});

const expiration = z.object({
  expirationDuration: number,
  openViolationOnExpiration: flag,
  ignoreOnExpectedTermination: flag,
});

export const condition = z
  .object({
    id,
    policyId: id,
    name: text,
    description: text,
    runbookUrl: text,
    enabled: z.boolean(),
    /** `STATIC`, `BASELINE` or `OUTLIER`. */
    type: z.string(),
    /** `dataAccountId` is set where the data are in another account than the condition. */
    nrql: z.object({ query: text, dataAccountId: number }),
    terms: withDefault(z.array(term).readonly(), []),
    signal: withDefault(signal, signal.parse({})),
    expiration: withDefault(expiration, expiration.parse({})),
    violationTimeLimitSeconds: number,
  })
  .transform(({ nrql: { query, dataAccountId }, violationTimeLimitSeconds: violationTimeLimit, ...fields }) => ({
    ...fields,
    nrql: query,
    dataAccountId,
    violationTimeLimit,
  }));

export type AlertTerm = Readonly<z.output<typeof term>>;
export type AlertCondition = Readonly<z.output<typeof condition>>;
export type NamedAlerting = Readonly<z.output<typeof named>>;

/** The parts of an account's alerting that decide when an event opens. */
export interface AlertSettings {
  readonly accountId: number;
  readonly policies: readonly NamedAlerting[];
  readonly conditions: readonly AlertCondition[];
  readonly compoundConditions: readonly Readonly<z.output<typeof compoundCondition>>[];
  readonly mutingRules: readonly NamedAlerting[];
}
