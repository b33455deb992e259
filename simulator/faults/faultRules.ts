import * as z from 'zod';
import { toPattern } from '../nrql/condition.ts';

/** The kinds of calls: one per path template of REST, and one per kind of data in a GraphQL document. */
export const CALL_KINDS = [
  'applications',
  'application',
  'hosts',
  'host',
  'instances',
  'instance',
  'key_transactions',
  'key_transaction',
  'metric_names',
  'metric_data',
  'graphql_user',
  'graphql_accounts',
  'graphql_applications',
  'graphql_key_transactions',
  'graphql_entities',
  'graphql_entity_list',
  'graphql_nrql',
] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** The members that select calls. A rule without any matches all calls. */
const MATCHER = {
  /** Kinds of calls. */
  on: z
    .union([z.enum(CALL_KINDS), z.array(z.enum(CALL_KINDS)).min(1)], `must be of ${CALL_KINDS.join(', ')}`)
    .optional(),
  /** The path with its query, or `/graphql` with the texts of the queries; `*` matches any run of characters. */
  path: z.string().min(1).optional(),
  /** The application in the path, or one that the NRQL query selects by `appId`. */
  app: z.int().positive().optional(),
  /** The number of calls that the rule applies to; by default all. */
  times: z.int().positive().optional(),
  /** The number of matching calls that the rule lets pass first. */
  skip: z.int().nonnegative().optional(),
};

const milliseconds = z.int().nonnegative().max(600_000);
const seconds = z.int().nonnegative();

const defineEffect = <const Name extends string, Parameters extends z.core.$ZodLooseShape>(
  name: Name,
  parameters: Parameters,
) => z.strictObject({ ...MATCHER, effect: z.literal(name), ...parameters });

/** New Relic's message for a subquery with too many results ("Use subqueries for linking multiple queries"). */
const SUBQUERY_LIMIT =
  'Subquery may have reached the maximum result member limit, which may cause an incomplete result.';

/** A fault rule; docs/simulator.md describes the effects. In the short form, `status=503` sets the first parameter. */
export const FAULT_RULE = z.discriminatedUnion('effect', [
  defineEffect('status', {
    status: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()).default({}),
    body: z.string().default('{}'),
  }),
  defineEffect('rate-limit', {
    header: z.enum(['retry-after', 'reset', 'old', 'none']).default('reset'),
    seconds: seconds.default(30),
  }),
  defineEffect('unavailable', { seconds: seconds.default(30) }),
  defineEffect('delay', { milliseconds: milliseconds.default(1000) }),
  defineEffect('drip', { milliseconds: milliseconds.default(100), bytes: z.int().positive().default(16) }),
  defineEffect('numbers', {
    value: z
      .union([z.string(), z.number().transform(String)])
      .pipe(z.string().regex(/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/, 'must be a JSON number'))
      .default('1e999'),
  }),
  defineEffect('series', { fault: z.enum(['newest-missing', 'newest-broken', 'from-1970']).default('newest-missing') }),
  defineEffect('huge', { megabytes: z.int().positive().max(4096).default(50) }),
  defineEffect('redirect', {
    location: z.string().min(1),
    status: z.literal([301, 302, 303, 307, 308]).default(302),
  }),
  defineEffect('graphql-error', {
    class: z.string().min(1).default('SERVER_ERROR'),
    message: z.string().min(1).default('An error occurred'),
    /** Makes only this field of the listed entities fail: null, with the error at its path. */
    field: z.literal('goldenMetrics').optional(),
    /** Makes the field fail only for the entity with this name. */
    entity: z.string().min(1).optional(),
  }),
  defineEffect('null-alias', { level: z.enum(['field', 'account', 'actor']).default('field') }),
  defineEffect('truncate', { rows: z.int().positive().optional() }),
  defineEffect('message', { text: z.string().min(1).default(SUBQUERY_LIMIT) }),
  defineEffect('omit', { entity: z.string().min(1) }),
  z.strictObject({
    ...MATCHER,
    effect: z.enum([
      'invalid-key',
      'payment-required',
      'forbidden-page',
      'hang',
      'reset',
      'cut',
      'malformed',
      'empty',
      'html',
      'wrong-shape',
      'bad-record',
      'nulls',
      'strings',
      'endless-pages',
      'repeat-ids',
      'repeat-next',
    ]),
  }),
]);

export type FaultRule = z.infer<typeof FAULT_RULE>;
/** A rule before the schema fills in the defaults. */
export type FaultRuleInput = z.input<typeof FAULT_RULE>;

/** Effects that apply to GraphQL calls only. */
const FOR_GRAPHQL: ReadonlySet<string> = new Set(['graphql-error', 'null-alias', 'truncate', 'message', 'omit']);

/** The parameter that `EFFECT=VALUE` sets, by effect; undefined if the effect takes no value. */
const MAIN_PARAMETER = new Map<string, string | undefined>(
  FAULT_RULE.options.flatMap(({ shape: { effect: names, ...others } }) => {
    const parameters = Object.keys(others).filter((name) => !(name in MATCHER));
    return (names instanceof z.ZodEnum ? names.options : [...names.values]).map(
      (name) => [name, parameters[0]] as const,
    );
  }),
);

