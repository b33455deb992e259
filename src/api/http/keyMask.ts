import { Secrets } from '../../log/secrets.ts';
import { CallFailure } from './callFailure.ts';

/** A body is searched only for spellings of at least this length: a shorter key could be an ordinary word. */
const SHORTEST_IN_BODY = 12;
/** A letter, digit or mark of a key that is written as an escape, although JSON does not need one. */
const ESCAPED = /\\u00(?:2d|3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])/i;
/** The longest text, in characters, that is searched closely: the search takes about 70 ns for each character. */
const LONGEST_HIDDEN_IN = 1024 * 1024;

/** Hides API keys in texts, and every run of 12 of their characters, in any JSON spelling. */
export class KeyMask {
  readonly key: string;
  readonly #secrets: Secrets;

  /** @param secrets further keys that are hidden too, which the key joins */
  constructor(key: string, secrets = new Secrets()) {
    this.key = key;
    this.#secrets = secrets;
    secrets.add(key);
  }

  /** Hides the keys in a message. A key of less than four characters is not hidden, because it would match everywhere. */
  hide(text: string): string {
    return this.#secrets.mask(text);
  }

  /** Hides echoed keys, which would become labels, in a body. Throws a CallFailure where that would take too long. */
  hideInBody(text: string): string {
    if (!this.#secrets.holdsRun(text) && !(text.includes('\\u00') && ESCAPED.test(text))) return text;
    if (text.length <= LONGEST_HIDDEN_IN) return this.#secrets.mask(text, SHORTEST_IN_BODY);
    throw new CallFailure(
      'invalid_response',
      'the response is large and holds parts of an API key, or escapes of its letters',
    );
  }
}

/** The API key of an account. Key files change, so it is read again for each attempt. */
export class ApiKey {
  readonly #read: () => string;
  readonly #secrets: Secrets;
  #mask: KeyMask;

  /** @param secrets the keys of all accounts, which are hidden too */
  constructor(read: () => string, secrets = new Secrets()) {
    this.#read = read;
    this.#secrets = secrets;
    this.#mask = new KeyMask('', secrets);
  }

  /** The current key, with the mask that hides it. Throws a CallFailure when it cannot be read or sent. */
  current(): KeyMask {
    const key = readKey(this.#read);
    if (key !== this.#mask.key) this.#mask = new KeyMask(key, this.#secrets);
    return this.#mask;
  }

  /** The key that was read last, for comparison; empty before the first call. */
  get last(): string {
    return this.#mask.key;
  }

  /** Hides the keys in a text. */
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
