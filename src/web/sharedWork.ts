import { unlessGone } from './clientGone.ts';

/**
 * Deduplicates expensive work: concurrent requests for one key share a result, and different keys run one at a time. Work ends
 * early once every client that waits for it has left.
 */
export class SharedWork<T> {
  /** By key, from the first request until the work begins, or its result is there; `waiting` counts clients. */
  readonly #works = new Map<string, { readonly result: Promise<T>; waiting: number; readonly abandon: () => void }>();
  readonly #joinUntil: 'begin' | 'end';
  #last: Promise<void> = Promise.resolve();

  /** @param joinUntil `begin` where the result of work that has begun may be too old for a request that arrives now */
  constructor(joinUntil: 'begin' | 'end') {
    this.#joinUntil = joinUntil;
  }

  /** True if a request for this key can still join work. */
  has(key: string): boolean {
    return this.#works.has(key);
  }

  /**
   * Work for one client; rejects with a {@link ClientGoneError} as soon as it has left (`gone`). Requests of one `key` can share
   * it. `make` does it in slices, and stops when its signal is aborted.
   */
  async of(key: string, gone: AbortSignal, make: (abandoned: AbortSignal) => Promise<T>): Promise<T> {
    const work = this.#works.get(key) ?? this.#add(key, make);
    work.waiting += 1;
    try {
      return await unlessGone(work.result, gone);
    } finally {
      work.waiting -= 1;
      if (work.waiting === 0) work.abandon();
    }
  }

  #add(key: string, make: (abandoned: AbortSignal) => Promise<T>) {
    const abandoned = new AbortController();
    const result = this.#last.then(() => {
      abandoned.signal.throwIfAborted();
      if (this.#joinUntil === 'begin') forget();
      return make(abandoned.signal);
    });
    const forget = (): void => {
      if (this.#works.get(key) === work) this.#works.delete(key);
    };
    const abandon = (): void => {
      forget();
      abandoned.abort();
    };
    const work = { result, waiting: 0, abandon };
    this.#works.set(key, work);
    this.#last = result.then(forget, forget);
    return work;
  }
}
