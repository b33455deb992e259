import { createHmac, randomBytes } from 'node:crypto';

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
type Verdict = 'right' | 'wrong' | 'busy';

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

/** Whether a password belongs to a bcrypt hash. */
export type Compare = (password: string, hash: string) => Promise<boolean>;

/** Passwords that may wait at once, those of all clients together. */
const MAX_WAITING = 64;

interface Comparison {
  /** The same for the same user, password and hash: they are compared once for all who ask at the same time. */
  readonly key: string;
  readonly password: string;
  readonly hash: string;
  /** Address of the client; each address gets its turn. */
  readonly address: string;
  /** Aborted when the client has gone: it waits no longer. */
  readonly gone: AbortSignal;
}

interface Waiting extends Comparison {
  readonly settle: (matches: boolean | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Compares passwords one at a time, because each takes a processor for a while. Addresses take turns, and of one address
 * the newest goes first: a flood delays itself, not the one right password among it. Where too many wait, the oldest of
 * the address that has most is turned away.
 */
class ComparisonQueue {
  readonly #compare: Compare;
  /** The next address to have its turn comes first; within an address the oldest. */
  readonly #waiting = new Map<string, Waiting[]>();
  #running = false;

  constructor(compare: Compare) {
    this.#compare = compare;
  }

  /** Whether the password belongs to the hash; undefined where it was turned away or the client has gone. */
  async compare(comparison: Comparison): Promise<boolean | undefined> {
    if (comparison.gone.aborted) return undefined;
    return await new Promise((resolve, reject) => {
      const leave = () => {
        this.#remove(waiting);
        waiting.settle(undefined);
      };
      const end = () => comparison.gone.removeEventListener('abort', leave);
      const waiting: Waiting = {
        ...comparison,
        settle: (matches) => {
          end();
          resolve(matches);
        },
        fail: (error) => {
          end();
          reject(error instanceof Error ? error : new Error('the comparison failed', { cause: error }));
        },
      };
      comparison.gone.addEventListener('abort', leave, { once: true });
      this.#add(waiting);
      if (!this.#running) void this.#run();
    });
  }

  #add(waiting: Waiting): void {
    const before = this.#waiting.get(waiting.address);
    if (before === undefined) this.#waiting.set(waiting.address, [waiting]);
    else before.push(waiting);
    const all = [...this.#waiting.values()];
    if (all.reduce((sum, { length }) => sum + length, 0) <= MAX_WAITING) return;
    const [oldest] = all.reduce((longest, next) => (next.length > longest.length ? next : longest));
    if (oldest === undefined) return;
    this.#remove(oldest);
    oldest.settle(undefined);
  }

  #remove(waiting: Waiting): void {
    const others = this.#waiting.get(waiting.address)?.filter((other) => other !== waiting) ?? [];
    if (others.length > 0) this.#waiting.set(waiting.address, others);
    else this.#waiting.delete(waiting.address);
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { key, password, hash } = next;
      const outcome = await this.#compare(password, hash).then(
        (matches) => (waiting: Waiting) => waiting.settle(matches),
        (error: unknown) => (waiting: Waiting) => waiting.fail(error),
      );
      const same = [...this.#waiting.values()].flat().filter((waiting) => waiting.key === key);
      same.forEach((waiting) => this.#remove(waiting));
      [next, ...same].forEach(outcome);
    }
    this.#running = false;
  }

  /** Takes the newest of the first address, and puts that address last. */
  #next(): Waiting | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [address, waiting] = first;
    this.#waiting.delete(address);
    const next = waiting.at(-1);
    if (waiting.length > 1) this.#waiting.set(address, waiting.slice(0, -1));
    return next;
  }
}
