import type { Clock } from '../../../src/eventLoop/clock.ts';

interface Timer {
  readonly fireAt: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Start of the monotonic clock, far from the wall clock, so that tests notice a mix-up. */
const BEGINNING = 7_000;

/** A clock that stands still until a test advances it. Timers fire in order, each at its own time. */
export class VirtualClock implements Clock {
  /** The time of the monotonic clock. */
  #now = BEGINNING;
  /** The time by which the wall clock is ahead of the monotonic clock. */
  #ahead: number;
  #order = 0;
  readonly #timers = new Set<Timer>();

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#ahead = now - BEGINNING;
  }

  now(): number {
    return this.#now + this.#ahead;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    this.#order += 1;
    const timer = { fireAt: this.#now + Math.max(0, ms), order: this.#order, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Sets the wall clock like an administrator; no timer fires. */
  set(now: number): void {
    this.#ahead = now - this.#now;
  }

  /** Moves the wall clock by `ms`, forward or back. */
  step(ms: number): void {
    this.#ahead += ms;
  }

  /** Advances by `ms` and fires the timers on the way. The work of a timer settles before the next timer fires. */
  async advance(ms: number): Promise<void> {
    await this.#until(this.#now + ms);
  }

  /** Advances until the wall clock shows `time`, in Unix milliseconds. Nothing may set the clock meanwhile. */
  async until(time: number): Promise<void> {
    await this.#until(time - this.#ahead);
  }

  /** Advances until the promise settles, at most by `limit` ms. */
  async run<T>(promise: Promise<T>, limit = 3_600_000): Promise<T> {
    const state = { done: false };
    const finish = (): void => void (state.done = true);
    void promise.then(finish, finish);
    await this.#fire(this.#now + limit, () => state.done);
    if (!state.done) throw new Error(`not settled after ${limit} ms`);
    return promise;
  }

  async #until(time: number): Promise<void> {
    await this.#fire(time, () => false);
    this.#now = Math.max(this.#now, time);
  }

  async #fire(limit: number, isOver: () => boolean): Promise<void> {
    await settled();
    for (let next = this.#next(limit); next !== undefined && !isOver(); next = this.#next(limit)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.fireAt);
      next.callback();
      await settled();
    }
  }

  #next(limit: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.fireAt > limit) continue;
      if (
        first === undefined ||
        timer.fireAt < first.fireAt ||
        (timer.fireAt === first.fireAt && timer.order < first.order)
      ) {
        first = timer;
      }
    }
    return first;
  }
}

/** Number of consecutive idle turns of the event loop after which all work counts as settled. */
const QUIET_TURNS = 3;

/** Number of turns after which work that has not settled counts as endless. */
const MAX_TURNS = 100_000;

/** Number of the awaited turns that `settled` itself causes. */
let asking = 0;

/** Waits until every promise has settled that can, also in work in slices. */
export async function settled(): Promise<void> {
  let quiet = 0;
  for (let turn = 0; quiet < QUIET_TURNS; turn += 1) {
    if (turn === MAX_TURNS) throw new Error(`work goes on after ${MAX_TURNS} turns of the event loop`);
    asking += 1;
    await new Promise((resolve) => setImmediate(resolve));
    asking -= 1;
    const waiting = process.getActiveResourcesInfo().filter((resource) => resource === 'Immediate').length;
    quiet = waiting > asking ? 0 : quiet + 1;
  }
}
