/** The words of NRQL and of entity searches, and the conditions that both are made of. */

/** Why a query is not answered, in the service's words. */
export class NrqlError extends Error {
  override readonly name = 'NrqlError';
}

/** The text is not a query that the service understands. `position` counts its characters from 1. */
export function syntaxError(text: string, position: number, problem: string): NrqlError {
  const before = text.slice(0, position - 1).split('\n');
  const column = (before.at(-1) ?? '').length + 1;
  return new NrqlError(`NRQL Syntax Error: Error at line ${before.length} position ${column}, ${problem}`);
}

/** A word (a keyword, a function or an attribute), an attribute in backticks, a text in quotes, a number, or a sign. */
interface NrqlToken {
  readonly kind: 'word' | 'name' | 'text' | 'number' | 'sign' | 'end';
  /** Without quotes and escapes. */
  readonly value: string;
  /** Where it begins, counted from 1. */
  readonly position: number;
}

const PIECE =
  /(?:\s+|--[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<word>[A-Za-z_][\w.]*)|(?<number>\d+(?:\.\d+)?)|`(?<name>[^`]+)`|'(?<text>(?:[^'\\]|\\[\s\S])*)'|(?<sign>[<>!]=|<>|[()[\],=<>*/+-])/y;

function tokenize(query: string): readonly NrqlToken[] {
  const tokens: NrqlToken[] = [];
  const piece = new RegExp(PIECE);
  while (piece.lastIndex < query.length) {
    const position = piece.lastIndex + 1;
    const groups = piece.exec(query)?.groups;
    if (groups === undefined)
      throw syntaxError(query, position, `unexpected '${query.slice(position - 1, position + 9)}'`);
    const [kind, value] = Object.entries(groups).find(([, found]) => (found as string | undefined) !== undefined) ?? [];
    if (value === undefined) continue;
    tokens.push({
      kind: kind as NrqlToken['kind'],
      value: kind === 'text' ? value.replace(/\\([\s\S])/g, '$1') : value,
      position,
    });
  }
  tokens.push({ kind: 'end', value: '', position: query.length + 1 });
  return tokens;
}

/** Reads the pieces of a query one after the other. Keywords are read whatever their case. */
export class TokenReader {
  readonly #query: string;
  readonly #tokens: readonly NrqlToken[];
  #next = 0;

  /** Throws an NrqlError at the first character that begins no piece. */
  constructor(query: string) {
    this.#query = query;
    this.#tokens = tokenize(query);
  }

  /** The next piece, which stays the next; or the one so many behind it. */
  peek(further = 0): NrqlToken {
    const token = this.#tokens[this.#next + further] ?? this.#tokens.at(-1);
    if (token === undefined) throw new Error('a query has at least its end');
    return token;
  }

  take(): NrqlToken {
    const token = this.peek();
    this.#next += 1;
    return token;
  }

  /** Takes the next piece if it is this keyword. */
  takeWord(keyword: string): boolean {
    const { kind, value } = this.peek();
    const isIt = kind === 'word' && value.toUpperCase() === keyword;
    if (isIt) this.take();
    return isIt;
  }

  /** Takes the next piece if it is one of these signs, and says which. */
  takeSign<Sign extends string>(...signs: readonly Sign[]): Sign | undefined {
    const { kind, value } = this.peek();
    const sign = kind === 'sign' ? signs.find((one) => one === value) : undefined;
    if (sign !== undefined) this.take();
    return sign;
  }

  expectWord(keyword: string): void {
    if (!this.takeWord(keyword)) this.fail(keyword);
  }

  expectSign(sign: string): void {
    if (this.takeSign(sign) === undefined) this.fail(`'${sign}'`);
  }

  /** Takes a piece of one of these kinds. Throws an NrqlError that says what was expected when the next is another. */
  expect(expected: string, ...kinds: readonly NrqlToken['kind'][]): NrqlToken {
    return kinds.includes(this.peek().kind) ? this.take() : this.fail(expected);
  }

  /** What `read` reads, once for each part between commas. */
  list<Item>(read: () => Item): readonly Item[] {
    const items = [read()];
    while (this.takeSign(',') !== undefined) items.push(read());
    return items;
  }

  /** Refuses the next piece. */
  fail(expected: string): never {
    const { kind, value, position } = this.peek();
    const found = kind === 'end' ? 'unexpected end of query' : `unexpected '${value}'`;
    throw syntaxError(this.#query, position, `${found}; expected ${expected}`);
  }
}

/** A value of an attribute, and what a condition compares it with. */
export type Value = string | number | boolean;

/** What a record must be like. `in`, and `like` compare texts, whatever the type of the value. */
export type NrqlCondition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly NrqlCondition[] }
  | { readonly kind: 'not'; readonly part: NrqlCondition }
  | { readonly kind: 'in'; readonly attribute: string; readonly values: ReadonlySet<string> }
  | { readonly kind: 'like'; readonly attribute: string; readonly pattern: RegExp }
  | { readonly kind: 'compare'; readonly attribute: string; readonly holds: (value: number) => boolean }
  | { readonly kind: 'null'; readonly attribute: string };

/** The value of an attribute; null when the record has none, undefined when it is not known yet. */
export type Lookup = (attribute: string) => Value | null | undefined;

/** The attribute under which `eventType()` is kept. */
export const EVENT_TYPE = 'eventType()';

/**
 * Reads `a OR b AND NOT (c)`: AND binds closer than OR, NOT closer than AND. With `likeContains`, LIKE finds its text
 * anywhere, not only where `%` stands for the rest. Throws an NrqlError.
 */
export function parseCondition(reader: TokenReader, likeContains = false): NrqlCondition {
  const one = (): NrqlCondition => {
    if (reader.takeWord('NOT')) return { kind: 'not', part: one() };
    if (reader.takeSign('(') === undefined) return parseComparison(reader, likeContains);
    const inner = parseCondition(reader, likeContains);
    reader.expectSign(')');
    return inner;
  };
  const joined = (kind: 'and' | 'or', read: () => NrqlCondition): NrqlCondition => {
    const first = read();
    const parts = [first];
    while (reader.takeWord(kind.toUpperCase())) parts.push(read());
    return parts.length === 1 ? first : { kind, parts };
  };
  return joined('or', () => joined('and', one));
}

const COMPARISONS: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  '<': (value, bound) => value < bound,
  '<=': (value, bound) => value <= bound,
  '>': (value, bound) => value > bound,
  '>=': (value, bound) => value >= bound,
};

function parseComparison(reader: TokenReader, likeContains: boolean): NrqlCondition {
  const attribute = parseAttribute(reader);
  const sign = reader.takeSign('=', '!=', '<>', '<', '<=', '>', '>=');
  const compare = COMPARISONS[sign ?? ''];
  if (compare !== undefined) {
    const bound = Number(reader.expect('a number', 'number').value);
    return { kind: 'compare', attribute, holds: (value) => compare(value, bound) };
  }
  if (sign !== undefined) {
    return negated(sign !== '=', { kind: 'in', attribute, values: new Set([parseValue(reader)]) });
  }
  if (reader.takeWord('IS')) {
    const isNot = reader.takeWord('NOT');
    const literal = ['TRUE', 'FALSE'].find((word) => reader.takeWord(word));
    if (literal !== undefined)
      return negated(isNot, { kind: 'in', attribute, values: new Set([literal.toLowerCase()]) });
    reader.expectWord('NULL');
    return negated(isNot, { kind: 'null', attribute });
  }
  const isNot = reader.takeWord('NOT');
  if (reader.takeWord('IN')) {
    reader.expectSign('(');
    const values = new Set(reader.list(() => parseValue(reader)));
    reader.expectSign(')');
    return negated(isNot, { kind: 'in', attribute, values });
  }
  if (!reader.takeWord('LIKE')) reader.fail('=, IN, LIKE or IS');
  const { value } = reader.expect("a text such as 'Datastore/%'", 'text');
  return negated(isNot, { kind: 'like', attribute, pattern: likePattern(value, likeContains) });
}

/** An attribute, with or without backticks, or `eventType()`. */
export function parseAttribute(reader: TokenReader): string {
  const { kind, value } = reader.expect('an attribute', 'word', 'name');
  if (kind === 'name' || reader.takeSign('(') === undefined) return value;
  if (value.toLowerCase() !== 'eventtype') reader.fail('an attribute');
  reader.expectSign(')');
  return EVENT_TYPE;
}

function negated(isNot: boolean, condition: NrqlCondition): NrqlCondition {
  return isNot ? { kind: 'not', part: condition } : condition;
}

function parseValue(reader: TokenReader): string {
  const { kind, value } = reader.expect('a text or a number', 'text', 'number', 'word');
  if (kind !== 'word') return value;
  const literal = value.toLowerCase();
  return literal === 'true' || literal === 'false' ? literal : reader.fail('a text or a number');
}

/** LIKE ignores case; `%` is any run of characters. */
function likePattern(like: string, contains: boolean): RegExp {
  const parts = like.split('%').map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`));
  const pattern = parts.join('.*');
  return new RegExp(contains ? pattern : `^${pattern}$`, 'is');
}

