import { MAX_FACET_ATTRIBUTES } from './facets.ts';

interface Statement {
  readonly problems: readonly NrqlProblem[];
  readonly columns: readonly {
    /** The key in the rows of the result: the alias, or New Relic's name; undefined: the name is unknown. */
    readonly key: string | undefined;
    readonly hasAlias: boolean;
    /** Number of percentiles in the value, which is then an object; 0 for a plain number. */
    readonly percentiles: number;
    /** True for a call of `filter`: the result is null if no record matches. */
    readonly isFiltered: boolean;
    /** Name of the function, in lower case, if the column is a single call. */
    readonly call: string | undefined;
  }[];
  readonly facets: readonly {
    readonly offset: number;
    /** The alias, or the attribute as written; undefined for a function without alias. */
    readonly name: string | undefined;
  }[];
  /** The first function of SELECT, in lower case. New Relic ranks facets by its value. */
  readonly firstCall: { readonly name: string; readonly offset: number } | undefined;
  readonly isOrdered: boolean;
}

interface NrqlProblem {
  readonly offset: number;
  readonly message: string;
}

/** Returns the default label of a facet: its name, with `_` for each invalid character. */
export function defaultLabel(facet: string): string {
  return facet.replace(/[^a-zA-Z0-9_]/gu, '_').replace(/^(?=[0-9])/, '_');
}

/** Words that begin a clause. The words of `PAIRED_CLAUSES` do so only as a pair. */
const CLAUSES = new Set(
  'select from where facet with limit since until timeseries offset extrapolate predict join'.split(' '),
);
const PAIRED_CLAUSES = new Set(['compare with', 'order by', 'slide by', 'inner join', 'left join']);

const OUTERMOST_LIMIT =
  'LIMIT stands outside of an inner query: remove it, the exporter writes it ("limit" says how many facets are read)';
const SEMICOLON = 'remove the semicolon: the exporter writes the time and the limit behind the text';
const INNER_FACET = 'FACET of an inner query without LIMIT gives ten rows only: add LIMIT MAX behind it';
const SIXTH_FACET = 'is one facet too many: New Relic takes five';
const REFUSED: Readonly<Partial<Record<string, string>>> = {
  since: 'remove SINCE: the exporter writes the time ("window" says how long it is)',
  until: 'remove UNTIL: the exporter writes the time ("window" says how long it is)',
  timeseries: 'remove TIMESERIES: the exporter reads one value over the whole window',
  compare: 'remove COMPARE WITH: Prometheus compares two times with "offset"',
};

interface Token {
  /** `name` is in backticks, `text` in quotes; `symbol` is any other single character. */
  readonly kind: 'word' | 'name' | 'text' | 'symbol';
  /** A word as written; the content of a `name` or `text` without quotes and escapes. */
  readonly text: string;
  readonly offset: number;
}

/** The whole query, or the content of one pair of parentheses. */
interface Group {
  readonly kind: 'group';
  readonly outer: Group | undefined;
  /** The word before the parenthesis: the name of a function or an operator. */
  readonly word: Token | undefined;
  readonly offset: number;
  readonly parts: TextPart[];
  /** First word of the clause of the outer group that contains this group; empty before the first clause. */
  clause: string;
  clauses: readonly Clause[];
  /** The innermost query that contains this group; the group itself when it is a query. */
  query?: Group;
}

function createGroup(outer?: Group, word?: Token, offset = 0): Group {
  return { kind: 'group', outer, word, offset, parts: [], clause: '', clauses: [] };
}

type TextPart = Token | Group;

interface Clause {
  /** The first word in lower case; empty for the text before the first clause. */
  readonly word: string;
  readonly offset: number;
  /** The parts between commas. An entry may be empty. */
  readonly entries: TextPart[][];
}

/**
 * Reads the columns and facets of a query. Reports clauses that the exporter writes itself, and clauses with which New
 * Relic silently leaves out rows. New Relic checks the grammar.
 */
