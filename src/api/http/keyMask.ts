import { CallFailure } from './callFailure.ts';

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

/** The API key of an account. Key files change, so it is read again for each attempt. */
export class ApiKey {
  readonly #read: () => string;
  #mask = new KeyMask('');

  constructor(read: () => string) {
    this.#read = read;
  }

  /** The key of today, with the mask that hides it. Throws a CallFailure when it cannot be read or sent. */
  current(): KeyMask {
    const key = readKey(this.#read);
    if (key !== this.#mask.key) this.#mask = new KeyMask(key);
    return this.#mask;
  }

  /** Hides the key that was read last in a text. */
  hide(text: string): string {
    return this.#mask.hide(text);
  }
}

function readKey(read: () => string): string {
  let key: string;
  try {
    key = read();
  } catch {
    throw new CallFailure('auth', 'the API key cannot be read');
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new CallFailure('auth', 'the API key is empty or holds characters that no key has');
}
