import { createHmac, randomBytes } from 'node:crypto';
import bcrypt from 'bcryptjs';

/** Compared with when the user is unknown, so that the time an answer takes does not tell which users exist. */
const HASH_OF_NOBODY = '$2b$10$ltFD16TwbmkJiBVLRzXJxengmroSd7g5ck8B7KcjBPzoE0Oyhy0fi';
const MAX_VERDICTS = 100;

interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** Reads an `Authorization: Basic` header; undefined when it is something else or malformed. */
export function readBasicCredentials(header: string | undefined): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  return colon < 0 ? undefined : { user: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

/**
 * Checks basic authentication against bcrypt hashes, as the Prometheus exporter toolkit does: an unknown user costs
 * one comparison too, comparisons run one after the other, and the last 100 verdicts are remembered.
 */
export class BasicAuthenticator {
  readonly #verdicts = new Map<string, boolean>();
  /** Verdicts are keyed by a digest under a key of this process, so that memory holds no password. */
  readonly #digestKey = randomBytes(32);
  readonly #compare: (password: string, hash: string) => Promise<boolean>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(compare: (password: string, hash: string) => Promise<boolean> = (p, h) => bcrypt.compare(p, h)) {
    this.#compare = compare;
  }

  /** True when the header names one of `users` (name to bcrypt hash) with its password. */
  async allows(users: ReadonlyMap<string, string>, header: string | undefined): Promise<boolean> {
    const given = readBasicCredentials(header);
    if (given === undefined) return false;
    const hash = users.get(given.user);
    const key = this.#digest(given, hash ?? HASH_OF_NOBODY);
    return this.#known(key) ?? (await this.#inTurn(() => this.#judge(key, given.password, hash)));
  }

  #known(key: string): boolean | undefined {
    const verdict = this.#verdicts.get(key);
    if (verdict === undefined) return undefined;
    this.#verdicts.delete(key);
    this.#verdicts.set(key, verdict);
    return verdict;
  }

  async #judge(key: string, password: string, hash: string | undefined): Promise<boolean> {
    const known = this.#known(key);
    if (known !== undefined) return known;
    const matches = await this.#compare(password, hash ?? HASH_OF_NOBODY);
    const verdict = matches && hash !== undefined;
    this.#verdicts.set(key, verdict);
    const oldest = this.#verdicts.keys().next().value;
    if (this.#verdicts.size > MAX_VERDICTS && oldest !== undefined) this.#verdicts.delete(oldest);
    return verdict;
  }

  /** Comparisons are long: one at a time leaves the rest of the process its turn. */
  #inTurn(work: () => Promise<boolean>): Promise<boolean> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #digest({ user, password }: Credentials, hash: string): string {
    const parts = JSON.stringify([user, hash, password]);
    return createHmac('sha256', this.#digestKey).update(parts).digest('base64');
  }
}
