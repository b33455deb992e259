/** Control characters, line separators and bidirectional marks: they can end a line, move the cursor or hide text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Escapes characters that must not reach a terminal or a log reader. The result stays valid in a JSON string. */
export function escapeUnsafe(text: string): string {
  return text.replace(UNSAFE, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

/** Escapes the unsafe characters of a text, but keeps its line breaks. */
export function escapeLines(lines: string): string {
  return lines.split('\n').map(escapeUnsafe).join('\n');
}
