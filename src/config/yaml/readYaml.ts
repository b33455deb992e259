import { Composer, type CST, type Document, Lexer, LineCounter, Parser, Scalar, visit, YAMLParseError } from 'yaml';
import type { ScalarTag, YAMLError } from 'yaml';
import { showPath, type Diagnostic, type Issue, type Path } from '../diagnostic.ts';
import { DocumentValues, type YamlProblem } from './documentValues.ts';
import { counted } from '../../text/wording.ts';
import type { Environment } from './placeholders.ts';

export type YamlFile = ReturnType<typeof readYaml>;

/**
 * Reads YAML 1.2 (core schema), and reports every problem. `env` replaces placeholders; without it, `${` is ordinary
 * text. `tags` reads YAML 1.1 instead, with merge keys and these types.
 */
export function readYaml(
  { path: name, text }: { readonly path: string; readonly text: string },
  env: Environment | undefined,
  tags?: readonly ScalarTag[],
) {
  const lines = new LineCounter();
  const { values, problems } = readValues(text, lines, env, tags);
  const toDiagnostic = ({ offset, path, message, isName }: YamlProblem): Diagnostic => {
    const { line, col } = lines.linePos(offset);
    return { file: name, line: Math.max(line, 1), column: Math.max(col, 1), path: showPath(path(), isName), message };
  };
  /** Locates an issue at a value or its key; for a missing value, at the nearest mapping or list around it. */
  const locateIssue = ({ path, message, at: position, isName }: Issue): YamlProblem => {
    const found = values?.locate(path) ?? [];
    const nearest = found.at(-1);
    const key = position === 'key' && found.length === path.length + 1 ? nearest?.key : undefined;
    return { offset: key ?? nearest?.offset ?? 0, path: () => path, message, isName };
  };
  /** Lists problems in file order: at most ten with one message and 100 in all, then the number of the others. */
  const list = (found: readonly YamlProblem[], noun: string): Diagnostic[] => {
    const shown = limitAlike(found.toSorted((a, b) => a.offset - b.offset)).slice(0, MAX_SHOWN);
    const diagnostics = shown.map(toDiagnostic);
    if (shown.length === found.length) return diagnostics;
    const message = `${counted(found.length - shown.length, `further ${noun}`)} like these: mend these first`;
    return [...diagnostics, { file: name, path: '', message }];
  };
  return {
    /** Mappings, lists and scalars, null for an invalid value; undefined if the file is not readable as YAML. */
    value: values?.value,
    /** Returns the problems of the file and `issues`, one diagnostic for each invalid value. */
    listDiagnostics: (issues: readonly Issue[]): Diagnostic[] => {
      const ofValid = issues.filter(({ path }) => values?.isInvalid(path) === false);
      return list([...problems, ...ofValid.map(locateIssue)], 'fault');
    },
    listWarnings: (warnings: readonly Issue[]): Diagnostic[] => list(warnings.map(locateIssue), 'warning'),
    /** Returns the text of a value before it got a type: with placeholders expanded, or any plain value of YAML 1.1. */
    textAt: (path: Path): string | undefined => values?.textOf(values.locate(path)[path.length]?.node),
  };
}

const MAX_ALIKE = 10;
const MAX_SHOWN = 100;

function limitAlike(all: readonly YamlProblem[]): readonly YamlProblem[] {
  const seen = new Map<string, number>();
  return all.filter(({ message }) => {
    const count = (seen.get(message) ?? 0) + 1;
    seen.set(message, count);
    return count <= MAX_ALIKE;
  });
}

function readValues(
  text: string,
  lines: LineCounter,
  env: Environment | undefined,
  tags: readonly ScalarTag[] | undefined,
): { readonly values?: DocumentValues; readonly problems: readonly YamlProblem[] } {
  const document = parse(text, lines, tags);
  if ('message' in document) return { problems: [document] };
  if (document.errors.length > 0) return { problems: describeSyntaxErrors(document, text, lines) };
  const { explicit, version } = document.directives.yaml;
  const expected = tags === undefined ? '1.2' : '1.1';
  if (explicit === true && version !== expected) {
    return refuse(`the file must be YAML ${expected}: remove the %YAML directive`);
  }
  if (document.contents === null || text.trim() === '') {
    return refuse('the file is empty: it needs "accounts" with at least one account');
  }
  const values = new DocumentValues(document, env, tags !== undefined);
  if (values.value === undefined) return refuse('the aliases stand for too many values');
  return { values, problems: values.problems };
}

function refuse(message: string): { readonly problems: readonly YamlProblem[] } {
  return { problems: [{ offset: 0, path: top, message }] };
}

