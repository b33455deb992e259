import { unlessGone } from './clientGone.ts';

interface Work<T> {
  readonly result: Promise<T>;
  readonly begin: () => void;
  readonly abandoned: AbortController;
  /** How many clients wait. */
  clients: number;
}

/**
 * Deduplicates expensive work: requests for one key share a result until its making begins, because it may then be too old for
 * them. Works are done one at a time, the one that was asked for last first. A work ends early once every client that waits for it
 * has left.
 */
export class SharedWork<T> {
  /** Works that have not begun, by key. The key that was requested last comes last. */
  readonly #waiting = new Map<string, Work<T>>();
  #isBusy = false;

  /**
   * Work for one client; rejects as soon as it has left (`gone`). `make` does it in slices, and stops
   * when its signal is aborted.
   */
  async of(key: string, gone: AbortSignal, make: (abandoned: AbortSignal) => Promise<T>): Promise<T> {
    const work = this.#waiting.get(key) ?? prepare(make);
    this.#waiting.delete(key);
    this.#waiting.set(key, work);
    work.clients += 1;
    void this.#doAll();
    try {
      return await unlessGone(work.result, gone);
    } finally {
      work.clients -= 1;
      if (work.clients === 0) {
        if (this.#waiting.get(key) === work) this.#waiting.delete(key);
        work.abandoned.abort();
      }
    }
  }

  async #doAll(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let [next] = [...this.#waiting].reverse(); next !== undefined; [next] = [...this.#waiting].reverse()) {
      const [key, work] = next;
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
