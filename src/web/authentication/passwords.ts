import { createHmac, randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';

/** Hash for unknown users: their refusal takes as long, so that timing reveals no user names. */
const FAKE_HASH = '$2b$10$ltFD16TwbmkJiBVLRzXJxengmroSd7g5ck8B7KcjBPzoE0Oyhy0fi';

const MAX_REMEMBERED = 100;
/** Limit of passwords that wait for a comparison. */
const MAX_WAITING = 16;

/** Compares a password with a bcrypt hash. The caller waits for the result before the next call. */
export type Compare = (password: string, hash: string) => Promise<boolean>;

/** See scripts/build.ts. */
const WORKER = new URL('./passwordWorker.js', import.meta.url);

/** Compares passwords in a worker thread, so that scrapes do not wait. The thread does not keep the process alive. */
export function compareInWorker(file: URL = WORKER): Compare {
  let worker: Worker | undefined;
  const start = (): Worker => {
    const started = new Worker(file);
    started.unref();
    for (const event of ['error', 'exit']) started.on(event, () => (worker = undefined));
    return started;
  };
  return async (...comparison) => {
    const thread = (worker ??= start());
    return await new Promise((resolve, reject) => {
      const end = (): void => reject(new Error('the thread that compares passwords has ended'));
      thread.once('error', reject).once('exit', end);
      thread.once('message', (matches: boolean) => {
        thread.off('error', reject).off('exit', end);
        resolve(matches);
      });
      thread.postMessage(comparison);
    });
  };
}

/** Reads an `Authorization: Basic` header. Returns undefined for another scheme or a malformed header. */
export function readBasicCredentials(header: string) {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  return colon < 0 ? undefined : { user: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

/** `none`: the request has no password. `busy`: too many passwords wait, so this password was not compared. */
export type Verdict = 'right' | 'wrong' | 'none' | 'busy';

/** Checks basic authentication. Caches right passwords. Compares one password at a time, and equal ones once. */
export class BasicAuthenticator {
  /** Digests of right credentials, the oldest first. The key is random, so that memory holds no password. */
  readonly #accepted = new Set<string>();
  readonly #digestKey = randomBytes(32);
  readonly #compare: Compare;
  /** Comparisons by digest, with the client that started each. The oldest runs; the rest wait. */
  readonly #comparisons = new Map<string, { readonly client: string; readonly matches: Promise<boolean> }>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(compare: Compare) {
    this.#compare = compare;
  }

  /** Checks the `Authorization` header of a client. `users` maps user names to bcrypt hashes. */
  async judge(users: ReadonlyMap<string, string>, header: string | undefined, address: string): Promise<Verdict> {
    if (header === undefined) return 'none';
    const credentials = readBasicCredentials(header);
    if (credentials === undefined) return 'wrong';
    const { user, password } = credentials;
    const known = users.get(user);
    const hash = known ?? FAKE_HASH;
    const parts = JSON.stringify([user, hash, password]);
    const digest = createHmac('sha256', this.#digestKey).update(parts).digest('base64');
    if (this.#accepted.has(digest)) return this.#accept(digest);
    // All unknown users of an address count as one client, so invented names gain nothing.
    const client = JSON.stringify([address, known === undefined ? '' : user]);
    const comparison = this.#comparisons.get(digest) ?? this.#begin(digest, client, password, hash);
    if (comparison === undefined) return 'busy';
    if (!(await comparison.matches) || known === undefined) return 'wrong';
    return this.#accept(digest);
  }

  /** Queues a comparison. Returns undefined if too many wait, or if this client waits already. */
  #begin(digest: string, client: string, password: string, hash: string) {
    const [, ...waiting] = this.#comparisons.values();
    if (waiting.length >= MAX_WAITING || waiting.some((comparison) => comparison.client === client)) return undefined;
    const matches = this.#last
      .then(() => this.#compare(password, hash))
      .finally(() => this.#comparisons.delete(digest));
    this.#last = matches.catch(() => undefined);
    const comparison = { client, matches };
    this.#comparisons.set(digest, comparison);
    return comparison;
  }

  #accept(digest: string): 'right' {
    this.#accepted.delete(digest);
    this.#accepted.add(digest);
    const [oldest = ''] = this.#accepted;
    if (this.#accepted.size > MAX_REMEMBERED) this.#accepted.delete(oldest);
    return 'right';
  }
}
