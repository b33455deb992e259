import { mayBeSecret } from '../diagnostic.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A `${`, with the name and the end of its placeholder, or the name and the beginning of its default. */
const PLACEHOLDER = /\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(\}|:-))?/y;

/** Longest text of a file, in characters, before and after placeholders are replaced; no valid value is as long. */
export const MAX_TEXT = 655_360;
export const TOO_LONG = 'a text is longer than 655,360 characters: shorten it';

const INCOMPLETE = '"${" must begin ${NAME} or ${NAME:-default}: complete it, or write "$${" for a literal "${"';

/**
 * Replaces `${NAME}` and `${NAME:-default}` (the default is for a variable that is not set or empty); `$${` stands for `${`.
 * The value of a variable is inserted unchanged, without a search for placeholders in it.
 */
export function expandPlaceholders(text: string, env: Environment): string | { readonly problem: string } {
  const parts: string[] = [];
  let length = 0;
  let done = 0;
  /** Copies the text before the placeholder, then inserts its replacement. */
  const replace = (from: number, to: number, by: string): void => {
    parts.push(text.slice(done, from), by);
    length += from - done + by.length;
    done = to;
  };
  for (let at = text.indexOf('${'); at >= 0; at = text.indexOf('${', done)) {
    if (at > done && text[at - 1] === '$') {
      replace(at - 1, at + 2, '${');
      continue;
    }
    PLACEHOLDER.lastIndex = at;
    const [whole = '', name, ending] = PLACEHOLDER.exec(text) ?? [];
    const begun = at + whole.length;
    const end = ending === ':-' ? text.indexOf('}', begun) : begun;
    if (name === undefined || end < 0) return { problem: INCOMPLETE };
    const fallback = ending === ':-' ? text.slice(begun, end) : undefined;
    if (fallback?.includes('${') === true) {
      return { problem: 'a default cannot hold another "${": give ${NAME:-default} a default of plain text' };
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined && fallback === undefined) return { problem: notSet(name) };
    const by = value === undefined || value === '' ? (fallback ?? '') : value;
    replace(at, fallback === undefined ? end : end + 1, by);
    if (length > MAX_TEXT) return { problem: TOO_LONG };
  }
  return parts.join('') + text.slice(done);
}

function notSet(name: string): string {
  return mayBeSecret(name)
    ? 'the environment variable of this name is not set: write the name of a variable between "${" and "}"'
    : `the environment variable ${name} is not set: set it, or write \${${name}:-default}`;
}

/** The reverse of expandPlaceholders: a text that expands to the given one. */
export function escapePlaceholders(text: string): string {
  return text.replaceAll('${', () => '$${');
}
