import { type Arrived, unlessGone } from './clientGone.ts';

interface Work<T> {
  readonly result: Promise<T>;
  readonly begin: () => void;
  readonly abandon: () => void;
  /** How many clients wait. */
  waiting: number;
  /** The highest number of these clients. */
  newest: number;
}

/**
 * Deduplicates expensive work: concurrent requests for one key share a result, and different keys run one at a time. The client
 * that arrived last is served next, of equal numbers the first to ask. Work ends early once every client that waits for it has left.
 */
export class SharedWork<T> {
  /** By key, from the first request until the work begins, or its result is there. */
  readonly #works = new Map<string, Work<T>>();
  /** What has not begun. */
  readonly #queue = new Set<Work<T>>();
  readonly #joinUntil: 'begin' | 'end';
  #isBusy = false;

  /** @param joinUntil `begin` where the result of work that has begun may be too old for a request that arrives now */
  constructor(joinUntil: 'begin' | 'end') {
    this.#joinUntil = joinUntil;
  }

  /** True if a request for this key can still join work. */
  has(key: string): boolean {
    return this.#works.has(key);
  }

  /**
   * Work for one client; rejects with a {@link ClientGoneError} as soon as it has left. Requests of one `key` can share it. `make`
   * does it in slices, and stops when its signal is aborted.
   */
  async of(key: string, { arrival, gone }: Arrived, make: (abandoned: AbortSignal) => Promise<T>): Promise<T> {
    const work = this.#works.get(key) ?? this.#add(key, make);
    work.waiting += 1;
    work.newest = Math.max(work.newest, arrival);
    if (!this.#isBusy) this.#beginNext();
    try {
      return await unlessGone(work.result, gone);
    } finally {
      work.waiting -= 1;
      if (work.waiting === 0) work.abandon();
    }
  }

  #add(key: string, make: (abandoned: AbortSignal) => Promise<T>): Work<T> {
    const abandoned = new AbortController();
    let begin = (): void => undefined;
    const turn = new Promise<void>((resolve) => (begin = resolve));
    const forget = (): void => {
      if (this.#works.get(key) === work) this.#works.delete(key);
    };
    const result = turn.then(() => {
      abandoned.signal.throwIfAborted();
      if (this.#joinUntil === 'begin') forget();
      return make(abandoned.signal);
    });
    const end = (): void => {
      forget();
      this.#isBusy = false;
      this.#beginNext();
    };
    result.then(end, end);
    const abandon = (): void => {
      forget();
      this.#queue.delete(work);
      abandoned.abort();
    };
    const work: Work<T> = { result, begin, abandon, waiting: 0, newest: 0 };
    this.#works.set(key, work);
    this.#queue.add(work);
    return work;
  }

  #beginNext(): void {
    const [next] = [...this.#queue].sort((a, b) => b.newest - a.newest);
    if (next === undefined) return;
    this.#queue.delete(next);
    this.#isBusy = true;
    next.begin();
  }
}
