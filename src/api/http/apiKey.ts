import { CallFailure } from './callFailure.ts';
import { KeyMask } from './keyMask.ts';

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
