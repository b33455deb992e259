/** The tokens and conditions that NRQL and entity searches share. */

/** Says why a query fails, in New Relic's words. */
export class NrqlError extends Error {
  override readonly name = 'NrqlError';
}

/** Creates the error for an invalid query. `position` counts characters from 1. */
export function syntaxError(text: string, position: number, problem: string): NrqlError {
  const before = text.slice(0, position - 1).split('\n');
  const column = (before.at(-1) ?? '').length + 1;
  return new NrqlError(`NRQL Syntax Error: Error at line ${before.length} position ${column}, ${problem}`);
}

const PIECE =
  /(?:\s+|--[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|([A-Za-z_][\w.]*)|(\d+(?:\.\d+)?)|`([^`]+)`|'((?:[^'\\]|\\[\s\S])*)'|([<>!]=|<>|[()[\],=<>*/+:-])/gy;
/** The kinds of pieces, in the order of their groups in PIECE. */
const KINDS = ['word', 'number', 'name', 'text', 'sign'] as const;

interface Piece {
  readonly kind: (typeof KINDS)[number] | 'end';
  readonly value: string;
  /** Counts characters from 1. */
  readonly position: number;
}

/**
 * Splits a query into pieces. Values have no quotes and escapes. A `word` is a keyword, a function or an attribute; a
 * `name` is an attribute in backticks; a `text` is in quotes. The last piece is the `end`.
 */
function splitPieces(query: string): readonly Piece[] {
  let read = 0;
  const pieces: Piece[] = [];
  for (const match of query.matchAll(PIECE)) {
    read = match.index + match[0].length;
    const group = KINDS.findIndex((_, index) => match[index + 1] !== undefined);
    const kind = KINDS[group];
    const value = match[group + 1];
    // Spaces and comments are in no group.
    if (kind === undefined || value === undefined) continue;
    const plain = kind === 'text' ? value.replace(/\\([\s\S])/g, '$1') : value;
    pieces.push({ kind, value: plain, position: match.index + 1 });
  }
  if (read < query.length) throw syntaxError(query, read + 1, `unexpected '${query.slice(read, read + 10)}'`);
  return [...pieces, { kind: 'end', value: '', position: query.length + 1 }];
}

/** Reads the pieces of a query in order. Accepts keywords in any case. */
export class TokenReader {
  readonly #query: string;
  readonly #pieces: readonly Piece[];
  #next = 0;
  /** Reads a subquery. Returns the set that has its values when the query runs. Undefined: subqueries are refused. */
  readSubquery: (() => ReadonlySet<string>) | undefined;

  /** Throws an NrqlError at the first character that begins no piece. */
  constructor(query: string) {
    this.#query = query;
    this.#pieces = splitPieces(query);
  }

  /** Returns the next piece without taking it. */
  peek(): Piece {
    const piece = this.#pieces[this.#next] ?? this.#pieces.at(-1);
    if (piece === undefined) throw new Error('a query has at least its end');
    return piece;
  }

  take(): Piece {
    const piece = this.peek();
    this.#next += 1;
    return piece;
  }

  /** Takes the next piece if it is this keyword. */
  takeWord(keyword: string): boolean {
    const { kind, value } = this.peek();
    const isKeyword = kind === 'word' && value.toUpperCase() === keyword;
    if (isKeyword) this.take();
    return isKeyword;
  }

  /** Takes the next piece if it is one of these signs, and returns the sign. */
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

  /** Takes a piece of one of these kinds. Throws an NrqlError that names `expected` if the next piece is of another. */
  expect(expected: string, ...kinds: readonly Piece['kind'][]): Piece {
    return kinds.includes(this.peek().kind) ? this.take() : this.fail(expected);
  }

  /** Calls `read` for each part between commas, and returns the results. */
  list<Item>(read: () => Item): readonly Item[] {
    const items = [read()];
    while (this.takeSign(',') !== undefined) items.push(read());
    return items;
  }

  /** Throws an NrqlError about the next piece. */
  fail(expected: string): never {
    const { kind, value, position } = this.peek();
    const found = kind === 'end' ? 'unexpected end of query' : `unexpected '${value}'`;
    throw syntaxError(this.#query, position, `${found}; expected ${expected}`);
  }
}

/** A value of an attribute, or in a condition. */
export type Value = string | number | boolean | readonly string[];

/** The condition that a record must meet. */
export interface NrqlCondition {
  /**
   * Tells whether a record meets the condition; undefined if that depends on an unknown attribute. `lookup` returns
   * the value of an attribute: null if the record has none, undefined if it is not known yet.
   */
  readonly meets: (lookup: (attribute: string) => Value | null | undefined) => boolean | undefined;
  /** All comparisons. `values` come from `=` and `IN`; a negated comparison has none. */
  readonly comparisons: readonly { readonly attribute: string; readonly values: readonly string[] }[];
}

/** Name under which a record's event type is looked up. */
export const EVENT_TYPE = 'eventType()';

/**
 * Reads `a OR b AND NOT (c)`: AND binds closer than OR, NOT closer than AND. With `likeContains`, LIKE matches
 * anywhere in a value, also without `%`. Throws an NrqlError.
 */
export function parseCondition(reader: TokenReader, likeContains = false): NrqlCondition {
  const parseFactor = (): NrqlCondition => {
    if (reader.takeWord('NOT')) {
      const { meets, comparisons } = parseFactor();
      const opposite = (result: boolean | undefined) => (result === undefined ? undefined : !result);
      const excluding = comparisons.map(({ attribute }) => ({ attribute, values: [] }));
      return { meets: (lookup) => opposite(meets(lookup)), comparisons: excluding };
    }
    if (reader.takeSign('(') === undefined) return parseComparison(reader, likeContains);
    const inner = parseCondition(reader, likeContains);
    reader.expectSign(')');
    return inner;
  };
  const parseConjunction = (): NrqlCondition => parseJoined(reader, 'AND', false, parseFactor);
  return parseJoined(reader, 'OR', true, parseConjunction);
}

/**
 * Reads parts joined by AND or OR. One part with the `decisive` result decides; otherwise an unknown part makes the
 * result unknown.
 */
function parseJoined(reader: TokenReader, word: string, decisive: boolean, read: () => NrqlCondition): NrqlCondition {
  const parts = [read()];
  while (reader.takeWord(word)) parts.push(read());
  return {
    meets: (lookup) => {
      let isKnown = true;
      for (const { meets } of parts) {
        const result = meets(lookup);
        if (result === decisive) return decisive;
        if (result === undefined) isKnown = false;
      }
      return isKnown ? !decisive : undefined;
    },
    comparisons: parts.flatMap(({ comparisons }) => comparisons),
  };
}

/** Creates a condition: the attribute has a value that passes the test. With `isNot`, it has no such value. */
function createComparison(
  attribute: string,
  isNot: boolean,
  test: (value: Value) => boolean,
  values: readonly string[] = [],
): NrqlCondition {
  return {
    meets: (lookup) => {
      const value = lookup(attribute);
      return value === undefined ? undefined : (value !== null && test(value)) !== isNot;
    },
    comparisons: [{ attribute, values }],
  };
}

/** Creates a condition that compares values of every type as texts. */
function createChoice(attribute: string, isNot: boolean, values: readonly string[]): NrqlCondition {
  const wanted = new Set(values);
  return createComparison(attribute, isNot, (value) => wanted.has(String(value)), isNot ? [] : values);
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
    return createComparison(attribute, false, (value) => typeof value === 'number' && compare(value, bound));
  }
  if (sign !== undefined) return createChoice(attribute, sign !== '=', [parseValue(reader)]);
  if (reader.takeWord('IS')) {
    const isNot = reader.takeWord('NOT');
    const literal = ['true', 'false'].find((word) => reader.takeWord(word.toUpperCase()));
    if (literal !== undefined) return createChoice(attribute, isNot, [literal]);
    reader.expectWord('NULL');
    return createComparison(attribute, !isNot, () => true);
  }
  const isNot = reader.takeWord('NOT');
  if (reader.takeWord('IN')) {
    reader.expectSign('(');
    const isQuery = ['SELECT', 'FROM'].includes(reader.peek().value.toUpperCase()) && reader.peek().kind === 'word';
    if (isQuery && reader.readSubquery !== undefined) {
      const found = reader.readSubquery();
      reader.expectSign(')');
      return createComparison(attribute, isNot, (value) => found.has(String(value)));
    }
    const values = reader.list(() => parseValue(reader));
    reader.expectSign(')');
    return createChoice(attribute, isNot, values);
  }
  if (!reader.takeWord('LIKE')) reader.fail('=, IN, LIKE or IS');
  const { value: like } = reader.expect("a text such as 'Datastore/%'", 'text');
  const pattern = likePattern(like, likeContains);
  return createComparison(attribute, isNot, (value) => pattern.test(String(value)));
}

/** Reads an attribute, with or without backticks, or `eventType()`. */
export function parseAttribute(reader: TokenReader): string {
  const { kind, value } = reader.expect('an attribute', 'word', 'name');
  if (kind === 'name' || reader.takeSign('(') === undefined) return value;
  if (value.toLowerCase() !== 'eventtype') reader.fail('an attribute');
  reader.expectSign(')');
  return EVENT_TYPE;
}

function parseValue(reader: TokenReader): string {
  const { kind, value } = reader.expect('a text or a number', 'text', 'number', 'word');
  if (kind !== 'word') return value;
  const literal = value.toLowerCase();
  return literal === 'true' || literal === 'false' ? literal : reader.fail('a text or a number');
}

/** Returns the source of a regular expression in which the wildcard matches any run of characters. */
export function toPattern(text: string, wildcard: string): string {
  const parts = text.split(wildcard).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return parts.join('.*');
}

/** LIKE ignores case; `%` matches any run of characters. */
function likePattern(like: string, contains: boolean): RegExp {
  const pattern = toPattern(like, '%');
  return new RegExp(contains ? pattern : `^${pattern}$`, 'is');
}

/** Returns all values that a condition compares an attribute with by `=` or `IN`. */
export function comparedValues({ comparisons }: NrqlCondition, attribute: string): readonly string[] {
  return comparisons.flatMap((one) => (one.attribute === attribute ? one.values : []));
}
