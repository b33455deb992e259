import { Lexer } from 'yaml';
import type { LineCounter, YAMLError } from 'yaml';

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

export interface YamlProblem {
  readonly offset: number;
  readonly message: string;
}

/** More levels of brackets than any valid file has. */
const MAX_FLOW_DEPTH = 100;
/** Marks of the lexer that stand for no character of the text. */
const MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f']);

/** Finds brackets that are nested so deeply that the parser would take minutes, or overflow the stack. */
export function nestingProblem(text: string, lines: LineCounter): YamlProblem | undefined {
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
export function syntaxProblems(errors: readonly YAMLError[], text: string, lines: LineCounter): YamlProblem[] {
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
