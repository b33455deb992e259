import { createHmac, randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import pLimit, { type LimitFunction } from 'p-limit';

/** A hash that belongs to no password, for comparisons with unknown users; the cost is put in front of it. */
const FAKE_HASH = 'ltFD16TwbmkJiBVLRzXJxengmroSd7g5ck8B7KcjBPzoE0Oyhy0fi';
const MAX_REMEMBERED = 100;

/** Passwords that are compared at the same time: each takes a processor for a while. */
const COMPARED_AT_ONCE = 2;

/** Compares a password with a bcrypt hash. Every refusal takes as long as one of a hash of `cost`. */
export type Compare = (password: string, hash: string, cost: number) => Promise<boolean>;

/** See scripts/build.ts. */
const WORKER = new URL('./passwordWorker.js', import.meta.url);

/** Compares passwords in threads, so that scrapes are answered meanwhile; idle ones are reused, and keep no process alive. */
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
  /** Verdicts are kept under a digest with a key of this process, so that memory holds no password. */
  readonly #keys = { right: new Set<string>(), wrong: new Set<string>() };
  readonly #digestKey = randomBytes(32);
  readonly #compare: Compare;
  readonly #comparing = pLimit(COMPARED_AT_ONCE);
  /** By address: one password of each is compared at a time, so that a flood from one address does not delay the others. */
  readonly #byAddress = new Map<string, LimitFunction>();

  constructor(compare: Compare) {
    this.#compare = compare;
  }

  /**
   * `none`: no password was given, or the client at this address has left before its turn (`gone`). `users` has bcrypt hashes by
   * user name.
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
    const parts = JSON.stringify([given.user, hash, given.password]);
    const key = createHmac('sha256', this.#digestKey).update(parts).digest('base64');
    const remembered = this.#remembered(key);
    if (remembered !== undefined) return remembered;
    const compared = async (): Promise<'right' | 'wrong' | 'none'> => {
      // Another client may have sent the same meanwhile.
      const found = this.#remembered(key);
      if (found !== undefined || gone.aborted) return found ?? 'none';
      const matches = await this.#compare(given.password, hash, cost);
      const verdict = matches && known !== undefined ? 'right' : 'wrong';
      this.#remember(verdict, key);
      return verdict;
    };
    const ofAddress = this.#byAddress.get(address) ?? pLimit(1);
    this.#byAddress.set(address, ofAddress);
    try {
      return await ofAddress(() => this.#comparing(compared));
    } finally {
      if (ofAddress.activeCount + ofAddress.pendingCount === 0) this.#byAddress.delete(address);
    }
  }

  #remembered(key: string): 'right' | 'wrong' | undefined {
    const verdict = (['right', 'wrong'] as const).find((one) => this.#keys[one].has(key));
    if (verdict !== undefined) this.#remember(verdict, key);
    return verdict;
  }

  #remember(verdict: 'right' | 'wrong', key: string): void {
    const keys = this.#keys[verdict];
    keys.delete(key);
    keys.add(key);
    const [oldest] = keys;
    if (keys.size > MAX_REMEMBERED && oldest !== undefined) keys.delete(oldest);
  }
}
