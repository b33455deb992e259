/** A piece of a query as it is written; white space and comments are none. */
export interface Token {
  /** `name` stands in backticks, `text` in quotes; everything else that is no word is a symbol of one character. */
  readonly kind: 'word' | 'name' | 'text' | 'symbol';
  /** A word as written; of a name and a text what stands between the quotes, with escapes resolved. */
  readonly text: string;
  /** Where it begins in the query. */
  readonly at: number;
}

/** Something that is wrong with a query, and where in its text. */
export interface NrqlProblem {
  readonly at: number;
  readonly message: string;
}

/** Words, numbers and attributes: dots and colons may stand within an attribute. */
const WORD = /[\p{L}\p{M}\p{N}_.:@$]+/uy;
const SPACE = /\s+/uy;

/**
 * Cuts a text of the query language into tokens, in one walk over it. Any text can be cut. What is opened and never closed
 * (a literal, a comment) goes on to the end, and is a problem.
 */
export function scan(query: string): { readonly tokens: readonly Token[]; readonly problems: NrqlProblem[] } {
  const tokens: Token[] = [];
  const problems: NrqlProblem[] = [];
  let at = 0;
  while (at < query.length) {
    const character = query[at] ?? '';
    const two = query.slice(at, at + 2);
    const space = matchAt(SPACE, query, at);
    const word = space === 0 ? matchAt(WORD, query, at) : 0;
    if (space > 0) at += space;
    else if (word > 0) {
      tokens.push({ kind: 'word', text: query.slice(at, at + word), at });
      at += word;
    } else if (two === '--' || two === '//') at = endOfLine(query, at);
    else if (two === '/*') {
      const end = query.indexOf('*/', at + 2);
      if (end === -1) problems.push({ at, message: 'begins a comment that does not end: close it with */' });
      at = end === -1 ? query.length : end + 2;
    } else if (character === "'" || character === '"' || character === '`') {
      const end = endOfQuoted(query, at);
      if (end === undefined)
        problems.push({ at, message: `opens a quote that is not closed: add another ${character}` });
      const inner = query.slice(at + 1, (end ?? query.length + 1) - 1);
      const kind = character === '`' ? 'name' : 'text';
      tokens.push({ kind, text: kind === 'name' ? inner : inner.replace(/\\([^])/gu, '$1'), at });
      at = end ?? query.length;
    } else {
      const symbol = String.fromCodePoint(query.codePointAt(at) ?? 0);
      tokens.push({ kind: 'symbol', text: symbol, at });
      at += symbol.length;
    }
  }
  return { tokens, problems };
}

/** How many characters from there on the expression matches. */
function matchAt(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex - at : 0;
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}

/** Behind the closing quote; undefined where there is none. Backslashes escape in quotes, not in backticks. */
function endOfQuoted(text: string, start: number): number | undefined {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\' && quote !== '`') at += 1;
    else if (text[at] === quote) return at + 1;
  }
  return undefined;
}
