/** What stands in the place of a key. */
export const HIDDEN = '<secret>';
const SHORTEST = 4;
/** A body is only touched for a key that cannot be an ordinary word of it. */
const SHORTEST_IN_BODY = 16;

/** Hides one API key in texts, however it is spelt: plain, percent-encoded, escaped as in JSON or as in HTML. */
export class KeyMask {
  readonly key: string;
  readonly #pattern: RegExp | undefined;

  constructor(key: string) {
    this.key = key;
    this.#pattern = key.length < SHORTEST ? undefined : new RegExp(Array.from(key, spellings).join(''), 'gi');
  }

  /** For messages. Keys of under four characters are not hidden, they would turn up everywhere. */
  hide(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, HIDDEN);
  }

  /** For a body before it is parsed, so that an echoed key cannot become a label. */
  hideInBody(text: string): string {
    if (this.key.length < SHORTEST_IN_BODY) return text;
    return text.includes(this.key) || text.includes('\\u') ? this.hide(text) : text;
  }
}

function spellings(character: string): string {
  const code = character.charCodeAt(0);
  const hex = code.toString(16).padStart(2, '0');
  const literally = character.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
  return `(?:${literally}|\\\\${literally}|%${hex}|\\\\u00${hex}|&#(?:x0*${hex}|0*${code});)`;
}
