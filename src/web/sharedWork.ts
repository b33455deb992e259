import { awaitUnlessGone } from './clientGone.ts';

interface Work<T> {
  readonly result: Promise<T>;
  readonly begin: () => void;
  readonly abandoned: AbortController;
  /** The number of waiting clients. */
  clients: number;
}

/**
 * Deduplicates expensive renders: concurrent requests for one key share a result. A request that comes after the render
 * began gets a new render, because the first may be too old for it. Runs one render at a time, the most recently
 * requested first, so that a scraper does not wait for the selections of clients that read nothing.
 */
export class SharedWork<T> {
  /** Renders that have not begun, by key. The most recently requested key comes last. */
  readonly #waiting = new Map<string, Work<T>>();
  #isBusy = false;

  /** Rejects when this client disconnects (`gone`). Aborts the signal of `make` when all clients have disconnected. */
  async share(key: string, gone: AbortSignal, make: (abandoned: AbortSignal) => Promise<T>): Promise<T> {
    const work = this.#waiting.get(key) ?? prepare(make);
    this.#waiting.delete(key);
    this.#waiting.set(key, work);
    work.clients += 1;
    void this.#runAll();
    try {
      return await awaitUnlessGone(work.result, gone);
    } finally {
      work.clients -= 1;
      if (work.clients === 0) {
        if (this.#waiting.get(key) === work) this.#waiting.delete(key);
        work.abandoned.abort();
      }
    }
  }

  async #runAll(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (;;) {
      const latest = [...this.#waiting].at(-1);
      if (latest === undefined) break;
      const [key, work] = latest;
      this.#waiting.delete(key);
      work.begin();
      await work.result.catch(() => undefined);
    }
    this.#isBusy = false;
  }
}

function prepare<T>(make: (abandoned: AbortSignal) => Promise<T>): Work<T> {
  const abandoned = new AbortController();
  let begin = (): void => undefined;
  const turn = new Promise<void>((resolve) => (begin = resolve));
  return { result: turn.then(() => make(abandoned.signal)), begin, abandoned, clients: 0 };
}
