import { Secrets } from '../../log/secrets.ts';
import { CallFailure } from './callFailure.ts';

/** A body is searched only for a key of at least this length: a shorter key could be an ordinary word. */
const SHORTEST_IN_BODY = 16;
/** The longest text, in characters, that is searched closely: the search takes about 70 ns for each character. */
const LONGEST_HIDDEN_IN = 1024 * 1024;

/** Hides one API key in texts, and every run of 12 of its characters, in any JSON spelling. */
export class KeyMask {
  readonly key: string;
  readonly #secrets = new Secrets();
  /** Matches a character of the key that is written as an escape, although JSON does not need one. */
  readonly #escape: RegExp;

  constructor(key: string) {
    this.key = key;
    this.#secrets.add(key);
    const codes = Array.from(key.toLowerCase() + key.toUpperCase(), (one) => one.charCodeAt(0).toString(16));
    this.#escape = new RegExp(`\\\\u00(?:${[...new Set(codes)].join('|')})`, 'i');
  }

  /** Hides the key in a message. A key of less than four characters is not hidden, because it would match everywhere. */
  hide(text: string): string {
    return this.#secrets.mask(text);
  }

  /**
   * Hides the key in a body before it is parsed, so that an echoed key, or a part of it, cannot become a label. Throws a
   * CallFailure where a large body would need a close search.
   */
  hideInBody(text: string): string {
    if (this.key.length < SHORTEST_IN_BODY) return text;
    if (!this.#secrets.holdsRun(text) && !(text.includes('\\u00') && this.#escape.test(text))) return text;
    if (text.length <= LONGEST_HIDDEN_IN) return this.hide(text);
    throw new CallFailure(
      'invalid_response',
      'the answer is large and holds parts of the API key, or escapes of its letters',
    );
  }
}

/** The API key of an account. Key files change, so it is read again for each attempt. */
export class ApiKey {
  readonly #read: () => string;
  #mask = new KeyMask('');

  constructor(read: () => string) {
    this.#read = read;
  }

  /** The current key, with the mask that hides it. Throws a CallFailure when it cannot be read or sent. */
  current(): KeyMask {
    const key = readKey(this.#read);
    if (key !== this.#mask.key) this.#mask = new KeyMask(key);
    return this.#mask;
  }

  /** The key that was read last, for comparison; empty before the first call. */
  get last(): string {
    return this.#mask.key;
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
