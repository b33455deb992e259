import { AccountHealth } from '../../src/api/accountHealth.ts';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/eventLoop/clock.ts';
import { AccountLimiter, UserPlaces } from '../../src/collect/schedule/limiter.ts';
import { VirtualClock } from './support/virtualClock.ts';

/** A clock that advances a little with each reading, as a real one does, and whose timers fire `early` milliseconds too soon. */
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

  /** Advances to the next timer. False when there is none. */
  ring(): boolean {
    if (this.#timer === undefined) return false;
    const { at, callback } = this.#timer;
    this.#timer = undefined;
    this.#time = Math.max(this.#time, at);
    callback();
    return true;
  }
}

const ONE_AT_ONCE = { requests_per_minute: 10, max_concurrent_requests: 1 };

const EARLY = [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2];

it.each(EARLY)(
  'work that asks for a place in vain is told of the end of a pause when the timer rings %f ms early',
  async (early) => {
    const clock = new PassingClock(early);
    const state = { started: false };
    const start = (): void => {
      state.started ||= limiter.reserve() !== undefined;
      limiter.drain();
    };
    const limiter = new AccountLimiter(ONE_AT_ONCE, clock, start);
    const release = await limiter.acquire(new AbortController().signal);
    release({ waitMs: 5_000 });
    start();
    while (!state.started && clock.ring());
    expect(state.started).toBe(true);
  },
);

it.each(EARLY)('a call that waits for the end of a pause is let in when the timer rings %f ms early', async (early) => {
  const clock = new PassingClock(early);
  const limiter = new AccountLimiter(ONE_AT_ONCE, clock, () => undefined);
  const { signal } = new AbortController();
  const release = await limiter.acquire(signal);
  release({ waitMs: 5_000 });
  let entered = false;
  void limiter.acquire(signal).then(() => (entered = true));
  while (clock.ring());
  await Promise.resolve();
  expect({ entered, waiting: limiter.waiting }).toEqual({ entered: true, waiting: 0 });
});

function limiterOf(places: number, health = new AccountHealth()) {
  const clock = new VirtualClock();
  const told = { times: 0 };
  const limits = { requests_per_minute: 100, max_concurrent_requests: places };
  const limiter = new AccountLimiter(limits, clock, () => void (told.times += 1), health);
  return { clock, budget: limiter.budget, limiter, told };
}

/** Takes places for calls of another account. */
function fill(places: UserPlaces, calls: number): void {
  const { limiter } = limiterOf(1);
  places.add(limiter, calls);
}

const forEver = (): AbortSignal => new AbortController().signal;

describe('a call at the limiter', () => {
  it('that was given up before it came is not let in', async () => {
    const { limiter, budget } = limiterOf(1);
    const givenUp = AbortSignal.abort(new Error('the account was stopped'));
    await expect(limiter.acquire(givenUp)).rejects.toThrow('the account was stopped');
    expect([limiter.waiting, budget.inFlight]).toEqual([0, 0]);
  });

  it('that is given up while it waits ends, and takes neither a place nor the turn of the next', async () => {
    const { limiter, budget } = limiterOf(1);
    const release = await limiter.acquire(forEver());
    const controller = new AbortController();
    const givenUp = limiter.acquire(controller.signal);
    const next = limiter.acquire(forEver());
    const last = limiter.acquire(forEver());
    controller.abort(new Error('the account was stopped'));
    expect(limiter.waiting).toBe(2);
    await expect(givenUp).rejects.toThrow('the account was stopped');
    release();
    (await next)();
    (await last)();
    expect([limiter.waiting, budget.inFlight]).toEqual([0, 0]);
  });

  it('that was let in is not ended by its signal, and gives its place back once', async () => {
    const { limiter, budget } = limiterOf(2);
    const controller = new AbortController();
    const release = await limiter.acquire(controller.signal);
    const other = await limiter.acquire(forEver());
    const waits = limiter.acquire(forEver());
    controller.abort(new Error('the account was stopped'));
    expect([limiter.waiting, budget.inFlight]).toEqual([1, 2]);
    release();
    release();
    (await waits)();
    expect(budget.inFlight).toBe(1);
    other();
    expect(budget.inFlight).toBe(0);
  });
});

