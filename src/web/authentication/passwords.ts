import { createHmac, randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';

/** A hash that belongs to no password, for comparisons with unknown users; the cost is put in front of it. */
const FAKE_HASH = 'ltFD16TwbmkJiBVLRzXJxengmroSd7g5ck8B7KcjBPzoE0Oyhy0fi';
const MAX_REMEMBERED = 100;

/** Passwords that are compared at the same time: each takes a processor for a while. */
const COMPARED_AT_ONCE = 2;

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
  readonly #right = new Set<string>();
  readonly #wrong = new Set<string>();
  /** Verdicts are kept under a digest with a key of this process, so that memory holds no password. */
  readonly #digestKey = randomBytes(32);
  readonly #compare: Compare;
  readonly #turns: Turns;

  /** `random` gives numbers from 0 to below 1. */
  constructor(compare: Compare, random: () => number = Math.random) {
    this.#compare = compare;
    this.#turns = new Turns(random);
  }

  /**
   * `none`: no password was given, or the client has left.
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
  ): Promise<'right' | 'wrong' | 'none'> {
    if (header === undefined) return 'none';
    const given = readBasicCredentials(header);
    if (given === undefined) return 'wrong';
    const cost = Math.max(...Array.from(users.values(), (hash) => Number(hash.split('$', 3)[2])));
    const known = users.get(given.user);
    const hash = known ?? `$2b$${String(cost).padStart(2, '0')}$${FAKE_HASH}`;
    const key = this.#digest(given.user, hash, given.password);
    const remembered = this.#remembered(key);
    if (remembered !== undefined) return remembered;
    if (!(await this.#turns.take(address, gone))) return 'none';
    try {
      // Another client may have sent the same meanwhile.
      const found = this.#remembered(key);
      if (found !== undefined) return found;
      const matches = await this.#compare(given.password, hash, cost);
      const verdict = matches && known !== undefined ? 'right' : 'wrong';
      remember(verdict === 'right' ? this.#right : this.#wrong, key);
      return verdict;
    } finally {
      this.#turns.end();
    }
  }

  #remembered(key: string): 'right' | 'wrong' | undefined {
    for (const [verdict, keys] of [
      ['right', this.#right],
      ['wrong', this.#wrong],
    ] as const) {
      if (!keys.has(key)) continue;
      remember(keys, key);
      return verdict;
    }
    return undefined;
  }

  #digest(...parts: readonly string[]): string {
    return createHmac('sha256', this.#digestKey).update(JSON.stringify(parts)).digest('base64');
  }
}

/** Puts a key at the end of the keys that were used last. */
function remember(keys: Set<string>, key: string): void {
  keys.delete(key);
  keys.add(key);
  const [oldest] = keys;
  if (keys.size > MAX_REMEMBERED && oldest !== undefined) keys.delete(oldest);
}

/**
 * Lets few passwords be compared at a time, because each comparison takes a processor for a while. Addresses take turns, so that a
 * flood from one does not delay the others. Within an address the lot decides: a client that gives up and comes again is not
 * behind a flood each time. As a connection has one request answered at a time, no more passwords wait than there are connections.
 */
class Turns {
  readonly #random: () => number;
  /** What waits, by address; the address whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #free = COMPARED_AT_ONCE;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** True once it is the turn of this client, which `end` must follow; false if it left before. */
  async take(address: string, gone: AbortSignal): Promise<boolean> {
    if (gone.aborted) return false;
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return await new Promise((resolve) => {
      const begin = (): void => resolve(true);
      this.#waiting.set(address, [...(this.#waiting.get(address) ?? []), begin]);
      const leave = (): void => {
        this.#keep(address, this.#waiting.get(address)?.filter((other) => other !== begin) ?? []);
        resolve(false);
      };
      gone.addEventListener('abort', leave, { once: true });
    });
  }

  end(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    const [address, waiting] = next;
    const [begin] = waiting.splice(Math.floor(this.#random() * waiting.length), 1);
    this.#waiting.delete(address);
    this.#keep(address, waiting);
    begin?.();
  }

  #keep(address: string, waiting: (() => void)[]): void {
    if (waiting.length > 0) this.#waiting.set(address, waiting);
    else this.#waiting.delete(address);
  }
}
