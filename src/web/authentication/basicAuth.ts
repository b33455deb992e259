import { createHmac, randomBytes } from 'node:crypto';
import { ComparisonQueue, type Compare } from './comparisonQueue.ts';

/** Compared with when the user is unknown, so that the time an answer takes does not tell which users exist. */
const HASH_OF_NOBODY = '$2b$10$ltFD16TwbmkJiBVLRzXJxengmroSd7g5ck8B7KcjBPzoE0Oyhy0fi';
const MAX_REMEMBERED = 100;

interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** Who asks: turns at comparing are shared out by `address`, and nothing is compared for who has `gone`. */
export interface Asker {
  readonly address: string;
  readonly gone: AbortSignal;
}

/** `busy`: too many passwords wait to be compared. */
export type Verdict = 'right' | 'wrong' | 'busy';

/** Reads an `Authorization: Basic` header; undefined when it is something else or malformed. */
export function readBasicCredentials(header: string | undefined): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  return colon < 0 ? undefined : { user: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

/**
 * Checks basic authentication against bcrypt hashes, as the Prometheus exporter toolkit does: an unknown user costs one
 * comparison too, and the last verdicts are remembered. Right ones are remembered apart from wrong ones, so that no
 * number of wrong passwords makes a right one be compared again.
 */
export class BasicAuthenticator {
  readonly #right = new Remembered(MAX_REMEMBERED);
  readonly #wrong = new Remembered(MAX_REMEMBERED);
  /** Verdicts are kept under a digest with a key of this process, so that memory holds no password. */
  readonly #digestKey = randomBytes(32);
  readonly #queue: ComparisonQueue;

  constructor(compare: Compare) {
    this.#queue = new ComparisonQueue(compare);
  }

  /** `right` when the header names one of `users` (name to bcrypt hash) with its password. */
  async judge(users: ReadonlyMap<string, string>, header: string | undefined, asker: Asker): Promise<Verdict> {
    const given = readBasicCredentials(header);
    if (given === undefined) return 'wrong';
    const known = users.get(given.user);
    const hash = known ?? HASH_OF_NOBODY;
    const key = this.#digest(given, hash);
    if (this.#right.has(key)) return 'right';
    if (this.#wrong.has(key)) return 'wrong';
    const matches = await this.#queue.compare({ key, password: given.password, hash, ...asker });
    if (matches === undefined) return 'busy';
    const verdict = matches && known !== undefined ? 'right' : 'wrong';
    (verdict === 'right' ? this.#right : this.#wrong).add(key);
    return verdict;
  }

  #digest({ user, password }: Credentials, hash: string): string {
    const parts = JSON.stringify([user, hash, password]);
    return createHmac('sha256', this.#digestKey).update(parts).digest('base64');
  }
}

/** The last keys that were used. */
class Remembered {
  readonly #max: number;
  readonly #keys = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  has(key: string): boolean {
    if (!this.#keys.delete(key)) return false;
    this.#keys.add(key);
    return true;
  }

  add(key: string): void {
    this.#keys.add(key);
    const oldest = this.#keys.values().next().value;
    if (this.#keys.size > this.#max && oldest !== undefined) this.#keys.delete(oldest);
  }
}
