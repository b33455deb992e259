import type { Clock } from '../../../src/collect/clock.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock that stands still until it is told to go on; timers fire in order, each at its own time. */
export class VirtualClock implements Clock {
  #now: number;
  #order = 0;
  readonly #timers = new Set<Timer>();

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    this.#order += 1;
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Sets the clock without anything firing, as an administrator would. */
  set(now: number): void {
    this.#now = now;
  }

  /** Goes on by `ms`, firing what is due on the way; what follows from each firing is settled before the next. */
  async advance(ms: number): Promise<void> {
    await this.until(this.#now + ms);
  }

  async until(time: number): Promise<void> {
    await settled();
    for (let next = this.#next(time); next !== undefined; next = this.#next(time)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settled();
    }
    this.#now = Math.max(this.#now, time);
  }

  /** Goes on until the promise settles, at most `limit` ms. */
  async run<T>(promise: Promise<T>, limit = 3_600_000): Promise<T> {
    const deadline = this.#now + limit;
    const state = { done: false };
    const finish = (): void => void (state.done = true);
    void promise.then(finish, finish);
    await settled();
    while (!state.done) {
      const next = this.#next(deadline);
      if (next === undefined) throw new Error(`not settled after ${limit} ms`);
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settled();
    }
    return promise;
  }

  #next(limit: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > limit) continue;
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) {
        first = timer;
      }
    }
    return first;
  }
}

/** Lets every promise that can settle do so. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
