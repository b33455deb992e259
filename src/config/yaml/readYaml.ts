import { Lexer, LineCounter, type YAMLError, parseDocument, type Document } from 'yaml';
import { showPath, type Fault, type Path } from '../fault.ts';
import { type Environment, Places, prepareDocument, TOO_MANY_ALIASES } from './preparedDocument.ts';

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

/** More levels of brackets than any valid file has. */
const MAX_FLOW_DEPTH = 100;
/** Marks of the lexer that stand for no character of the text. */
const MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f']);

/** Finds brackets that are nested so deeply that the parser would take minutes, or overflow the stack. */
function nestingProblem(text: string, lines: LineCounter): YamlProblem | undefined {
  let depth = 0;
  let offset = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') depth += 1;
    if (token === ']' || token === '}') depth -= 1;
    if (depth > MAX_FLOW_DEPTH) {
      for (const { index } of text.slice(0, offset).matchAll(/^/gm)) lines.addNewLine(index);
      return { offset, message: TOO_DEEP };
    }
    if (!MARKS.has(token)) offset += token.length;
  }
  return undefined;
}

/** One problem per line: further problems on a line mostly come from the first one. */
function syntaxProblems(errors: readonly YAMLError[], text: string, lines: LineCounter): YamlProblem[] {
  const seen = new Set<number>();
  return errors.flatMap((error) => {
    const offset = Math.min(error.pos[0], text.length);
    const { line } = lines.linePos(offset);
    if (seen.has(line)) return [];
    seen.add(line);
    const sentence = SENTENCES[error.code] ?? 'this is not valid YAML 1.2';
    const lineText = text.slice(lines.lineStarts[line - 1], lines.lineStarts[line]);
    const hint = /[[{,].*\$\{/.test(lineText) ? PLACEHOLDER_HINT : '';
    return [{ offset, message: `${sentence}${hint}` }];
  });
}

/** Aliases of aliases can make a billion values out of a few lines. */
const MAX_ALIASED_VALUES = 10_000;

/** A file of YAML as plain values, with the places that they came from. */
export interface YamlFile {
  /** Mappings, lists and scalars of the file, null for what is at fault; undefined when it could not be read as YAML. */
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** A fault at a value, or at its key; where there is no such value, at the nearest one that should hold it. */
  fault(path: Path, message: string, at: 'key' | 'value'): Fault;
  /** True when the value, or one that holds it, is at fault already. */
  isFaulty(path: Path): boolean;
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
  const unreadable = (...problems: readonly YamlProblem[]): YamlFile => ({
    value: undefined,
    faults: problems.map(({ offset, message }) => faultAt(offset, [], message)),
    fault: (path, message) => faultAt(0, path, message),
    isFaulty: () => true,
    textAt: () => undefined,
  });
  const tooDeep = nestingProblem(source.text, lines);
  if (tooDeep !== undefined) return unreadable(tooDeep);
  const document = parseDocument(source.text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    stringKeys: true,
    uniqueKeys: false,
    resolveKnownTags: false,
  });
  if (document.errors.length > 0) return unreadable(...syntaxProblems(document.errors, source.text, lines));
  const { explicit, version } = document.directives.yaml;
  if (explicit === true && version !== '1.2') {
    return unreadable({ offset: 0, message: 'the file must be YAML 1.2: remove the %YAML directive' });
  }
  if (document.contents === null || source.text.trim() === '') {
    return unreadable({ offset: 0, message: 'the file is empty: it needs "accounts" with at least one account' });
  }
  const prepared = prepareDocument(document, env);
  const faults = prepared.problems.map(({ offset, path, message }) => faultAt(offset, path, message));
  const value = plainValue(document);
  if (value === undefined) return unreadable({ offset: 0, message: TOO_MANY_ALIASES });
  const places = new Places(document, prepared.targets);
  return {
    value,
    faults,
    fault: (path, message, at) => {
      const found = places.on(path);
      const nearest = found.at(-1);
      const key = at === 'key' && found.length === path.length + 1 ? nearest?.key : undefined;
      return faultAt(key ?? nearest?.value ?? 0, path, message);
    },
    isFaulty: (path) => places.on(path).some(({ nodes }) => nodes.some((node) => prepared.faulty.has(node))),
    textAt: (path) => {
      const node = places.on(path)[path.length]?.nodes.at(-1);
      return node === undefined ? undefined : prepared.texts.get(node);
    },
  };
}

/** The plain values; undefined when the aliases stand for too many values: the library throws then. */
function plainValue(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASED_VALUES }) as unknown;
  } catch (error) {
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}
