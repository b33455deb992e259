import { Scalar } from 'yaml';
import type { Replacement } from './placeholders.ts';

/** Escapes in double quotes that give white space; an escaped line end does, too. */
const WHITE_ESCAPES = new Set(['t', 'n', 'v', 'f', 'r', '_', 'L', 'P', ' ', '\t', '\r', '\n']);
/** The number of hexadecimal digits of each escape. */
const LONG_ESCAPES: Readonly<Partial<Record<string, number>>> = { x: 2, u: 4, U: 8 };

/**
 * The position in the file of a character of a text value. All white space counts as equal, because folding changes it.
 *
 * @param source the text of the file
 * @param node the value, before placeholders were replaced
 * @param at index in the value after placeholders were replaced
 */
export function positionInText(source: string, node: Scalar, replacements: readonly Replacement[], at: number): number {
  const [start = 0, end = source.length] = node.range ?? [];
  const value = node.source ?? '';
  const wanted = beforeReplacing(replacements, at);
  let position = start;
  if (node.type === Scalar.BLOCK_FOLDED || node.type === Scalar.BLOCK_LITERAL) {
    const lineEnd = source.indexOf('\n', start);
    position = lineEnd === -1 ? end : lineEnd + 1;
  } else if (node.type !== Scalar.PLAIN) position += 1;
  for (let index = 0; index < wanted && position < end; index += 1) {
    if (isWhite(value[index])) continue;
    position = skipWhite(source, position, end, node.type);
    const isEscape = node.type === Scalar.QUOTE_DOUBLE && source[position] === '\\';
    // An escape may stand for a character of two units.
    if (isEscape && (value.codePointAt(index) ?? 0) > 0xffff && source[position + 1] === 'U') index += 1;
    if (isEscape) position += 2 + (LONG_ESCAPES[source[position + 1] ?? ''] ?? 0);
    else position += node.type === Scalar.QUOTE_SINGLE && source.startsWith("''", position) ? 2 : 1;
  }
  return Math.min(skipWhite(source, position, end, node.type), end);
}

function beforeReplacing(replacements: readonly Replacement[], at: number): number {
  let shift = 0;
  for (const { writtenAt, written, at: replacedAt, length } of replacements) {
    if (at < replacedAt) break;
    if (at < replacedAt + length) return writtenAt;
    shift = writtenAt + written - (replacedAt + length);
  }
  return at + shift;
}

function skipWhite(source: string, from: number, end: number, type: Scalar['type']): number {
  let position = from;
  while (position < end) {
    if (isWhite(source[position])) position += 1;
    else if (isWhiteEscape(source, position, type)) position += 2;
    else break;
  }
  return position;
}

function isWhiteEscape(source: string, position: number, type: Scalar['type']): boolean {
  return type === Scalar.QUOTE_DOUBLE && source[position] === '\\' && WHITE_ESCAPES.has(source[position + 1] ?? '');
}

function isWhite(character: string | undefined): boolean {
  return character !== undefined && /\s/.test(character);
}
