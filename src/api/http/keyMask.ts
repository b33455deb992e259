import { Secrets } from '../../log/secrets.ts';
import { CallFailure } from './callFailure.ts';

/** What stands in the place of a key. */
export const HIDDEN = '<secret>';
/** A body is only touched for a key that cannot be an ordinary word of it. */
const SHORTEST_IN_BODY = 16;
/** Letters, digits and marks that JSON need not escape. */
const NEEDLESS_ESCAPE = /\\u00[2-7]/;

/** Hides one API key in texts, and every run of 12 of its characters, however they are spelt. */
export class KeyMask {
  readonly key: string;
  readonly #secrets = new Secrets();

  constructor(key: string) {
    this.key = key;
    this.#secrets.add(key);
  }

  /** For messages. Keys of under four characters are not hidden, they would turn up everywhere. */
  hide(text: string): string {
    return this.#secrets.mask(text);
  }

  /** For a body before it is parsed, so that an echoed key, or a part of it, cannot become a label. */
  hideInBody(text: string): string {
    if (this.key.length < SHORTEST_IN_BODY) return text;
    return this.#secrets.holdsRun(text) || NEEDLESS_ESCAPE.test(text) ? this.hide(text) : text;
  }
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
