import * as z from 'zod';

/** The kinds of calls the REST interface answers, one per path template. */
const REST_KINDS = [
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
] as const;
export type RestKind = (typeof REST_KINDS)[number];

/** The kinds of data a GraphQL document can ask for; one document may ask for several. */
const GRAPHQL_KINDS = [
  'graphql_accounts',
  'graphql_applications',
  'graphql_key_transactions',
  'graphql_entities',
  'graphql_nrql',
] as const;
export type GraphqlKind = (typeof GRAPHQL_KINDS)[number];

export const CALL_KINDS = [...REST_KINDS, ...GRAPHQL_KINDS] as const;
export type CallKind = (typeof CALL_KINDS)[number];

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
function isForGraphql({ effect }: FaultRule): boolean {
  return effect === 'graphql-error' || effect === 'null-alias' || effect === 'truncate';
}

export const EFFECTS: readonly string[] = FAULT_RULE.options.map((option) => option.shape.effect.value);

/** Says in one line what is wrong with a rule, an amendment or another body. */
export function describeFaults(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => [path.join('.'), message].filter((text) => text !== '').join(': '))
    .join('; ');
}

/** Faults of the pages of a list: no last page, every id twice, a page that names itself as the next. */
export type PageFault = 'endless-pages' | 'repeat-ids' | 'repeat-next';

/** The page fault of a rule, if it has one. */
export function pageFaultOf(rule: FaultRule | undefined): PageFault | undefined {
  switch (rule?.effect) {
    case 'endless-pages':
    case 'repeat-ids':
    case 'repeat-next':
      return rule.effect;
    default:
      return undefined;
  }
}

/** What the value after `effect=` means. */
const MAIN_PARAMETER: Readonly<Record<string, string>> = {
  status: 'status',
  'rate-limit': 'header',
  unavailable: 'seconds',
  delay: 'milliseconds',
  drip: 'milliseconds',
  numbers: 'value',
  huge: 'megabytes',
  redirect: 'location',
  'graphql-error': 'class',
  'null-alias': 'level',
  truncate: 'rows',
};

const LINE = 64;

/** The words as a list over several lines, each of at most so many characters. */
function inLines(words: readonly string[]): string {
  const lines = [''];
  for (const word of words) {
    const last = lines.at(-1) ?? '';
    if (last === '') lines[lines.length - 1] = word;
    else if (`${last}, ${word}`.length > LINE) lines.push(word);
    else lines[lines.length - 1] = `${last}, ${word}`;
  }
  return lines.join(',\n    ');
}

/** How a rule is written, for the help of the command. */
export const FAULT_SYNTAX = `EFFECT[=VALUE][,on=KIND][,app=ID][,path=GLOB]
  [,times=N][,skip=N][,PARAMETER=VALUE]

  effects:
    ${inLines(EFFECTS)}
  kinds of calls:
    ${inLines(CALL_KINDS)}
  examples:
    status=503,on=metric_data,times=3
    rate-limit=retry-after,seconds=20
    graphql-error=TIMEOUT,on=graphql_nrql,times=1
    hang,app=1000002
  docs/simulator.md says what each effect does.`;

function scalar(text: string): number | string {
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

/** Reads the short form of a fault rule. Throws an Error that says what is wrong with it. */
export function parseFault(text: string): FaultRuleInput {
  const [head = '', ...rest] = text.split(',').map((part) => part.trim());
  const pair = (part: string): readonly [name: string, value: string | undefined] => {
    const at = part.indexOf('=');
    return at < 0 ? [part, undefined] : [part.slice(0, at), part.slice(at + 1)];
  };
  const [effect, main] = pair(head);
  if (!EFFECTS.includes(effect)) throw new Error(`unknown effect "${effect}"; one of ${EFFECTS.join(', ')}`);
  const rule: Record<string, unknown> = { effect };
  if (main !== undefined) {
    const parameter = MAIN_PARAMETER[effect];
    if (parameter === undefined) throw new Error(`the effect "${effect}" takes no value`);
    rule[parameter] = scalar(main);
  }
  for (const part of rest) {
    const [name, value] = pair(part);
    if (value === undefined) throw new Error(`"${part}" must be name=value`);
    rule[name] = scalar(value);
  }
  const parsed = FAULT_RULE.safeParse(rule);
  if (!parsed.success) throw new Error(describeFaults(parsed.error));
  return parsed.data;
}

/** A call as the rules see it. */
export interface FaultTarget {
  /** What it asks for: one kind on the REST interface, any number in a GraphQL document. */
  readonly kinds: readonly CallKind[];
  readonly applicationIds: readonly number[];
  /** The decoded path with its query; for GraphQL `/graphql`, a space, and the texts of its queries. */
  readonly text: string;
  readonly isGraphql: boolean;
}

/** A rule in force. */
interface FaultEntry {
  readonly id: number;
  readonly rule: FaultRule;
  /** How many calls matched it so far, those it let pass among them. */
  readonly matched: number;
}

interface HeldRule {
  readonly id: number;
  readonly rule: FaultRule;
  readonly path: RegExp | undefined;
  matched: number;
}

function globToRegExp(glob: string): RegExp {
  const parts = glob.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

/** Whether a rule is for calls, or parts of a call, of one of these kinds that are about these applications. */
export function isMeant(rule: FaultRule, kinds: readonly CallKind[], applicationIds: readonly number[]): boolean {
  if (rule.app !== undefined && !applicationIds.includes(rule.app)) return false;
  return rule.on === undefined || [rule.on].flat().some((kind) => kinds.includes(kind));
}

function strikes({ rule, path }: HeldRule, { kinds, applicationIds, text, isGraphql }: FaultTarget): boolean {
  if (path?.test(text) === false || (isForGraphql(rule) && !isGraphql)) return false;
  return isMeant(rule, kinds, applicationIds);
}

/** The fault rules in force. The first rule that matches a call decides what happens to it. */
export class FaultBook {
  #held: HeldRule[] = [];
  #nextId = 1;

  /** Adds a rule behind those there are and gives its id. Throws a ZodError on a bad one. */
  add(input: FaultRuleInput): number {
    const rule = FAULT_RULE.parse(input);
    const id = this.#nextId;
    this.#nextId += 1;
    this.#held.push({ id, rule, path: rule.path === undefined ? undefined : globToRegExp(rule.path), matched: 0 });
    return id;
  }

  /** Takes one rule away; false when there is none of this id. */
  remove(id: number): boolean {
    const before = this.#held.length;
    this.#held = this.#held.filter((held) => held.id !== id);
    return this.#held.length < before;
  }

  clear(): void {
    this.#held = [];
  }

  entries(): readonly FaultEntry[] {
    return this.#held.map(({ id, rule, matched }) => ({ id, rule, matched }));
  }

  /** The rule that strikes this call, counting it. */
  strike(target: FaultTarget): FaultRule | undefined {
    for (const held of this.#held) {
      const { skip = 0, times = Infinity } = held.rule;
      if (held.matched >= skip + times || !strikes(held, target)) continue;
      held.matched += 1;
      if (held.matched > skip) return held.rule;
    }
    return undefined;
  }
}
