/** Control characters, line separators and bidirectional marks: they can end a line, move the cursor or hide text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Escapes characters that must not reach a terminal or a log reader. The result stays valid in a JSON string. */
export function escapeUnsafe(text: string): string {
  const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(UNSAFE, (character) => character.split('').map(escapeUnit).join(''));
}

/** Escapes the unsafe characters of a text, but keeps its line breaks. */
export function escapeLines(lines: string): string {
  return lines.split('\n').map(escapeUnsafe).join('\n');
}

const ENTITIES = new Map(Object.entries({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }));

/** Escapes a text for HTML, also inside an attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES.get(character) ?? '');
}