/** Whether a record meets a condition; undefined when that depends on an attribute that is not known yet. */
export function meets(condition: NrqlCondition, lookup: Lookup): boolean | undefined {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return meetsAll(condition.parts, lookup, condition.kind === 'or');
    case 'not': {
      const inner = meets(condition.part, lookup);
      return inner === undefined ? undefined : !inner;
    }
    default: {
      const value = lookup(condition.attribute);
      if (condition.kind === 'null' || value === undefined) return value === undefined ? undefined : value === null;
      if (value === null) return false;
      if (condition.kind === 'in') return condition.values.has(String(value));
      if (condition.kind === 'like') return condition.pattern.test(String(value));
      return typeof value === 'number' && condition.holds(value);
    }
  }
}

/** One part with the `decisive` answer decides; else an unknown part leaves the whole unknown. */
function meetsAll(parts: readonly NrqlCondition[], lookup: Lookup, decisive: boolean): boolean | undefined {
  let isKnown = true;
  for (const part of parts) {
    const answer = meets(part, lookup);
    if (answer === decisive) return decisive;
    if (answer === undefined) isKnown = false;
  }
  return isKnown ? !decisive : undefined;
}

/** Every comparison of a condition, those under a NOT too. */
export function comparisons(
  condition: NrqlCondition,
): readonly Exclude<NrqlCondition, { kind: 'and' | 'or' | 'not' }>[] {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.parts.flatMap(comparisons);
    case 'not':
      return comparisons(condition.part);
    default:
      return [condition];
  }
}

/** Every value that a condition compares an attribute with by `=` or `IN`. */
export function comparedValues(condition: NrqlCondition, attribute: string): readonly string[] {
  return comparisons(condition).flatMap((one) =>
    one.kind === 'in' && one.attribute === attribute ? [...one.values] : [],
  );
}