export function readStatement(query: string): Statement {
  if (query.length > LONGEST_QUERY) {
    const message = 'the query is longer than 65,536 characters: shorten it';
    const problems = [{ offset: LONGEST_QUERY, message }];
    return { columns: [], facets: [], firstCall: undefined, isOrdered: false, problems };
  }
  const { tokens, problems } = scan(query);
  const first = tokens[0];
  if (first === undefined || !['select', 'from', 'with'].includes(wordOf(first) ?? '')) {
    problems.push({ offset: first?.offset ?? 0, message: 'a query begins with SELECT, FROM or WITH' });
  }
  const outermost = readClauses(tokens, problems);
  const entriesOf = (word: string): TextPart[][] =>
    outermost.clauses
      .filter((clause) => clause.word === word)
      .flatMap(({ entries }) => entries.filter(({ length }) => length > 0));
  const [firstCall] = entriesOf('select').flatMap((entry) => findCalls(splitAlias(entry).parts).slice(0, 1));
  return {
    problems: problems.toSorted((a, b) => a.offset - b.offset),
    firstCall,
    isOrdered: hasClause(outermost, 'order'),
    columns: entriesOf('select').map(readColumn),
    facets: entriesOf('facet').map((entry) => {
      const { parts, alias } = splitAlias(entry);
      return { offset: entry[0]?.offset ?? 0, name: alias ?? attributeOf(parts) };
    }),
  };
}

/** Limit for a query in characters, far above New Relic's limit. Each character takes up to 3 kilobytes of memory. */
const LONGEST_QUERY = 65_536;

function readClauses(tokens: readonly Token[], problems: NrqlProblem[]): Group {
  const outermost = createGroup();
  const groups = readGroups(tokens, outermost, problems);
  for (const group of groups) {
    group.clauses = splitClauses(group.parts);
    const query = hasClause(group, 'select') ? group : (group.outer?.query ?? outermost);
    group.query = query;
    for (const { word, offset, entries } of group.clauses) {
      const message = REFUSED[word];
      const isOwnTime = (word === 'since' || word === 'until') && allowsTime(query);
      if (message !== undefined && !isOwnTime) problems.push({ offset, message });
      if (word === 'limit' && query === outermost) problems.push({ offset, message: OUTERMOST_LIMIT });
      if (word !== 'facet') continue;
      const sixth = entries[MAX_FACET_ATTRIBUTES]?.[0]?.offset;
      if (sixth !== undefined) problems.push({ offset: sixth, message: SIXTH_FACET });
      if (query !== outermost && !hasClause(query, 'limit')) problems.push({ offset, message: INNER_FACET });
    }
  }
  return outermost;
}

function hasClause({ clauses }: Group, wanted: string): boolean {
  return clauses.some(({ word }) => word === wanted);
}

/**
 * True for a subquery inside SELECT or WHERE, which may have its own time range. A subquery behind FROM has the range
 * of the outermost query ("Subqueries in NRQL").
 */
function allowsTime(query: Group): boolean {
  let group = query;
  while (group.clause === '' && group.outer !== undefined) group = group.outer;
  return group.clause === 'select' || group.clause === 'where';
}

/**
 * Checks a text of New Relic that becomes part of an exporter's query. Returns a column without its alias, the content
 * of FROM or WHERE, or an attribute without backticks. Reports a text that could end its clause or begin another
 * clause.
 */
export function readFragment(
  fragment: string,
  kind: 'column' | 'source' | 'condition' | 'attribute',
): { readonly text: string } | { readonly problem: string } {
  const { tokens, problems, hasComment } = scan(fragment);
  const [first] = tokens;
  if (first === undefined) return { problem: 'is empty' };
  if (hasComment) return { problem: 'has a comment' };
  const bracket = findUnpairedBracket(tokens);
  if (bracket !== undefined) return { problem: `has a ${bracket} without its counterpart` };
  const [{ entries } = { entries: [] }, clause] = readClauses(tokens, problems).clauses;
  const [problem] = problems;
  if (problem !== undefined) return { problem: problem.message };
  if (clause !== undefined) return { problem: `begins another clause with ${clause.word.toUpperCase()}` };
  const [entry = [], ...others] = entries;
  if (kind === 'source') {
    return entries.every(isSource) ? { text: fragment } : { problem: 'does not name events, metrics or a subquery' };
  }
  const text = kind === 'attribute' ? attributeOf(entry) : fragment;
  if (others.length > 0 || text === undefined) return { problem: `is not one ${kind}` };
  return kind === 'column' ? readColumnText(fragment, entry) : { text };
}

