import { Scalar } from 'yaml';
import type { Replacement } from './placeholders.ts';

/** The escapes of double quotes that stand for white space; a line's end is one too. */
const WHITE_ESCAPES = new Set(['t', 'n', 'v', 'f', 'r', '_', 'L', 'P', ' ', '\t', '\r', '\n']);
/** How many digits follow. */
const LONG_ESCAPES: Readonly<Partial<Record<string, number>>> = { x: 2, u: 4, U: 8 };

/**
 * Where in a file a character of a text value stands. White space is not told apart: folding changes it.
 *
 * @param source the text of the file
 * @param node the value, before placeholders were replaced
 * @param at counts in the value after placeholders were replaced
 */
export function placeInText(source: string, node: Scalar, replacements: readonly Replacement[], at: number): number {
  const [start = 0, end = source.length] = node.range ?? [];
  const value = node.source ?? '';
  const wanted = beforeReplacing(replacements, at);
  let place = start;
  if (node.type === Scalar.BLOCK_FOLDED || node.type === Scalar.BLOCK_LITERAL) {
    place = endOfLine(source, start, end);
  } else if (node.type !== Scalar.PLAIN) place += 1;
  for (let index = 0; index < wanted && place < end; index += 1) {
    if (isWhite(value[index])) continue;
    place = skipWhite(source, place, end, node.type);
    const isEscape = node.type === Scalar.QUOTE_DOUBLE && source[place] === '\\';
    // An escape may stand for a character of two units.
    if (isEscape && (value.codePointAt(index) ?? 0) > 0xffff && source[place + 1] === 'U') index += 1;
    if (isEscape) place += 2 + (LONG_ESCAPES[source[place + 1] ?? ''] ?? 0);
    else place += node.type === Scalar.QUOTE_SINGLE && source.startsWith("''", place) ? 2 : 1;
  }
  return Math.min(skipWhite(source, place, end, node.type), end);
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
  let place = from;
  while (place < end) {
    if (isWhite(source[place])) place += 1;
    else if (isWhiteEscape(source, place, type)) place += 2;
    else break;
  }
  return place;
}

function isWhiteEscape(source: string, place: number, type: Scalar['type']): boolean {
  return type === Scalar.QUOTE_DOUBLE && source[place] === '\\' && WHITE_ESCAPES.has(source[place + 1] ?? '');
}

function endOfLine(source: string, from: number, end: number): number {
  const found = source.indexOf('\n', from);
  return found === -1 ? end : found + 1;
}

function isWhite(character: string | undefined): boolean {
  return character !== undefined && /\s/.test(character);
}
