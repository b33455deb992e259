import { NrqlSyntaxError } from './error.ts';

/** A piece of a query: a word (a keyword, a function or an attribute), a text in quotes, a whole number, or a sign. */
export interface Token {
  readonly kind: 'word' | 'text' | 'number' | 'sign' | 'end';
  /** A text without its quotes and escapes; anything else as it was written. */
  readonly value: string;
  /** Where it begins, counted from 1. */
  readonly position: number;
}

const PIECE =
  /(?<space>\s+)|(?<word>[A-Za-z_][\w.]*)|(?<number>\d+)|'(?<text>(?:[^'\\]|\\[\s\S])*)'|(?<sign>[()[\],=])/y;

/** Takes a query apart. Throws an NrqlSyntaxError at the first character that begins no piece. */
export function tokenize(query: string): readonly Token[] {
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