export function listNames(text: string): readonly string[] {
  return scan(text)
    .tokens.filter(isName)
    .map((token) => token.text);
}

function readColumnText(fragment: string, entry: readonly TextPart[]): ReturnType<typeof readFragment> {
  const as = entry.findLastIndex((part) => wordOf(part) === 'as');
  if (as === -1) return { text: fragment };
  const { alias } = splitAlias(entry);
  if (as === 0 || alias === undefined || as !== entry.length - 2)
    return { problem: 'has an AS that gives no name to it' };
  return { text: fragment.slice(0, entry[as]?.offset).trimEnd() };
}

/** True for the name of an event type, a subquery, or a lookup table. */
function isSource([first, second, ...others]: readonly TextPart[]): boolean {
  if (others.length > 0) return false;
  if (first?.kind === 'group') return second === undefined && first.query === first;
  return isName(first) && (second === undefined || second.kind === 'group');
}

const CLOSING: Readonly<Partial<Record<string, string>>> = { '(': ')', '[': ']', '{': '}' };

function findUnpairedBracket(tokens: readonly Token[]): string | undefined {
  const open: string[] = [];
  for (const { kind, text } of tokens) {
    if (kind !== 'symbol') continue;
    if (CLOSING[text] !== undefined) open.push(text);
    else if (Object.values(CLOSING).includes(text) && CLOSING[open.pop() ?? ''] !== text) return text;
  }
  return open.at(-1);
}

/** Returns the groups in the order in which they open, the outermost first. */
function readGroups(tokens: readonly Token[], outermost: Group, problems: NrqlProblem[]): readonly Group[] {
  const groups = [outermost];
  let group = outermost;
  for (const token of tokens) {
    if (isSymbol(token, '(')) {
      const before = group.parts.at(-1);
      const word = before?.kind === 'group' || CLAUSES.has(wordOf(before) ?? 'select') ? undefined : before;
      const inner = createGroup(group, word, token.offset);
      group.parts.push(inner);
      groups.push(inner);
      group = inner;
    } else if (isSymbol(token, ')')) {
      if (group.outer === undefined) {
        problems.push({ offset: token.offset, message: 'closes a parenthesis that is not open: remove it' });
      } else group = group.outer;
    } else {
      if (isSymbol(token, ';')) problems.push({ offset: token.offset, message: SEMICOLON });
      group.parts.push(token);
    }
  }
  for (let open = group; open.outer !== undefined; open = open.outer) {
    problems.push({ offset: open.offset, message: 'opens a parenthesis that is not closed: add another )' });
  }
  return groups;
}

function splitClauses(parts: readonly TextPart[]): Clause[] {
  const clauses: Clause[] = [{ word: '', offset: 0, entries: [[]] }];
  for (const [index, part] of parts.entries()) {
    const word = wordOf(part) ?? '';
    const endsPair = PAIRED_CLAUSES.has(`${wordOf(parts[index - 1]) ?? ''} ${word}`);
    const beginsPair = PAIRED_CLAUSES.has(`${word} ${wordOf(parts[index + 1]) ?? ''}`);
    if (!endsPair && (CLAUSES.has(word) || beginsPair)) clauses.push({ word, offset: part.offset, entries: [[]] });
    else if (isSymbol(part, ',')) clauses.at(-1)?.entries.push([]);
    else {
      if (part.kind === 'group') part.clause = clauses.at(-1)?.word ?? '';
      clauses.at(-1)?.entries.at(-1)?.push(part);
    }
  }
  return clauses;
}

function readColumn(entry: readonly TextPart[]): Statement['columns'][number] {
  const { parts, alias } = splitAlias(entry);
  const [name, call, ...others] = parts;
  const calls = findCalls(parts);
  // `percentile(x)` without a list returns the 95th percentile. `getField` selects one number of an object.
  const percentiles = calls
    .filter(({ name, group }) => ['percentile', 'bucketpercentile'].includes(name) && !isInGetField(group))
    .map(({ group }) => Math.max(1, (group.clauses[0]?.entries.length ?? 0) - 1));
  return {
    key: alias ?? deriveKey(parts),
    hasAlias: alias !== undefined,
    percentiles: Math.max(0, ...percentiles),
    isFiltered: calls.some((each) => each.name === 'filter'),
    call: call?.kind === 'group' && others.length === 0 ? wordOf(name) : undefined,
  };
}