const top = (): Path => [];

const TOO_DEEP = 'lists and mappings are nested too deeply';

/** Maximum nesting, far above that of any valid file. Deeper texts take the library minutes, or overflow its stack. */
const MAX_NESTING = 50;

/** Parses the first document of a text, like `parseDocument` of the library, unless it is nested too deeply. */
function parse(
  text: string,
  lines: LineCounter,
  tags: readonly ScalarTag[] | undefined,
): Document.Parsed | YamlProblem {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length > MAX_NESTING) return { offset: parser.offset, path: top, message: TOO_DEEP };
  }
  tokens.push(...parser.end());
  const composer = new Composer({
    ...{ logLevel: 'error', stringKeys: true, uniqueKeys: false, resolveKnownTags: false },
    ...(tags === undefined ? {} : { schema: 'failsafe', customTags: [...tags] }),
  });
  const [document, second] = composer.compose(tokens, true, text.length);
  if (document === undefined) throw new Error('a text without a document was read');
  if (second !== undefined)
    document.errors.push(new YAMLParseError([second.range[0], second.range[1]], 'MULTIPLE_DOCS', ''));
  return document;
}

const BAD_INDENT = 'the indentation does not fit what stands around it';
const LINE_TOO_EARLY = `${BAD_INDENT}, or a colon, comma or bracket is missing before it`;

/** Messages for syntax errors. Those of the library may quote a secret. */
const SYNTAX_MESSAGES: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: 'an anchor or alias needs a name',
  BAD_DIRECTIVE: 'this directive is not one of YAML 1.2: remove the line',
  BAD_DQ_ESCAPE: 'this escape is not one of YAML 1.2: write the backslash twice, or use single quotes',
  BAD_INDENT,
  BAD_SCALAR_START: 'a value cannot begin with this character: put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a mapping cannot begin here: look at the indentation of the next line, begin the mapping on a line of its own, or put ' +
    'a value that holds ": " in quotes',
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

const NEVER_CLOSED = 'the quote that opens here is never closed: close it on its line';

/** Returns one problem per line: further problems of a line mostly follow from the first. */
function describeSyntaxErrors(document: Document.Parsed, text: string, lines: LineCounter): YamlProblem[] {
  const byLine = new Map<number, YamlProblem>();
  const quoted = findQuotedScalars(document, text);
  for (const { pos, code } of document.errors) {
    const found = Math.min(pos[0], text.length);
    const unclosed =
      code === 'MISSING_CHAR' ? quoted.find(({ end, isClosed }) => end === found && !isClosed) : undefined;
    const offset = unclosed?.start ?? found;
    const { line } = lines.linePos(offset);
    if (byLine.has(line)) continue;
    if (unclosed !== undefined) {
      byLine.set(line, { offset, path: top, message: NEVER_CLOSED });
      // The rest is read as text, so its faults mean nothing.
      break;
    }
    const start = lines.lineStarts[line - 1] ?? 0;
    const lineText = text.slice(start, lines.lineStarts[line]);
    const isAtStart = offset < text.length && text.slice(start, offset).trim() === '';
    const explanation =
      code === 'MISSING_CHAR' && isAtStart ? LINE_TOO_EARLY : (SYNTAX_MESSAGES[code] ?? 'this is not valid YAML 1.2');
    // Inside brackets, YAML reads the braces of a placeholder as a mapping.
    const isInBrackets = /[[{,]/.test(lineText.slice(0, Math.max(0, lineText.lastIndexOf('${'))));
    const long = quoted.find((each) => each.start < start && each.end > start && each.end <= offset);
    const quoteHint = long === undefined ? '' : longQuoteHint(lines.linePos(long.start).line);
    const message = `${explanation}${isInBrackets ? PLACEHOLDER_HINT : ''}${quoteHint}`;
    byLine.set(line, { offset, path: top, message });
  }
  return [...byLine.values()];
}

function longQuoteHint(line: number): string {
  return `; the quote that opens in line ${line} ends only in this one: is it closed where it should be?`;
}

function findQuotedScalars(document: Document.Parsed, text: string) {
  const found: { readonly start: number; readonly end: number; readonly isClosed: boolean }[] = [];
  visit(document, {
    Scalar: (_, { range, type }) => {
      if (!range || (type !== Scalar.QUOTE_DOUBLE && type !== Scalar.QUOTE_SINGLE)) return;
      const [start, end] = range;
      found.push({ start, end, isClosed: end - start > 1 && text[start] === text[end - 1] });
    },
  });
  return found;
}
