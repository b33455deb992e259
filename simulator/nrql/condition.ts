/** The words of NRQL and of entity searches, and the conditions that both are made of. */

/** The reason why a query fails, in New Relic's words. */
export class NrqlError extends Error {
  override readonly name = 'NrqlError';
}

/** The error for a text that is not a valid query. `position` counts characters from 1. */
export function syntaxError(text: string, position: number, problem: string): NrqlError {
  const before = text.slice(0, position - 1).split('\n');
  const column = (before.at(-1) ?? '').length + 1;
  return new NrqlError(`NRQL Syntax Error: Error at line ${before.length} position ${column}, ${problem}`);
}

const PIECE =
  /(?:\s+|--[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<word>[A-Za-z_][\w.]*)|(?<number>\d+(?:\.\d+)?)|`(?<name>[^`]+)`|'(?<text>(?:[^'\\]|\\[\s\S])*)'|(?<sign>[<>!]=|<>|[()[\],=<>*/+:-])/gy;

/**
 * The pieces of a query: values are without quotes and escapes, positions count from 1. A `word` is a keyword, a function or an
 * attribute; a `name` is an attribute in backticks; a `text` stands in quotes; the last one is the `end`.
 */
function piecesOf(query: string) {
  let read = 0;
  const pieces = [...query.matchAll(PIECE)].flatMap(({ 0: whole, groups, index }) => {
    read = index + whole.length;
    const [kind, value] = Object.entries(groups ?? {}).find(([, found]) => (found as unknown) !== undefined) ?? [];
    if (kind === undefined || value === undefined) return [];
    const plain = kind === 'text' ? value.replace(/\\([\s\S])/g, '$1') : value;
    return [{ kind, value: plain, position: index + 1 }];
  });
  if (read < query.length) throw syntaxError(query, read + 1, `unexpected '${query.slice(read, read + 10)}'`);
  return [...pieces, { kind: 'end', value: '', position: query.length + 1 }];
}

/** Reads the tokens of a query one after the other. Keywords are read in any case. */
export class TokenReader {
  readonly #query: string;
  readonly #pieces: ReturnType<typeof piecesOf>;
  #next = 0;
  /** Reads a subquery, and returns its values, which are there when the query runs; undefined: subqueries are refused. */
  readSubquery: (() => ReadonlySet<string>) | undefined;

  /** Throws an NrqlError at the first character that begins no piece. */
  constructor(query: string) {
    this.#query = query;
    this.#pieces = piecesOf(query);
  }

  /** The next piece, without taking it. */
  peek() {
    const piece = this.#pieces[this.#next] ?? this.#pieces.at(-1);
    if (piece === undefined) throw new Error('a query has at least its end');
    return piece;
  }

  take() {
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

  /** Takes a piece of one of these kinds. Throws an NrqlError that says what was expected when the next is another. */
  expect(expected: string, ...kinds: readonly string[]) {
    return kinds.includes(this.peek().kind) ? this.take() : this.fail(expected);
  }

  /** The results of `read`, one for each part between commas. */
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
   * Whether a record meets it. `lookup` returns the value of an attribute: null when the record has none, undefined when it is
   * not known yet. Undefined when the result depends on an unknown attribute.
   */
  readonly meets: (lookup: (attribute: string) => Value | null | undefined) => boolean | undefined;
  /** Every comparison in it; `values` are those of `=` and `IN`, empty where the comparison, or a NOT around it, excludes them. */
  readonly comparisons: readonly { readonly attribute: string; readonly values: readonly string[] }[];
}

/** The attribute under which `eventType()` is kept. */
export const EVENT_TYPE = 'eventType()';

/**
 * Reads `a OR b AND NOT (c)`: AND binds closer than OR, NOT closer than AND. With `likeContains`, LIKE finds its text
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
  const parseConjunction = (): NrqlCondition => joined(reader, 'AND', false, parseFactor);
  return joined(reader, 'OR', true, parseConjunction);
}

/**
 * Parts joined by AND or OR: one part with the `decisive` result decides; otherwise one unknown part makes the result unknown.
 */
function joined(reader: TokenReader, word: string, decisive: boolean, read: () => NrqlCondition): NrqlCondition {
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

/** True where the attribute has a value that passes the test; with `isNot`, where it has no such value. */
function comparison(
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

/** Values of every type are compared as texts. */
function isOneOf(attribute: string, isNot: boolean, values: readonly string[]): NrqlCondition {
  const wanted = new Set(values);
  return comparison(attribute, isNot, (value) => wanted.has(String(value)), isNot ? [] : values);
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
    return comparison(attribute, false, (value) => typeof value === 'number' && compare(value, bound));
  }
  if (sign !== undefined) return isOneOf(attribute, sign !== '=', [parseValue(reader)]);
  if (reader.takeWord('IS')) {
    const isNot = reader.takeWord('NOT');
    const literal = ['true', 'false'].find((word) => reader.takeWord(word.toUpperCase()));
    if (literal !== undefined) return isOneOf(attribute, isNot, [literal]);
    reader.expectWord('NULL');
    return comparison(attribute, !isNot, () => true);
  }
  const isNot = reader.takeWord('NOT');
  if (reader.takeWord('IN')) {
    reader.expectSign('(');
    const isQuery = ['SELECT', 'FROM'].includes(reader.peek().value.toUpperCase()) && reader.peek().kind === 'word';
    if (isQuery && reader.readSubquery !== undefined) {
      const found = reader.readSubquery();
      reader.expectSign(')');
      return comparison(attribute, isNot, (value) => found.has(String(value)));
    }
    const values = reader.list(() => parseValue(reader));
    reader.expectSign(')');
    return isOneOf(attribute, isNot, values);
  }
  if (!reader.takeWord('LIKE')) reader.fail('=, IN, LIKE or IS');
  const { value: like } = reader.expect("a text such as 'Datastore/%'", 'text');
  const pattern = likePattern(like, likeContains);
  return comparison(attribute, isNot, (value) => pattern.test(String(value)));
}

/** An attribute, with or without backticks, or `eventType()`. */
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

/** The source of a regular expression for a text in which the wildcard is any run of characters. */
export function patternOf(text: string, wildcard: string): string {
  const parts = text.split(wildcard).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return parts.join('.*');
}

/** LIKE ignores case; `%` is any run of characters. */
function likePattern(like: string, contains: boolean): RegExp {
  const pattern = patternOf(like, '%');
  return new RegExp(contains ? pattern : `^${pattern}$`, 'is');
}

/** Every value that a condition selects an attribute by, with `=` or `IN`. */
export function comparedValues({ comparisons }: NrqlCondition, attribute: string): readonly string[] {
  return comparisons.flatMap((one) => (one.attribute === attribute ? one.values : []));
}
