import { type Document, isScalar, Lexer, LineCounter, parseDocument, type YAMLError } from 'yaml';
import { firstFaults, MOST_FAULTS, showPath, type Fault, type Issue, type Path } from '../fault.ts';
import { placeInText } from './textPlace.ts';
import { type Environment, Places, plainValue, prepareDocument, TOO_LARGE } from './preparedDocument.ts';

const TOO_DEEP = 'lists and mappings are nested too deeply';

/**
 * Sentences for faults of YAML itself. Those of the library may quote the text at fault, and that may be a key.
 */
const SENTENCES: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: 'an anchor or alias needs a name',
  BAD_DIRECTIVE: 'this directive is not one of YAML 1.2: remove the line',
  BAD_DQ_ESCAPE: 'this escape is not one of YAML 1.2: write the backslash twice, or use single quotes',
  BAD_INDENT: 'the indentation does not fit what stands around it',
  BAD_SCALAR_START: 'a value cannot begin with this character: put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a mapping cannot begin here: begin it on a line of its own, or put a value that holds ": " in quotes',
  KEY_OVER_1024_CHARS: 'a key is at most 1,024 characters long',
  MISSING_CHAR: 'a bracket, quote, comma, colon or space is missing here',
  MULTILINE_IMPLICIT_KEY: 'a key must stand on one line and be followed by ": "',
  MULTIPLE_DOCS: 'the file must hold one document: remove this "---" and what follows, or merge it into the first',
  NON_STRING_KEY: 'a key must be plain text',
  RESOURCE_EXHAUSTION: TOO_DEEP,
  TAB_AS_INDENT: 'indentation must be spaces, not tabs',
  TAG_RESOLVE_FAILED: 'the tag is unknown: remove it',
  UNEXPECTED_TOKEN: 'this is not expected here: look for a missing quote, comma or line end before it',
};

const PLACEHOLDER_HINT = '; a ${NAME} inside [ ] or { } must stand in quotes';

interface YamlProblem {
  readonly offset: number;
  readonly message: string;
}

/** More levels than any valid file has; for deeper ones the parser takes minutes, or overflows the stack. */
const MAX_NESTING = 100;
/** More pieces (values, marks, spaces, line ends) than any configuration has; the parser takes some 300 bytes for each. */
const MAX_PIECES = 1_000_000;
/** What the lexer puts before a scalar. */
const SCALAR = '\u001f';
/** Marks of the lexer that stand for no character of the text. */
const MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018', SCALAR]);

/** Finds what the parser must not be given: text that is nested too deeply, or that has too many pieces. */
function sizeProblem(text: string, lines: LineCounter): YamlProblem | undefined {
  const nesting = new Nesting();
  let offset = 0;
  let pieces = 0;
  let isScalar = false;
  for (const token of new Lexer().lex(text)) {
    pieces += 1;
    const message = nesting.depth > MAX_NESTING ? TOO_DEEP : pieces > MAX_PIECES ? TOO_LARGE : undefined;
    if (message !== undefined) {
      for (const { index } of text.slice(0, offset).matchAll(/^/gm)) lines.addNewLine(index);
      return { offset, message };
    }
    if (!MARKS.has(token)) {
      nesting.pass(token, isScalar);
      offset += token.length;
    }
    isScalar = token === SCALAR;
  }
  return undefined;
}

/** How deeply lists and mappings are nested while the pieces of a text pass. */
class Nesting {
  #brackets = 0;
  /** The columns in which lists and mappings without brackets began that are still open, increasing. */
  readonly #blocks: number[] = [];
  #column = 0;
  /** Where the key or value begins that may be followed by a colon. */
  #keyColumn: number | undefined;

  get depth(): number {
    return this.#brackets + this.#blocks.length;
  }

