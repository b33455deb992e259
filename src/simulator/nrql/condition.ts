/** The text is not a query that the service understands. The message says where it stopped reading. */
export class NrqlSyntaxError extends Error {
  override readonly name = 'NrqlSyntaxError';

  constructor(problem: string, position?: number) {
    super(`NRQL Syntax error: ${position === undefined ? '' : `Error at position ${position}, `}${problem}`);
  }
}

/** The query is longer, or its result larger, than the service allows. */
export class QueryTooBigError extends Error {
  override readonly name = 'QueryTooBigError';

  constructor() {
    super('that query is a little too big. If using TIMESERIES, try fewer buckets and if faceting, reduce the LIMIT');
  }
}

/** A piece of a query: a word (a keyword, a function or an attribute), a text in quotes, a whole number, or a sign. */
interface Token {
  readonly kind: 'word' | 'text' | 'number' | 'sign' | 'end';
  /** A text without its quotes and escapes; anything else as it was written. */
  readonly value: string;
  /** Where it begins, counted from 1. */
  readonly position: number;
}

const PIECE =
  /(?<space>\s+)|(?<word>[A-Za-z_][\w.]*)|(?<number>\d+)|'(?<text>(?:[^'\\]|\\[\s\S])*)'|(?<sign>[()[\],=])/y;

/** Takes a query apart. Throws an NrqlSyntaxError at the first character that begins no piece. */
function tokenize(query: string): readonly Token[] {
  const tokens: Token[] = [];
  const piece = new RegExp(PIECE);
  while (piece.lastIndex < query.length) {
    const position = piece.lastIndex + 1;
    const groups = piece.exec(query)?.groups;
    if (groups === undefined)
      throw new NrqlSyntaxError(`unexpected '${query.slice(position - 1, position + 9)}'`, position);
    const { word, number, text, sign } = groups;
    if (word !== undefined) tokens.push({ kind: 'word', value: word, position });
    else if (number !== undefined) tokens.push({ kind: 'number', value: number, position });
    else if (text !== undefined) tokens.push({ kind: 'text', value: text.replace(/\\([\s\S])/g, '$1'), position });
    else if (sign !== undefined) tokens.push({ kind: 'sign', value: sign, position });
  }
  tokens.push({ kind: 'end', value: '', position: query.length + 1 });
  return tokens;
}

/** Reads the pieces of a query one after the other. Keywords are read whatever their case. */
export class TokenReader {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(query: string) {
    this.#tokens = tokenize(query);
  }

  /** The next piece, which stays the next. */
  peek(): Token {
    const token = this.#tokens[this.#next] ?? this.#tokens.at(-1);
    if (token === undefined) throw new Error('a query has at least its end');
    return token;
  }

