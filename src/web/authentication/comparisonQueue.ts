/** Whether a password belongs to a bcrypt hash. */
export type Compare = (password: string, hash: string) => Promise<boolean>;

/** Passwords that may wait at once, those of all clients together. */
const MAX_WAITING = 64;

export interface Comparison {
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
export class ComparisonQueue {
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