export const EFFECTS: readonly string[] = [...MAIN_PARAMETER.keys()];

/** Describes in one line what is wrong with a rule, a change or another body. */
export function describeFaults(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => [path.join('.'), message].filter((text) => text !== '').join(': '))
    .join('; ');
}

/** Wraps a list of words into lines of at most 64 characters. */
function wrapWords(words: readonly string[]): string {
  return (words.join(', ').match(/\S.{0,62}(?:,|$)/g) ?? []).join('\n    ');
}

/** The syntax of a rule, for the help of the command. */
export const FAULT_SYNTAX = `EFFECT[=VALUE][,on=KIND][,app=ID][,path=GLOB]
  [,times=N][,skip=N][,PARAMETER=VALUE]

  effects:
    ${wrapWords(EFFECTS)}
  kinds of calls:
    ${wrapWords(CALL_KINDS)}
  examples:
    status=503,on=metric_data,times=3
    rate-limit=retry-after,seconds=20
    graphql-error=TIMEOUT,on=graphql_nrql,times=1
    hang,app=1000002
  docs/simulator.md says what each effect does.`;

function parseScalar(text: string): number | string {
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

/** Reads the short form of a fault rule. Throws an Error that says what is wrong with it. */
export function parseFault(text: string): FaultRuleInput {
  const [head = '', ...rest] = text.split(',').map((part) => part.trim());
  const pair = (part: string) => {
    const [name = '', ...value] = part.split('=');
    return [name, value.length === 0 ? undefined : value.join('=')] as const;
  };
  const [name, main] = pair(head);
  if (name in MATCHER) throw new Error(`a rule begins with its effect, such as "status=503,${head}"`);
  if (!MAIN_PARAMETER.has(name)) throw new Error(`unknown effect "${name}"; one of ${EFFECTS.join(', ')}`);
  const rule: Record<string, unknown> = { effect: name };
  if (main !== undefined) {
    const parameter = MAIN_PARAMETER.get(name);
    if (parameter === undefined) throw new Error(`the effect "${name}" takes no value`);
    rule[parameter] = parseScalar(main);
  }
  for (const part of rest) {
    const [parameter, value] = pair(part);
    if (value === undefined) throw new Error(`"${part}" must be name=value`);
    rule[parameter] = parseScalar(value);
  }
  const parsed = FAULT_RULE.safeParse(rule);
  if (!parsed.success) throw new Error(describeFaults(parsed.error));
  return parsed.data;
}

/** The part of a call that rules look at. */
export interface FaultTarget {
  /** The kinds of requested data: at most one for REST, any number in a GraphQL document. */
  readonly kinds: readonly CallKind[];
  readonly applicationIds: readonly number[];
  /** The decoded path with its query; for GraphQL `/graphql`, followed by the texts of the queries. */
  readonly text: string;
  readonly isGraphql: boolean;
}

/** True if a rule applies to a call, or a part of a call, with one of these kinds and applications. */
export function appliesTo(rule: FaultRule, kinds: readonly CallKind[], applicationIds: readonly number[]): boolean {
  if (rule.app !== undefined && !applicationIds.includes(rule.app)) return false;
  return rule.on === undefined || [rule.on].flat().some((kind) => kinds.includes(kind));
}

function matchesCall(rule: FaultRule, { kinds, applicationIds, text, isGraphql }: FaultTarget): boolean {
  if (FOR_GRAPHQL.has(rule.effect) && !isGraphql) return false;
  const isOnPath = rule.path === undefined || new RegExp(`^${toPattern(rule.path, '*')}$`, 's').test(text);
  return isOnPath && appliesTo(rule, kinds, applicationIds);
}

/** The active fault rules. The first rule that matches a call decides its fault. */
export class FaultBook {
  /** The rules, each with the number of calls that matched so far, skipped calls included. */
  #held: { readonly id: number; readonly rule: FaultRule; matched: number }[] = [];
  #nextId = 1;

  /** Adds a rule after the existing ones and returns its id. Throws a ZodError for an invalid rule. */
  add(input: FaultRuleInput): number {
    const id = this.#nextId;
    this.#held.push({ id, rule: FAULT_RULE.parse(input), matched: 0 });
    this.#nextId += 1;
    return id;
  }

  /** Removes a rule; false when none has this id. */
  remove(id: number): boolean {
    const before = this.#held.length;
    this.#held = this.#held.filter((held) => held.id !== id);
    return this.#held.length < before;
  }

  clear(): void {
    this.#held = [];
  }

  entries() {
    return this.#held.map((held) => ({ ...held }));
  }

  /** Returns the first rule that applies to a call. Counts the call for this rule, and for rules that skip it. */
  strike(target: FaultTarget): FaultRule | undefined {
    for (const held of this.#held) {
      const { skip = 0, times = Infinity } = held.rule;
      if (held.matched >= skip + times || !matchesCall(held.rule, target)) continue;
      held.matched += 1;
      if (held.matched > skip) return held.rule;
    }
    return undefined;
  }
}
