import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/eventLoop/clock.ts';
import { AccountLimiter, UserPlaces } from '../../src/collect/schedule/limiter.ts';
import { VirtualClock } from './support/virtualClock.ts';

/** A clock that advances a little with each reading, as a real one does, and whose timers fire `early` milliseconds too soon. */
class PassingClock implements Clock {
  #time = 1_000;
  #timer: { readonly fireAt: number; readonly callback: () => void } | undefined;
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
    this.#timer = { fireAt: this.#time + ms - this.#early, callback };
    return () => (this.#timer = undefined);
  }

  /** Advances to the next timer. False when there is none. */
  ring(): boolean {
    if (this.#timer === undefined) return false;
    const { fireAt, callback } = this.#timer;
    this.#timer = undefined;
    this.#time = Math.max(this.#time, fireAt);
    callback();
    return true;
  }
}

const ONE_AT_ONCE = { requests_per_minute: 10, max_concurrent_requests: 1 };

const EARLY = [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2];

it.each(EARLY)('a waiting read starts at the end of a pause, although the timer fires %f ms early', async (early) => {
  const clock = new PassingClock(early);
  const state = { started: false };
  const limiter = new AccountLimiter(ONE_AT_ONCE, clock);
  const release = await limiter.acquire(new AbortController().signal);
  limiter.changed = () => (state.started ||= limiter.startRead());
  release(false, { waitMs: 5_000 });
  while (!state.started && clock.ring());
  expect(state.started).toBe(true);
});

it.each(EARLY)('a waiting call starts at the end of a pause, although the timer fires %f ms early', async (early) => {
  const clock = new PassingClock(early);
  const limiter = new AccountLimiter(ONE_AT_ONCE, clock);
  const { signal } = new AbortController();
  const release = await limiter.acquire(signal);
  release(false, { waitMs: 5_000 });
  let entered = false;
  void limiter.acquire(signal).then(() => (entered = true));
  while (clock.ring());
  await Promise.resolve();
  expect(entered).toBe(true);
});

function limiterOf(places: number, perMinute = 100) {
  const clock = new VirtualClock();
  const limiter = new AccountLimiter({ requests_per_minute: perMinute, max_concurrent_requests: places }, clock);
  return { clock, budget: limiter.budget, limiter };
}

/** Takes places for calls of another account. */
function fill(places: UserPlaces, calls: number): void {
  places.add(calls);
}

const forEver = (): AbortSignal => new AbortController().signal;

describe('a call at the limiter', () => {
  it('that is aborted before it asks is rejected', async () => {
    const { limiter, budget } = limiterOf(1);
    const givenUp = AbortSignal.abort(new Error('the account was stopped'));
    await expect(limiter.acquire(givenUp)).rejects.toThrow('the account was stopped');
    expect([budget.inFlight, limiter.startRead()]).toEqual([0, true]);
  });

  it('that is aborted while it waits takes neither a place nor the turn of the next call', async () => {
    const { limiter, budget } = limiterOf(1);
    const release = await limiter.acquire(forEver());
    const controller = new AbortController();
    const givenUp = limiter.acquire(controller.signal);
    const next = limiter.acquire(forEver());
    const last = limiter.acquire(forEver());
    controller.abort(new Error('the account was stopped'));
    await expect(givenUp).rejects.toThrow('the account was stopped');
    release(true);
    (await next)(true);
    (await last)(true);
    expect([budget.inFlight, limiter.startRead()]).toEqual([0, true]);
  });

  it('keeps its place when its signal aborts later', async () => {
    const { limiter, budget } = limiterOf(2);
    const controller = new AbortController();
    const release = await limiter.acquire(controller.signal);
    const other = await limiter.acquire(forEver());
    const waits = limiter.acquire(forEver());
    controller.abort(new Error('the account was stopped'));
    expect(budget.inFlight).toBe(2);
    release(true);
    (await waits)(true);
    expect(budget.inFlight).toBe(1);
    other(true);
    expect(budget.inFlight).toBe(0);
  });
});

describe('accounts that share places', () => {
  it('get them one after the other, in the order of their requests', async () => {
    const shared = new UserPlaces();
    fill(shared, 23);
    const took: string[] = [];
    const held: (() => void)[] = [];
    for (const name of ['a', 'b', 'c']) {
      const { limiter } = limiterOf(5, 1_000);
      limiter.share(shared);
      limiter.changed = () => {
        while (limiter.startRead()) {
          void limiter.acquire(forEver()).then((release) => {
            took.push(name);
            held.push(() => release(true));
          });
        }
      };
      limiter.wake();
    }
    await Promise.resolve();
    expect(took).toEqual(['a', 'a']);
    for (let count = 0; count < 12; count += 1) {
      held.shift()?.();
      await Promise.resolve();
    }
    const counts = ['a', 'b', 'c'].map((name) => took.slice(2).filter((one) => one === name).length);
    expect(counts).toEqual([4, 4, 4]);
  });

  it('do not wait for an aborted call of another account', () => {
    const shared = new UserPlaces();
    fill(shared, 25);
    const [first, second] = [limiterOf(5), limiterOf(5)];
    const controller = new AbortController();
    for (const { limiter } of [first, second]) limiter.share(shared);
    first.limiter.acquire(controller.signal).catch(() => undefined);
    void second.limiter.acquire(forEver());
    controller.abort(new Error('the account was stopped'));
    shared.release();
    expect([first.budget.inFlight, second.budget.inFlight]).toEqual([0, 1]);
  });

  it('plan with equal shares of the places', () => {
    const places = new UserPlaces();
    const limits = { requests_per_minute: 1_000, max_concurrent_requests: 20 };
    const limiters = [1, 2, 3].map(() => new AccountLimiter(limits, new VirtualClock()));
    const shares = limiters.map((limiter) => (limiter.share(places), places.share));
    expect(shares).toEqual([25, 12.5, 25 / 3]);
  });
});

describe('a limiter', () => {
  it('starts its waiting call when another account frees a place', () => {
    const shared = new UserPlaces();
    fill(shared, 25);
    const { limiter, budget } = limiterOf(5);
    limiter.share(shared);
    for (let call = 0; call < 2; call += 1) void limiter.acquire(forEver());
    expect(budget.inFlight).toBe(0);
    shared.release();
    expect(budget.inFlight).toBe(1);
  });

  it('starts no read while calls of another read wait, or before the last read made its first call', async () => {
    const { limiter, budget } = limiterOf(2);
    expect([limiter.startRead(), limiter.startRead()]).toEqual([true, false]);
    const release = await limiter.acquire(forEver());
    expect([limiter.startRead(), limiter.startRead()]).toEqual([true, false]);
    // The read ended without a call.
    limiter.endRead();
    expect(limiter.startRead()).toBe(true);
    await limiter.acquire(forEver());
    expect(limiter.startRead()).toBe(false);
    void limiter.acquire(forEver());
    release(true);
    expect([budget.inFlight, limiter.startRead()]).toEqual([2, false]);
  });

  it('notifies its account when a call gets its place, when a call ends, and when a read ends', async () => {
    const { limiter } = limiterOf(2);
    let starts = 0;
    limiter.changed = () => {
      while (limiter.startRead()) starts += 1;
    };
    limiter.wake();
    expect(starts).toBe(1);
    const release = await limiter.acquire(forEver());
    expect(starts).toBe(2);
    await limiter.acquire(forEver());
    expect(starts).toBe(2);
    release(true);
    expect(starts).toBe(3);
    limiter.endRead();
    expect(starts).toBe(4);
  });

  it('spreads reads over the minute, whatever calls they make, and wakes its account for each read', async () => {
    const { limiter, clock } = limiterOf(5, 60);
    const starts: number[] = [];
    limiter.changed = () => {
      while (limiter.startRead({ isSpread: true })) {
        starts.push(clock.monotonic());
        void limiter.acquire(forEver()).then((release) => release(true));
      }
    };
    limiter.wake();
    await clock.advance(400);
    (await limiter.acquire(forEver()))(true);
    await clock.advance(2_600);
    expect(starts.map((start) => start - (starts[0] ?? 0))).toEqual([0, 900, 1_800, 2_700]);
  });

  it('measures the duration of good calls, and pauses are short again after a good call', async () => {
    const { limiter, clock, budget } = limiterOf(5);
    const call = async (isGood: boolean, overload?: { waitMs: undefined }): Promise<number> => {
      const waiting = limiter.acquire(forEver());
      await clock.advance(Math.max(0, budget.lastPauseEnd - clock.monotonic()));
      const release = await waiting;
      await clock.advance(2_000);
      release(isGood, overload);
      return budget.lastPauseEnd - clock.monotonic();
    };
    const waitMs = undefined;
    expect(await call(false, { waitMs })).toBe(5_000);
    await call(false);
    expect([await call(false, { waitMs }), limiter.concurrencyCapacity]).toEqual([10_000, undefined]);
    await call(true);
    expect([await call(false, { waitMs }), limiter.concurrencyCapacity]).toEqual([5_000, 150]);
  });

  it('counts neither a pause nor the time before it as idle time', async () => {
    const { limiter, clock } = limiterOf(5);
    const release = await limiter.acquire(forEver());
    await clock.advance(10_000);
    release(false, { waitMs: 250_000 });
    await clock.advance(249_000);
    expect(limiter.idleFor()).toBe(0);
    await clock.advance(2_000);
    expect(limiter.idleFor()).toBe(1_000);
    await clock.advance(200_000);
    expect(limiter.idleFor()).toBe(201_000);
  });
});

describe('retries', () => {
  it.each([
    [1, 1],
    [5, 2],
    [8, 4],
  ])('take of %d places at most %d, and hold up no other call', async (places, most) => {
    const { limiter, budget } = limiterOf(places);
    const repeats = Array.from({ length: places + 1 }, () => limiter.acquire(forEver(), true));
    expect(budget.inFlight).toBe(most);
    for (let free = places - most; free > 0; free -= 1) await limiter.acquire(forEver());
    expect(budget.inFlight).toBe(places);
    (await repeats[0]!)(true);
    expect(budget.inFlight).toBe(places);
  });

  it('that wait leave the other places to new work', () => {
    const { limiter } = limiterOf(4);
    for (let repeat = 0; repeat < 3; repeat += 1) void limiter.acquire(forEver(), true);
    expect([limiter.startRead({ isRepeat: true }), limiter.startRead()]).toEqual([false, true]);
  });
});

describe('a failing account', () => {
  it('makes one call at a time, at most one in five seconds, until New Relic answers', async () => {
    const { clock, limiter, budget } = limiterOf(8);
    const { health } = limiter;
    for (let read = 0; read < 3; read += 1) health.recordUnansweredRead();
    const first = await limiter.acquire(forEver());
    const second = limiter.acquire(forEver());
    expect(budget.inFlight).toBe(1);
    first(false);
    expect(budget.inFlight).toBe(0);
    await clock.advance(4_999);
    expect(budget.inFlight).toBe(0);
    await clock.advance(1);
    expect(budget.inFlight).toBe(1);
    (await second)(false);
    expect(limiter.startRead()).toBe(false);
    health.recordAnswer();
    expect(limiter.startRead()).toBe(true);
  });
});