describe('accounts that share places', () => {
  it('get them in the order in which they asked, one after the other', () => {
    const clock = new VirtualClock();
    const shared = new UserPlaces();
    fill(shared, 23);
    const took: string[] = [];
    const held: (() => void)[] = [];
    const limiters = new Map<string, AccountLimiter>();
    for (const name of ['a', 'b', 'c']) {
      const takeAll = (): void => {
        for (let place = limiter.reserve(); place !== undefined; place = limiter.reserve()) {
          took.push(name);
          const taken = place;
          held.push(() => taken.end(false));
        }
      };
      const limiter = new AccountLimiter({ requests_per_minute: 1_000, max_concurrent_requests: 5 }, clock, takeAll);
      limiter.share(shared);
      limiters.set(name, limiter);
    }
    for (const limiter of limiters.values()) limiter.wake();
    expect(took).toEqual(['a', 'a']);
    for (let count = 0; count < 12; count += 1) held.shift()?.();
    const counts = ['a', 'b', 'c'].map((name) => took.slice(2).filter((one) => one === name).length);
    expect(counts).toEqual([4, 4, 4]);
  });

  it('count on equal parts of them for their plans', () => {
    const places = new UserPlaces();
    const limits = { requests_per_minute: 1_000, max_concurrent_requests: 20 };
    const limiters = [1, 2, 3].map(() => new AccountLimiter(limits, new VirtualClock(), () => undefined));
    const shares = limiters.map((limiter) => (limiter.share(places), places.share));
    expect(shares).toEqual([25, 12.5, 25 / 3]);
    limiters[0]?.close();
    expect(places.share).toBe(12.5);
  });
});

describe('a limiter', () => {
  it('that shares places tells its account when another gives one back, until it is closed', () => {
    const shared = new UserPlaces();
    fill(shared, 24);
    const { limiter, told } = limiterOf(5);
    limiter.share(shared);
    fill(shared, 1);
    expect(limiter.reserve()).toBeUndefined();
    shared.release();
    expect(told.times).toBe(1);
    limiter.close();
    fill(shared, 1);
    shared.release();
    expect(told.times).toBe(1);
  });

  it('does not count a pause, nor the time before it, as time in which calls could have gone on', async () => {
    const { limiter, clock } = limiterOf(5);
    const release = await limiter.acquire(forEver());
    await clock.advance(10_000);
    release({ waitMs: 250_000 });
    await clock.advance(249_000);
    expect(limiter.idleFor()).toBe(0);
    await clock.advance(2_000);
    expect(limiter.idleFor()).toBe(1_000);
    await clock.advance(200_000);
    expect(limiter.idleFor()).toBe(201_000);
  });

  it('that is closed sets no timer any more', async () => {
    const { limiter, clock, budget } = limiterOf(5);
    const release = await limiter.acquire(forEver());
    release({ waitMs: 30_000 });
    expect([budget.lastPauseEnd > clock.monotonic(), clock.timers]).toEqual([true, 1]);
    limiter.close();
    limiter.drain();
    expect(clock.timers).toBe(0);
  });
});

describe('repeats of what failed', () => {
  it.each([
    [1, 1],
    [5, 2],
    [8, 4],
  ])('take of %d places %d at most, and hold up no other call', async (places, most) => {
    const { limiter, budget } = limiterOf(places);
    const repeats = Array.from({ length: places + 1 }, () => limiter.acquire(forEver(), true));
    expect(budget.inFlight).toBe(most);
    for (let free = places - most; free > 0; free -= 1) await limiter.acquire(forEver());
    expect([budget.inFlight, limiter.waiting]).toEqual([places, places + 1 - most]);
    (await repeats[0]!)();
    expect(budget.inFlight).toBe(places);
  });

  it('that wait leave the places that they may not take to new work', () => {
    const { limiter } = limiterOf(4);
    for (let repeat = 0; repeat < 3; repeat += 1) void limiter.acquire(forEver(), true);
    expect([limiter.waiting, limiter.reserve() === undefined]).toEqual([1, false]);
  });
});

describe('an account that fails', () => {
  it('makes one call at a time, at most one in five seconds, until one is answered', async () => {
    const health = new AccountHealth();
    const { clock, limiter, budget, told } = limiterOf(8, health);
    for (let read = 0; read < 3; read += 1) health.recordUnansweredRead();
    const first = await limiter.acquire(forEver());
    const second = limiter.acquire(forEver());
    expect(budget.inFlight).toBe(1);
    first();
    expect(budget.inFlight).toBe(0);
    await clock.advance(4_999);
    expect(budget.inFlight).toBe(0);
    await clock.advance(1);
    expect(budget.inFlight).toBe(1);
    (await second)();
    expect(limiter.reserve()).toBeUndefined();
    health.recordAnswer();
    expect(limiter.reserve()).toBeDefined();
    expect(told.times).toBeGreaterThan(0);
  });
});