function isInGetField({ outer }: Group): boolean {
  for (let group = outer; group !== undefined; group = group.outer) {
    if (wordOf(group.word) === 'getfield') return true;
  }
  return false;
}

/** Finds calls of functions at any depth, in the order of the text, but not inside subqueries. */
function findCalls(parts: readonly TextPart[]) {
  const calls: { readonly name: string; readonly offset: number; readonly group: Group }[] = [];
  const open = parts.toReversed();
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (part.kind !== 'group' || part.query === part) continue;
    const { word } = part;
    if (word !== undefined) calls.push({ name: word.text.toLowerCase(), offset: word.offset, group: part });
    for (const inner of part.parts.toReversed()) open.push(inner);
  }
  return calls;
}

/** Returns New Relic's key for a column without alias: `count`, `average.duration`, or the attribute itself. */
function deriveKey(parts: readonly TextPart[]): string | undefined {
  const [name, call] = parts;
  if (parts.length !== 2 || call?.kind !== 'group') return attributeOf(parts);
  const [argument = []] = call.clauses[0]?.entries ?? [];
  if (name?.kind !== 'word') return undefined;
  const [only] = argument;
  const isAll = only === undefined || isSymbol(only, '*');
  if (isAll && argument.length < 2) return name.text.toLowerCase();
  const attribute = attributeOf(argument);
  return attribute === undefined ? undefined : `${name.text}.${attribute}`;
}

function attributeOf([only, ...others]: readonly TextPart[]): string | undefined {
  return others.length === 0 && isName(only) ? only.text : undefined;
}

function isName(part: TextPart | undefined): part is Token {
  return part?.kind === 'word' || part?.kind === 'name';
}

function splitAlias(entry: readonly TextPart[]) {
  const as = entry.findLastIndex((part) => wordOf(part) === 'as');
  const alias = as === -1 ? undefined : entry[as + 1];
  if (alias?.kind !== 'text' && !isName(alias)) return { parts: entry, alias: undefined };
  return { parts: entry.slice(0, as), alias: alias.text };
}

function wordOf(part: TextPart | undefined): string | undefined {
  return part?.kind === 'word' ? part.text.toLowerCase() : undefined;
}

function isSymbol(part: TextPart, text: string): boolean {
  return part.kind === 'symbol' && part.text === text;
}

/** Numbers and attributes are words, too. Attributes may contain dots and colons. Backticks know no escapes. */
const TOKEN = new RegExp(
  [
    /(?<space>\s+)/u,
    /(?<word>[\p{L}\p{M}\p{N}_.:@$]+)/u,
    /(?<line>(?:--|\/\/)[^\n]*)/u,
    /(?<block>\/\*[^]*?(?<ended>\*\/|$))/u,
    /(?<text>(?<quote>['"])(?:\\[^]|(?!\k<quote>)[^\\])*(?<closed>\k<quote>)?)/u,
    /(?<name>`[^`]*(?<shut>`)?)/u,
    /[^]/u,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gu',
);

/** Cuts any text into tokens. An unclosed literal or comment extends to the end, and is a problem. */
function scan(query: string) {
  const tokens: Token[] = [];
  const problems: NrqlProblem[] = [];
  let hasComment = false;
  for (const { 0: written, index: offset, groups = {} } of query.matchAll(TOKEN)) {
    const { space, word, line, block, ended, text, closed, name, shut } = groups;
    hasComment ||= (line ?? block) !== undefined;
    if ((space ?? line ?? block) !== undefined) {
      if (ended === '') problems.push({ offset, message: 'begins a comment that does not end: close it with */' });
    } else if ((text ?? name) !== undefined) {
      const isClosed = (closed ?? shut) !== undefined;
      const message = `opens a quote that is not closed: add another ${written.charAt(0)}`;
      if (!isClosed) problems.push({ offset, message });
      const inner = written.slice(1, isClosed ? -1 : undefined);
      if (text === undefined) tokens.push({ kind: 'name', text: inner, offset });
      else tokens.push({ kind: 'text', text: inner.replace(/\\([^])/gu, '$1'), offset });
    } else tokens.push({ kind: word === undefined ? 'symbol' : 'word', text: written, offset });
  }
  return { tokens, problems, hasComment };
}
