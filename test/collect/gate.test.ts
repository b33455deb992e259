import { describe, expect, it } from 'vitest';
import { Budget } from '../../src/collect/budget.ts';
import type { Clock } from '../../src/collect/clock.ts';
import { CallGate, PlacesOfKeys, SharedPlaces } from '../../src/collect/limiter.ts';
import { VirtualClock } from './support/virtualClock.ts';

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

const EARLY = [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2];

it.each(EARLY)(
  'work that asks for a place in vain is told of the end of a pause when the timer rings %f ms early',
  async (early) => {
    const clock = new PassingClock(early);
    const state = { started: false };
    const start = (): void => {
      state.started ||= gate.reserve() !== undefined;
      gate.admit();
    };
    const gate = new CallGate(new Budget(10), clock, 1, start);
    const release = await gate.enter(new AbortController().signal);
    release({ waitMs: 5_000 });
    start();
    while (!state.started && clock.ring());
    expect(state.started).toBe(true);
  },
);

it.each(EARLY)('a call that waits for the end of a pause is let in when the timer rings %f ms early', async (early) => {
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
});

function gateOf(places: number) {
  const clock = new VirtualClock();
  const budget = new Budget(100);
  const told = { times: 0 };
  const gate = new CallGate(budget, clock, places, () => void (told.times += 1));
  return { clock, budget, gate, told };
}

const forEver = (): AbortSignal => new AbortController().signal;

describe('a call at the gate', () => {
  it('that was given up before it came is not let in', async () => {
    const { gate, budget } = gateOf(1);
    const givenUp = AbortSignal.abort(new Error('the account was stopped'));
    await expect(gate.enter(givenUp)).rejects.toThrow('the account was stopped');
    expect([gate.waiting, budget.inFlight]).toEqual([0, 0]);
  });

  it('that is given up while it waits ends, and takes neither a place nor the turn of the next', async () => {
    const { gate, budget } = gateOf(1);
    const release = await gate.enter(forEver());
    const controller = new AbortController();
    const givenUp = gate.enter(controller.signal);
    const next = gate.enter(forEver());
    const last = gate.enter(forEver());
    controller.abort(new Error('the account was stopped'));
    expect(gate.waiting).toBe(2);
    await expect(givenUp).rejects.toThrow('the account was stopped');
    release();
    (await next)();
    (await last)();
    expect([gate.waiting, budget.inFlight]).toEqual([0, 0]);
  });

  it('that was let in is not ended by its signal, and gives its place back once', async () => {
    const { gate, budget } = gateOf(2);
    const controller = new AbortController();
    const release = await gate.enter(controller.signal);
    const other = await gate.enter(forEver());
    const waits = gate.enter(forEver());
    controller.abort(new Error('the account was stopped'));
    expect([gate.waiting, budget.inFlight]).toEqual([1, 2]);
    release();
    release();
    (await waits)();
    expect(budget.inFlight).toBe(1);
    other();
    expect(budget.inFlight).toBe(0);
  });
});

describe('the places of keys', () => {
  it('are the same for whatever uses a key, and are forgotten with it', () => {
    const places = new PlacesOfKeys();
    const [a, b] = [places.of('a'), places.of('b')];
    expect(a).not.toBe(b);
    places.keepOnly(new Set(['a']));
    expect(places.of('a')).toBe(a);
    expect(places.of('b')).not.toBe(b);
  });
});

describe('a gate', () => {
  it('that shares places tells its account when another gives one back, until it is closed', () => {
    const shared = new SharedPlaces(1);
    const { gate, told } = gateOf(5);
    gate.share(shared);
    shared.take();
    expect(gate.reserve()).toBeUndefined();
    shared.release();
    expect(told.times).toBe(1);
    gate.close();
    shared.take();
    shared.release();
    expect(told.times).toBe(1);
  });

  it('that is closed sets no timer any more', async () => {
    const { gate, clock, budget } = gateOf(5);
    const release = await gate.enter(forEver());
    release({ waitMs: 30_000 });
    expect([budget.pausedUntil(clock.monotonic()) !== undefined, clock.timers]).toEqual([true, 1]);
    gate.close();
    gate.admit();
    expect(clock.timers).toBe(0);
  });
});
