import { createHmac, randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';

/** A hash that belongs to no password, for comparisons with unknown users; the cost is put in front of it. */
const FAKE_HASH = 'ltFD16TwbmkJiBVLRzXJxengmroSd7g5ck8B7KcjBPzoE0Oyhy0fi';
const MAX_REMEMBERED = 100;
const MAX_TURNED_AWAY = 20_000;
const MAX_ADDRESSES = 1_000;

/** Passwords that are compared at the same time: each takes a processor for a while. */
const COMPARED_AT_ONCE = 2;

/** Passwords that may wait at once, those of all clients together. */
const MAX_WAITING = 256;

/** Compares a password with a bcrypt hash. Every refusal takes as long as one of a hash of `cost`. */
export type Compare = (password: string, hash: string, cost: number) => Promise<boolean>;

/** The worker's file beside the built program: see scripts/build.ts. */
const WORKER = new URL('./passwordWorker.js', import.meta.url);

/**
 * Compares passwords in threads, so that scrapes are answered meanwhile. A thread compares one password at a time, is reused,
 * and never keeps the process alive.
 *
 * @param file the program of a thread
 */
export function compareInWorkers(file: URL = WORKER): Compare {
  const idle = new Set<Worker>();
  const start = (): Worker => {
    const worker = new Worker(file);
    worker.unref();
    for (const event of ['error', 'exit']) worker.on(event, () => idle.delete(worker));
    return worker;
  };
  return async (...comparison) => {
    const [worker = start()] = idle;
    idle.delete(worker);
    return await new Promise((resolve, reject) => {
      const end = (): void => reject(new Error('the thread that compares passwords has ended'));
      worker.once('error', reject).once('exit', end);
      worker.once('message', (matches: boolean) => {
        worker.off('error', reject).off('exit', end);
        idle.add(worker);
        resolve(matches);
      });
      worker.postMessage(comparison);
    });
  };
}

/** Reads an `Authorization: Basic` header; undefined when it is something else or malformed. */
export function readBasicCredentials(
  header: string | undefined,
): { readonly user: string; readonly password: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  return colon < 0 ? undefined : { user: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

/**
 * Checks basic authentication. A refusal takes as long as the most expensive hash of the file, so that the time does not reveal
 * which users exist. Right and wrong verdicts are remembered apart: no flood of wrong ones pushes out a right one.
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

  /**
   * `none`: no password was given; `busy`: too many passwords wait, or the client has left.
   *
   * @param users bcrypt hashes by user name
   * @param gone aborted when the client has left: its password is not compared
   * @param address of the client; addresses take turns
   */
  async judge(
    users: ReadonlyMap<string, string>,
    header: string | undefined,
    gone: AbortSignal,
    address: string,
  ): Promise<'right' | 'wrong' | 'none' | 'busy'> {
    if (header === undefined) return 'none';
    const given = readBasicCredentials(header);
    if (given === undefined) return 'wrong';
    const cost = Math.max(...Array.from(users.values(), (hash) => Number(hash.split('$', 3)[2])));
    const known = users.get(given.user);
    const hash = known ?? `$2b$${String(cost).padStart(2, '0')}$${FAKE_HASH}`;
    const key = this.#digest(given.user, hash, given.password);
    if (this.#right.has(key)) return 'right';
    if (this.#wrong.has(key)) return 'wrong';
    const matches = await this.#queue.compare({ key, password: given.password, hash, cost, gone, address });
    if (matches === undefined) return 'busy';
    const verdict = matches && known !== undefined ? 'right' : 'wrong';
    (verdict === 'right' ? this.#right : this.#wrong).add(key);
    return verdict;
  }

  #digest(...parts: readonly string[]): string {
    return createHmac('sha256', this.#digestKey).update(JSON.stringify(parts)).digest('base64');
  }
}

/** The keys that were used last. */
class Remembered {
  readonly #max: number;
  readonly #keys = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  /** True if the key is among them; it then counts as used now. */
  has(key: string): boolean {
    if (!this.#keys.delete(key)) return false;
    this.#keys.add(key);
    return true;
  }

  /** The keys, the one that was used last at the end. */
  inOrder(): string[] {
    return [...this.#keys];
  }

  add(key: string): void {
    this.#keys.delete(key);
    this.#keys.add(key);
    const [oldest] = this.#keys;
    if (this.#keys.size > this.#max && oldest !== undefined) this.#keys.delete(oldest);
  }
}

interface Waiting {
  /** Equal for the same user, password and hash: one comparison serves all clients that wait for it. */
  readonly key: string;
  readonly password: string;
  readonly hash: string;
  readonly cost: number;
  readonly gone: AbortSignal;
  readonly address: string;
  readonly settle: (matches: boolean | undefined | Promise<boolean>) => void;
}

/**
 * Compares few passwords at a time, because each comparison takes a processor for a while. The address whose turn was longest
 * ago goes first, so that a flood from one address does not delay the others. Within an address the newest password goes first,
 * because the client of an old one may soon give up. A password is turned away (status 429) when too many wait and it is
 * the last of the address with the most of them, or when its client leaves. If it comes again, it goes before the others of its
 * address: a right one then gets through a flood from its own address, because attackers rarely guess the same one twice.
 */
class ComparisonQueue {
  readonly #compare: Compare;
  /** Second tries, then first ones; of each the newest first. */
  readonly #waiting: Waiting[] = [];
  readonly #turnedAway = new Remembered(MAX_TURNED_AWAY);
  readonly #served = new Remembered(MAX_ADDRESSES);
  #running = 0;

  constructor(compare: Compare) {
    this.#compare = compare;
  }

  /** True if the password belongs to the hash; undefined if it was turned away. */
  async compare(comparison: Omit<Waiting, 'settle'>): Promise<boolean | undefined> {
    const { key, gone } = comparison;
    if (gone.aborted) return undefined;
    return await new Promise((settle) => {
      const waiting = { ...comparison, settle };
      const before = this.#turnedAway.has(key) ? [] : this.#waiting.filter((other) => this.#turnedAway.has(other.key));
      this.#waiting.splice(before.length, 0, waiting);
      gone.addEventListener('abort', () => this.#turnAway(waiting), { once: true });
      if (this.#waiting.length > MAX_WAITING) this.#turnAway(this.#leastWanted() ?? waiting);
      if (this.#running < COMPARED_AT_ONCE) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running += 1;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { key, password, hash, cost, settle } = next;
      const comparison = this.#compare(password, hash, cost);
      await comparison.catch(() => undefined);
      settle(comparison);
      for (const same of this.#waiting.filter((waiting) => waiting.key === key)) {
        this.#waiting.splice(this.#waiting.indexOf(same), 1);
        same.settle(comparison);
      }
    }
    this.#running -= 1;
  }

  /** Removes and returns the password whose turn it is. */
  #next(): Waiting | undefined {
    const turns = new Map(this.#served.inOrder().map((address, index) => [address, index]));
    const turnOf = ({ address }: Waiting): number => turns.get(address) ?? -1;
    const [next] = this.#waiting.toSorted((a, b) => turnOf(a) - turnOf(b));
    if (next === undefined) return undefined;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#served.add(next.address);
    return next;
  }

  #leastWanted(): Waiting | undefined {
    const counts = new Map<string, number>();
    for (const { address } of this.#waiting) counts.set(address, (counts.get(address) ?? 0) + 1);
    const largest = Math.max(...counts.values());
    return this.#waiting.findLast(({ address }) => counts.get(address) === largest);
  }

  #turnAway(waiting: Waiting): void {
    const index = this.#waiting.indexOf(waiting);
    if (index < 0) return;
    this.#waiting.splice(index, 1);
    this.#turnedAway.add(waiting.key);
    waiting.settle(undefined);
  }
}