  take(): Token {
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

  takeSign(sign: string): boolean {
    const { kind, value } = this.peek();
    const isIt = kind === 'sign' && value === sign;
    if (isIt) this.take();
    return isIt;
  }

  expectWord(keyword: string): void {
    if (!this.takeWord(keyword)) this.fail(keyword);
  }

  expectSign(sign: string): void {
    if (!this.takeSign(sign)) this.fail(`'${sign}'`);
  }

  /** Takes a piece of this kind. Throws an NrqlSyntaxError that says what was expected when the next one is another. */
  expect(kind: Token['kind'], expected: string): Token {
    return this.peek().kind === kind ? this.take() : this.fail(expected);
  }

  /** Refuses the next piece. */
  fail(expected: string): never {
    const { kind, value, position } = this.peek();
    throw new NrqlSyntaxError(
      `unexpected ${kind === 'end' ? 'end of query' : `'${value}'`}; expected ${expected}`,
      position,
    );
  }
}

/** What a record must be like. Attributes and values are texts, numbers too. */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  | { readonly kind: 'in'; readonly attribute: string; readonly values: ReadonlySet<string> }
  | { readonly kind: 'like'; readonly attribute: string; readonly pattern: RegExp }
  | { readonly kind: 'null'; readonly attribute: string };

/** How a dialect reads conditions. */
export interface Dialect {
  readonly attributes: ReadonlySet<string>;
  /** LIKE finds its text anywhere, not only where `%` stands for the rest. */
  readonly likeContains: boolean;
}

/** The value of an attribute; null when the record has none, undefined when it is not known yet. */
type Lookup = (attribute: string) => string | null | undefined;

/** Reads `a OR b AND NOT (c)`: AND binds closer than OR, NOT closer than AND. Throws an NrqlSyntaxError. */
export function parseCondition(reader: TokenReader, dialect: Dialect): Condition {
  const parts = [parseAll(reader, dialect)];
  while (reader.takeWord('OR')) parts.push(parseAll(reader, dialect));
  return join('or', parts);
}

function parseAll(reader: TokenReader, dialect: Dialect): Condition {
  const parts = [parseOne(reader, dialect)];
  while (reader.takeWord('AND')) parts.push(parseOne(reader, dialect));
  return join('and', parts);
}

function join(kind: 'and' | 'or', parts: readonly Condition[]): Condition {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { kind, parts };
}

function parseOne(reader: TokenReader, dialect: Dialect): Condition {
  if (reader.takeWord('NOT')) return { kind: 'not', part: parseOne(reader, dialect) };
  if (reader.takeSign('(')) {
    const inner = parseCondition(reader, dialect);
    reader.expectSign(')');
    return inner;
  }
  return parseComparison(reader, dialect);
}

function parseComparison(reader: TokenReader, dialect: Dialect): Condition {
  const { kind, value: attribute } = reader.peek();
  if (kind !== 'word' || !dialect.attributes.has(attribute)) reader.fail('an attribute');
  reader.take();
  if (reader.takeSign('=')) return { kind: 'in', attribute, values: new Set([parseValue(reader)]) };
  if (reader.takeWord('IS')) {
    const isNot = reader.takeWord('NOT');
    reader.expectWord('NULL');
    return negated(isNot, { kind: 'null', attribute });
  }
  const isNot = reader.takeWord('NOT');
  if (reader.takeWord('IN')) return negated(isNot, { kind: 'in', attribute, values: parseValues(reader) });
  if (!reader.takeWord('LIKE')) reader.fail('=, IN, LIKE or IS');
  const { value } = reader.expect('text', "a text such as 'Datastore/%'");
  return negated(isNot, { kind: 'like', attribute, pattern: likePattern(value, dialect.likeContains) });
}

function negated(isNot: boolean, condition: Condition): Condition {
  return isNot ? { kind: 'not', part: condition } : condition;
}

function parseValue(reader: TokenReader): string {
  const { kind } = reader.peek();
  return kind === 'number' ? reader.take().value : reader.expect('text', 'a text or a number').value;
}

function parseValues(reader: TokenReader): ReadonlySet<string> {
  reader.expectSign('(');
  const values = new Set([parseValue(reader)]);
  while (reader.takeSign(',')) values.add(parseValue(reader));
  reader.expectSign(')');
  return values;
}

/** LIKE ignores case; `%` is any run of characters. */
function likePattern(like: string, contains: boolean): RegExp {
  const parts = like.split('%').map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`));
  const pattern = parts.join('.*');
  return new RegExp(contains ? pattern : `^${pattern}$`, 'is');
}

/** Whether a record meets a condition; undefined when that depends on an attribute that is not known yet. */
export function meets(condition: Condition, lookup: Lookup): boolean | undefined {
  switch (condition.kind) {
    case 'and':
      return every(condition.parts, lookup, false);
    case 'or':
      return every(condition.parts, lookup, true);
    case 'not': {
      const inner = meets(condition.part, lookup);
      return inner === undefined ? undefined : !inner;
    }
    case 'null': {
      const value = lookup(condition.attribute);
      return value === undefined ? undefined : value === null;
    }
    case 'in': {
      const value = lookup(condition.attribute);
      return value === undefined ? undefined : value !== null && condition.values.has(value);
    }
    case 'like': {
      const value = lookup(condition.attribute);
      return value === undefined ? undefined : value !== null && condition.pattern.test(value);
    }
  }
}

/** One part with the `decisive` answer decides; else an unknown part leaves the whole unknown. */
function every(parts: readonly Condition[], lookup: Lookup, decisive: boolean): boolean | undefined {
  let isKnown = true;
  for (const part of parts) {
    const answer = meets(part, lookup);
    if (answer === decisive) return decisive;
    if (answer === undefined) isKnown = false;
  }
  return isKnown ? !decisive : undefined;
}

/** Every value that a condition compares an attribute with by `=` or `IN`, those under a NOT too. */
export function valuesOf(condition: Condition, attribute: string): readonly string[] {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.parts.flatMap((part) => valuesOf(part, attribute));
    case 'not':
      return valuesOf(condition.part, attribute);
    case 'in':
      return condition.attribute === attribute ? [...condition.values] : [];
    default:
      return [];
  }
}
