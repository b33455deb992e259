/** Fields of one log line, in the order in which they are written. */
export type LogFields = Readonly<Record<string, unknown>>;

// Bare values are what no reader of logfmt can misread; everything else is quoted.
const BARE = /^[A-Za-z0-9_.:/@%+*,;<>()[\]~!?#$&|^-]+$/;

/** What could end a line, move the cursor or hide text on a terminal: controls, line separators, bidirectional marks. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * One line of logfmt without its line end: `key=value` pairs, values quoted and escaped where they need it. `mask` sees
 * each value before that, in the spelling that it came in.
 */
export function formatLogfmt(fields: LogFields, mask: (text: string) => string): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${formatKey(key)}=${formatValue(value, mask)}`)
    .join(' ');
}

/** Escapes what must not reach a terminal or a log reader as it is; the text stays valid inside a JSON string. */
export function escapeUnsafe(text: string): string {
  return text.replace(UNSAFE, (character) =>
    Array.from({ length: character.length }, (_, index) => unicodeEscape(character.charCodeAt(index))).join(''),
  );
}

function formatKey(key: string): string {
  const safe = key.replace(/[^A-Za-z0-9_.-]/g, '_');
  return safe === '' ? '_' : safe;
}

function formatValue(value: unknown, mask: (text: string) => string): string {
  const text = mask(typeof value === 'string' ? value : JSON.stringify(value));
  return BARE.test(text) ? text : escapeUnsafe(JSON.stringify(text));
}

function unicodeEscape(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}
