import { createHmac, randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';

/** A hash that belongs to no password, for comparisons with unknown users; the cost is put in front of it. */
const HASH_OF_NOBODY = 'ltFD16TwbmkJiBVLRzXJxengmroSd7g5ck8B7KcjBPzoE0Oyhy0fi';
const MAX_REMEMBERED = 100;
const MAX_TURNED_AWAY = 20_000;
const MAX_ADDRESSES = 1_000;

/** Passwords that are compared at the same time: each takes a processor for a while. */
const COMPARED_AT_ONCE = 2;

/** Passwords that may wait at once, those of all clients together. */
const MAX_WAITING = 256;

/** A password that has waited while this many others were compared is turned away: the next try of its client goes first. */
const MAX_TURNS = 40;

/** Compares a password with a bcrypt hash. Every refusal takes as long as one of a hash of `cost`. */
export type Compare = (password: string, hash: string, cost: number) => Promise<boolean>;

/** The worker's file beside the built program: see scripts/build.ts. */
const WORKER = new URL('./passwordWorker.js', import.meta.url);

/**
 * Compares each password in a thread of its own, so that scrapes are answered meanwhile; `file` is what a thread runs. Threads
 * are reused, one for each password that is compared at the same time, and never keep the process alive.
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

/** The client whose password is checked. */
export interface Asker {
  /** Turns are shared fairly between addresses. */
  readonly address: string;
  /** Aborted when the client has left: its password is not compared. */
  readonly gone: AbortSignal;
  readonly connection: object;
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

  /** `none`: no password was given; `busy`: too many passwords wait. `users` has bcrypt hashes by user name. */
  async judge(
    users: ReadonlyMap<string, string>,
    header: string | undefined,
    asker: Asker,
  ): Promise<'right' | 'wrong' | 'none' | 'busy'> {
    if (header === undefined) return 'none';
    const given = readBasicCredentials(header);
    if (given === undefined) return 'wrong';
    const cost = Math.max(...Array.from(users.values(), (hash) => Number(hash.split('$', 3)[2])));
    const known = users.get(given.user);
    const hash = known ?? `$2b$${String(cost).padStart(2, '0')}$${HASH_OF_NOBODY}`;
    const key = this.#digest(given.user, hash, given.password);
    if (this.#right.has(key)) return 'right';
    if (this.#wrong.has(key)) return 'wrong';
    const matches = await this.#queue.compare({ key, password: given.password, hash, cost, ...asker });
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

  /** Whether the key is among them; it counts as used now. */
  has(key: string): boolean {
    if (!this.#keys.delete(key)) return false;
    this.#keys.add(key);
    return true;
  }

  knows(key: string): boolean {
    return this.#keys.has(key);
  }

  add(key: string): void {
    this.#keys.add(key);
    const [oldest] = this.#keys;
    if (this.#keys.size > this.#max && oldest !== undefined) this.#keys.delete(oldest);
  }
}

interface Waiting extends Asker {
  /** Equal for the same user, password and hash: one comparison serves all clients that wait for it. */
  readonly key: string;
  readonly password: string;
  readonly hash: string;
  readonly cost: number;
  /** The number of comparisons before it came. */
  readonly since: number;
  readonly settle: (matches: boolean | undefined | Promise<boolean>) => void;
}

/**
 * Compares few passwords at a time, because each takes a processor for a while, and lets a right one through a flood of wrong
 * ones. The order: first a password that was turned away before, because an attacker does not guess the same one twice; then
 * connections without a refused password; then the address that had no turn for longest, and of one address the newest and the
 * oldest alternately. A password is turned away when too many wait, or when it has waited too long.
 */
class ComparisonQueue {
  readonly #compare: Compare;
  readonly #waiting = new Set<Waiting>();
  readonly #turnedAway = new Remembered(MAX_TURNED_AWAY);
  readonly #refusedOn = new WeakSet<object>();
  /** The number of the last turn of each address, the newest last. */
  readonly #lastTurns = new Map<string, number>();
  #turns = 0;
  readonly #running = new Set<string>();

  constructor(compare: Compare) {
    this.#compare = compare;
  }

  /** Whether the password belongs to the hash; undefined where it was turned away or the client has gone. */
  async compare(comparison: Omit<Waiting, 'since' | 'settle'>): Promise<boolean | undefined> {
    const { gone } = comparison;
    if (gone.aborted) return undefined;
    return await new Promise((resolve) => {
      const leave = (): void => {
        if (this.#waiting.delete(waiting)) waiting.settle(undefined);
      };
      const waiting: Waiting = {
        ...comparison,
        since: this.#turns,
        settle: (matches) => {
          gone.removeEventListener('abort', leave);
          resolve(matches);
        },
      };
      gone.addEventListener('abort', leave, { once: true });
      this.#waiting.add(waiting);
      if (this.#waiting.size > MAX_WAITING) this.#turnAway(this.#leastWanted());
      if (this.#running.size < COMPARED_AT_ONCE) void this.#run();
    });
  }

  async #run(): Promise<void> {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { key, password, hash, cost } = next;
      this.#running.add(key);
      const comparison = this.#compare(password, hash, cost);
      const matches = await comparison.catch(() => undefined);
      this.#running.delete(key);
      for (const waiting of [next, ...this.#waiting]) {
        if (waiting.key !== key) continue;
        this.#waiting.delete(waiting);
        if (matches === false) this.#refusedOn.add(waiting.connection);
        waiting.settle(comparison);
      }
    }
  }

  /** Removes and returns the password whose turn it is. */
  #next(): Waiting | undefined {
    for (const waiting of this.#waiting) if (this.#turns - waiting.since > MAX_TURNS) this.#turnAway(waiting);
    const all = [...this.#waiting].filter(({ key }) => !this.#running.has(key));
    const rank = Math.min(...all.map((waiting) => this.#rankOf(waiting)));
    const first = all.filter((waiting) => this.#rankOf(waiting) === rank);
    const [address] = [...new Set(first.map((waiting) => waiting.address))].toSorted(
      (a, b) => (this.#lastTurns.get(a) ?? 0) - (this.#lastTurns.get(b) ?? 0),
    );
    if (address === undefined) return undefined;
    const ofAddress = first.filter((waiting) => waiting.address === address);
    this.#turns += 1;
    const next = ofAddress.at(this.#turns % 2 === 0 ? 0 : -1);
    this.#lastTurns.delete(address);
    this.#lastTurns.set(address, this.#turns);
    const [longestAgo] = this.#lastTurns.keys();
    if (this.#lastTurns.size > MAX_ADDRESSES && longestAgo !== undefined) this.#lastTurns.delete(longestAgo);
    if (next !== undefined) this.#waiting.delete(next);
    return next;
  }

  #rankOf({ key, connection }: Waiting): number {
    if (this.#turnedAway.knows(key)) return 0;
    return this.#refusedOn.has(connection) ? 2 : 1;
  }

  /** The oldest password among the last in order, of the address that has most of them. */
  #leastWanted(): Waiting | undefined {
    const rank = Math.max(...Array.from(this.#waiting, (waiting) => this.#rankOf(waiting)));
    const last = [...this.#waiting].filter((waiting) => this.#rankOf(waiting) === rank);
    const counts = new Map<string, number>();
    for (const { address } of last) counts.set(address, (counts.get(address) ?? 0) + 1);
    const largest = Math.max(...counts.values());
    return last.find(({ address }) => counts.get(address) === largest);
  }

  #turnAway(waiting: Waiting | undefined): void {
    if (waiting === undefined) return;
    this.#waiting.delete(waiting);
    this.#turnedAway.add(waiting.key);
    waiting.settle(undefined);
  }
}
