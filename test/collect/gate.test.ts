import { expect, it } from 'vitest';
import { Budget } from '../../src/collect/schedule/budget.ts';
import type { Clock } from '../../src/collect/schedule/clock.ts';
import { CallGate } from '../../src/collect/schedule/gate.ts';

/** A clock that goes on a little with each reading, as a real one does, and whose timers ring `early` milliseconds too soon. */
class PassingClock implements Clock {
  #time = 1_000;
  #timer: { readonly at: number; readonly callback: () => void } | undefined;
  readonly #early: number;

  constructor(early: number) {
    this.#early = early;
  }

  now(): number {
    return this.#time;
  }

  monotonic(): number {
    this.#time += 0.5;
    return this.#time;
  }

  after(ms: number, callback: () => void): () => void {
    this.#timer = { at: this.#time + ms - this.#early, callback };
    return () => (this.#timer = undefined);
  }

  /** Goes on to the next timer. False when there is none. */
  ring(): boolean {
    if (this.#timer === undefined) return false;
    const { at, callback } = this.#timer;
    this.#timer = undefined;
    this.#time = Math.max(this.#time, at);
    callback();
    return true;
  }
}

it.each([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2])(
  'a call that waits for the end of a pause is let in when the timer rings %f ms early',
  async (early) => {
    const clock = new PassingClock(early);
    const gate = new CallGate(new Budget(10), clock, 1, () => undefined);
    const { signal } = new AbortController();
    const release = await gate.enter(signal);
    release({ waitMs: 5_000 });
    let entered = false;
    void gate.enter(signal).then(() => (entered = true));
    while (clock.ring());
    await Promise.resolve();
    expect({ entered, waiting: gate.waiting }).toEqual({ entered: true, waiting: 0 });
  },
);
