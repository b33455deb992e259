/** Characters that could end a line, move the cursor or hide text: controls, line separators, bidirectional marks. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Escapes characters that must not reach a terminal or a log reader; the text stays valid inside a JSON string. */
export function escapeUnsafe(text: string): string {
  return text.replace(UNSAFE, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

/** The lines of a text, each with its control and invisible characters shown as text. */
export function escapeLines(lines: string): string {
  return lines.split('\n').map(escapeUnsafe).join('\n');
}