  pass(token: string, isScalar: boolean): void {
    if (isScalar || !this.#isMark(token)) {
      if (!/^[\s#]/.test(token) || isScalar) this.#keyColumn ??= this.#column;
    }
    const lineEnd = token.lastIndexOf('\n');
    this.#column = lineEnd < 0 ? this.#column + token.length : token.length - lineEnd - 1;
    if (lineEnd >= 0) this.#keyColumn = undefined;
  }

  /** True of a mark that begins or ends a list or mapping, or an entry of it, once it is taken into account. */
  #isMark(token: string): boolean {
    if (token === '[' || token === '{') this.#brackets += 1;
    else if (token === ']' || token === '}') this.#brackets -= 1;
    else if (token !== '-' && token !== '?' && token !== ':') return false;
    else if (this.#brackets <= 0) {
      this.#open(token === ':' ? (this.#keyColumn ?? this.#column) : this.#column);
      this.#keyColumn = undefined;
    }
    return true;
  }

  #open(column: number): void {
    while ((this.#blocks.at(-1) ?? -1) > column) this.#blocks.pop();
    if (this.#blocks.at(-1) !== column) this.#blocks.push(column);
  }
}

/** One problem per line: further problems on a line mostly come from the first one. Gives the first ones, and how many more. */
function syntaxProblems(
  errors: readonly YAMLError[],
  text: string,
  lines: LineCounter,
): { readonly problems: readonly YamlProblem[]; readonly more: number } {
  const places = new Map<number, { readonly offset: number; readonly code: YAMLError['code'] }>();
  for (const { pos, code } of errors) {
    const offset = Math.min(pos[0], text.length);
    const { line } = lines.linePos(offset);
    if (!places.has(line)) places.set(line, { offset, code });
  }
  const problems = [...places].slice(0, MOST_FAULTS).map(([line, { offset, code }]) => {
    const sentence = SENTENCES[code] ?? 'this is not valid YAML 1.2';
    const lineText = text.slice(lines.lineStarts[line - 1], lines.lineStarts[line]);
    const hasBracket = /[[{,]/.test(lineText.slice(0, Math.max(0, lineText.lastIndexOf('${'))));
    return { offset, message: `${sentence}${hasBracket ? PLACEHOLDER_HINT : ''}` };
  });
  return { problems, more: places.size - problems.length };
}

/** A file of YAML as plain values, with the places that they came from. */
export interface YamlFile {
  /** Mappings, lists and scalars of the file, null for what is at fault; undefined when it could not be read as YAML. */
  readonly value: unknown;
  /** Its own faults with those of further issues, in the order of the file; not those of values that are at fault already. */
  faultsWith(issues: readonly Issue[]): Fault[];
  /**
   * A fault at a value, or at its key; where there is no such value, at the nearest one that should hold it. `inText`: at
   * that character of a text.
   */
  fault(path: Path, message: string, at: 'key' | 'value', inText?: number): Fault;
  /** For an unquoted value with placeholders: the text that it expanded to, before it was typed. */
  textAt(path: Path): string | undefined;
}

/** Reads YAML 1.2 (core schema) with placeholders replaced; everything at fault is told, not only the first. */
export function readYaml(source: { readonly path: string; readonly text: string }, env: Environment): YamlFile {
  const lines = new LineCounter();
  const faultAt = (offset: number, path: Path, message: string): Fault => {
    const { line, col } = lines.linePos(offset);
    return { file: source.path, line: Math.max(line, 1), column: Math.max(col, 1), path: showPath(path), message };
  };
  const unreadable = (problems: readonly YamlProblem[], more = 0): YamlFile => ({
    value: undefined,
    faultsWith: () =>
      firstFaults(
        problems.map(({ offset, message }) => faultAt(offset, [], message)),
        more,
      ),
    fault: (path, message) => faultAt(0, path, message),
    textAt: () => undefined,
  });
  const tooMuch = sizeProblem(source.text, lines);
  if (tooMuch !== undefined) return unreadable([tooMuch]);
  const document = parse(source.text, lines);
  if (document.errors.length > 0) {
    const { problems, more } = syntaxProblems(document.errors, source.text, lines);
    return unreadable(problems, more);
  }
  const whole = documentProblem(document, source.text);
  if (whole !== undefined) return unreadable([{ offset: 0, message: whole }]);
  const { problems, more, faulty, targets, texts, replacements } = prepareDocument(document, env);
  const faults = problems.map(({ offset, path, message }) => faultAt(offset, path, message));
  // With so many faults, what the values are needs no telling.
  if (more > 0) return { ...unreadable([]), faultsWith: () => firstFaults(faults, more) };
  const plain = plainValue(document, targets);
  if ('problem' in plain) return unreadable([{ offset: 0, message: plain.problem }]);
  const places = new Places(document, targets);
  const isFaulty = (path: Path): boolean => places.on(path).some(({ nodes }) => nodes.some((node) => faulty.has(node)));
  const file: YamlFile = {
    value: plain.value,
    faultsWith: (issues) => {
      const further = issues.filter(({ path }) => !isFaulty(path));
      return firstFaults([
        ...faults,
        ...further.map(({ path, message, at, inText }) => file.fault(path, message, at, inText)),
      ]);
    },
    fault: (path, message, at, inText) => {
      const found = places.on(path);
      const nearest = found.at(-1);
      const text = inText === undefined ? undefined : nearest?.nodes.at(-1);
      if (isScalar(text) && inText !== undefined && found.length === path.length + 1) {
        const offset = placeInText(source.text, text, replacements.get(text) ?? [], inText);
        return faultAt(offset, path, message);
      }
      const key = at === 'key' && found.length === path.length + 1 ? nearest?.key : undefined;
      return faultAt(key ?? nearest?.value ?? 0, path, message);
    },
    textAt: (path) => {
      const node = places.on(path)[path.length]?.nodes.at(-1);
      return node === undefined ? undefined : texts.get(node);
    },
  };
  return file;
}

function parse(text: string, lineCounter: LineCounter): Document.Parsed {
  const { stackTraceLimit } = Error;
  // The library makes an error for each of perhaps a million faults; their stacks would take a gigabyte.
  Error.stackTraceLimit = 0;
  try {
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      logLevel: 'error',
      stringKeys: true,
      uniqueKeys: false,
      resolveKnownTags: false,
    });
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** What is wrong with the document as a whole. */
function documentProblem({ directives, contents }: Document.Parsed, text: string): string | undefined {
  const { explicit, version } = directives.yaml;
  if (explicit === true && version !== '1.2') return 'the file must be YAML 1.2: remove the %YAML directive';
  if (contents !== null && text.trim() !== '') return undefined;
  return 'the file is empty: it needs "accounts" with at least one account';
}
