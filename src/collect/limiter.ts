import { abortReason } from '../api/http/address.ts';
import type { RateLimiter, Overload } from '../api/upstreamReader.ts';
import { Budget } from './budget.ts';
import type { Clock } from './clock.ts';

const MINUTE = 60_000;

/** NerdGraph refuses more calls at once than this from one key, whatever accounts they read. */
const SLOTS_OF_KEY = 25;

/** What an account needs of the slots of its key counts this long after it was last said, in milliseconds. */
const NEED_HOLDS = 600_000;

/** Calls that are spread over a minute are as far apart as this part of what would fill it: the rest is room. */
const SPREAD = 0.9;

/** How much the newest reading counts in the average duration of a call. */
const NEWEST_SHARE = 0.1;

/** An account's limits: calls per minute, and calls at once. */
export interface Limits {
  readonly requests_per_minute: number;
  readonly max_concurrent_requests: number;
}

/** Ends a call; with the overload, where that was the answer. */
type Release = (overload?: Overload) => void;

/** A slot taken ahead for work that is about to start, and what its calls came to. */
export interface Reservation {
  /** The limiter the work enters by: its first call uses the slot, later ones wait for theirs. */
  readonly limiter: RateLimiter;
  /** How many of its calls have ended, how long they took together in milliseconds, and when the last of them began. */
  readonly calls: { count: number; ms: number; lastStart: number };
  /** Gives the slot back if no call was made. */
  cancel(): void;
}

/**
 * Grants the calls of one account: under its budget, its calls at once, and the slots that its key has. Calls of work that
 * has begun (pages, retries, parts) wait here, first come first served, and go before new work. All times are
 * milliseconds of the monotonic clock.
 */
export class AccountLimiter implements RateLimiter {
  readonly budget: Budget;
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #waiting: (() => void)[] = [];
  /** How many calls may be under way at once. */
  slots: number;
  #shared: SharedConcurrency | undefined;
  #cancelTimer: (() => void) | undefined;
  /** Moving average of how long a call that ended well took; undefined before the first. */
  #averageCall: number | undefined;
  /** When a call last started or ended, or work came after there was none. */
  #lastProgress: number;
  #lastReserved = -Infinity;
  #closed = false;

  /** @param changed called when a slot or a call of the budget may have come free for new work */
  constructor(limits: Limits, clock: Clock, changed: () => void) {
    this.budget = new Budget(limits.requests_per_minute);
    this.slots = limits.max_concurrent_requests;
    this.#clock = clock;
    this.#changed = changed;
    this.#lastProgress = clock.monotonic();
  }

  /** Calls of begun work that wait for a slot or the budget. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** How long no call has started or ended although one could; 0 during a pause, and while the budget is spent. */
  idleFor(): number {
    const now = this.#clock.monotonic();
    if (this.budget.inFlight === 0 && this.budget.nextStart(now) !== now) return 0;
    return now - Math.max(this.#lastProgress, Math.min(now, this.budget.lastPauseEnd));
  }

  /** Work came after there was none: time without calls counts from now on. */
  workBegins(): void {
    this.#lastProgress = this.#clock.monotonic();
  }

  /** Changes the limits (reload); what was spent stays spent. */
  resize(limits: Limits): void {
    this.budget.perMinute = limits.requests_per_minute;
    this.slots = limits.max_concurrent_requests;
  }

  /** From now on calls take a slot of these as well; those in flight hold one of them, too. */
  share(shared: SharedConcurrency | undefined): void {
    if (shared === this.#shared) return;
    const before = this.#shared;
    this.#shared = shared;
    shared?.join(this.budget.inFlight);
    if (before === undefined) return;
    before.leave(this, this.budget.inFlight);
    // Work that waited for a slot of the key before waits for one of this key now.
    this.wake();
  }

  /**
   * Calls per minute that the calls at once carry, at the measured duration of a call; undefined before one was measured.
   * Of the slots of the key the account has what the others leave, at least its share.
   *
   * @param callsPerMinute what the account needs
   */
  concurrencyCapacity(callsPerMinute: number): number | undefined {
    if (this.#averageCall === undefined || this.#averageCall === 0) return undefined;
    const needed = Math.min((callsPerMinute * this.#averageCall) / MINUTE, this.slots);
    const shared = this.#shared?.slotsFor(this, needed, this.#clock.monotonic()) ?? Infinity;
    return (MINUTE * Math.min(this.slots, shared)) / this.#averageCall;
  }

  /** True when so many calls, of which so many have not begun, can end before `deadline`, by budget, pause and usual pace. */
  canEnd(calls: number, queued: number, deadline: number): boolean {
    const now = this.#clock.monotonic();
    const waiting = Math.min(calls, queued + this.waiting);
    if (waiting > 0 && waiting > this.budget.freeBy(now, deadline)) return false;
    const rounds = Math.floor(calls / this.slots);
    return now + rounds * (this.#averageCall ?? 0) <= deadline;
  }

  /** Takes the calls of a reading that ended well, at least one, into the average. */
  learn({ count, ms, lastStart }: Reservation['calls']): void {
    const newest = ms / count;
    this.#averageCall ??= newest;
    this.#averageCall += (newest - this.#averageCall) * NEWEST_SHARE;
    this.budget.accepted(lastStart);
  }

  acquire(signal: AbortSignal): Promise<Release> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(abortReason(signal));
        return;
      }
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(grant), 1);
        reject(abortReason(signal));
      };
      const grant = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve(this.#start());
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(grant);
      this.drain();
    });
  }

  /**
   * Takes a slot for new work, if one is free and no begun work waits for it; else `changed` is called when one may be.
   *
   * @param isSpread true: not sooner after the last one than calls are apart that the budget spreads over a minute
   */
  reserve(isSpread = false): Reservation | undefined {
    const now = this.#clock.monotonic();
    const earliest = isSpread ? this.#lastReserved + (SPREAD * MINUTE) / this.budget.perMinute : now;
    if (now < earliest || this.#waiting.length > 0 || !this.#isOpen(now)) {
      this.#wakeLater(now, earliest);
      return undefined;
    }
    this.#lastReserved = now;
    let taken: Release | undefined = this.#start();
    const calls = { count: 0, ms: 0, lastStart: 0 };
    return {
      calls,
      limiter: {
        acquire: async (signal) => {
          const release = taken ?? (await this.acquire(signal));
          taken = undefined;
          const startedAt = this.#clock.monotonic();
          return (overload) => {
            calls.count += 1;
            calls.ms += this.#clock.monotonic() - startedAt;
            calls.lastStart = startedAt;
            release(overload);
          };
        },
      },
      cancel: () => {
        if (taken === undefined) return;
        taken = undefined;
        this.budget.refund();
        this.#shared?.release();
      },
    };
  }

  /** Lets waiting calls in as far as there is room, and looks again when the budget next allows a call. */
  drain(): void {
    // One time for both: had a pause ended between two readings, the calls would neither be let in nor be woken later.
    const now = this.#clock.monotonic();
    while (this.#waiting.length > 0 && this.#isOpen(now)) this.#waiting.shift()?.();
    this.#wakeLater(now);
  }

  /** Lets waiting calls in and has new work look: a slot or the budget may have come free. */
  wake(): void {
    this.drain();
    if (!this.#closed) this.#changed();
  }

  /** Has new work look again at a time. */
  wakeAt(time: number): void {
    this.#wakeLater(this.#clock.monotonic(), time);
  }

  /** Forgets its timer; calls still waiting are ended by their signals. */
  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#shared?.leave(this);
  }

  /** Asks for a slot of the key last: whoever asks in vain is woken when its turn comes. */
  #isOpen(now: number): boolean {
    if (this.budget.inFlight >= this.slots || this.budget.nextStart(now) !== now) return false;
    return this.#shared?.isFreeFor(this) ?? true;
  }

  #start(): Release {
    const startedAt = this.#clock.monotonic();
    this.#shared?.take();
    this.budget.start(startedAt);
    this.#lastProgress = startedAt;
    let ended = false;
    return (overload) => {
      if (ended) return;
      ended = true;
      const now = this.#clock.monotonic();
      this.#lastProgress = now;
      this.budget.end(now);
      if (overload !== undefined) this.budget.overloaded(now, startedAt, overload.waitMs);
      this.#shared?.release();
      this.wake();
    };
  }

  /**
   * A slot that is taken comes free with its call; only the budget needs a timer. One that is set stays where the budget
   * allows a call by now: work that asked in vain a moment earlier counts on it.
   */
  #wakeLater(now: number, earliest = now): void {
    if (this.#closed) return;
    const allowed = this.budget.nextStart(now);
    const next = allowed === undefined ? undefined : Math.max(allowed, earliest);
    if (next === undefined || next <= now) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#clock.after(next - now, () => {
      this.#cancelTimer = undefined;
      this.wake();
    });
  }
}

/** Calls at once over several accounts, which one key shares. Accounts that wait for a slot take turns. */
export class SharedConcurrency {
  readonly #most: number;
  /** The accounts that asked for a slot in vain, in the order of their turns. */
  readonly #waiting = new Set<AccountLimiter>();
  /** How many slots each account would use, and when it said so. */
  readonly #needs = new Map<AccountLimiter, { readonly slots: number; readonly at: number }>();
  #taken = 0;
  /** Whose turn it is, or that it has been used; undefined while nobody waits. */
  #turn: AccountLimiter | 'used' | undefined;

  constructor(most = SLOTS_OF_KEY) {
    this.#most = most;
  }

  /** True when the account may take a slot now; else it is woken when its turn comes. */
  isFreeFor(account: AccountLimiter): boolean {
    if (
      this.#taken < this.#most &&
      (this.#turn === account || (this.#turn === undefined && this.#waiting.size === 0))
    ) {
      return true;
    }
    this.#waiting.add(account);
    return false;
  }

  take(): void {
    this.#taken += 1;
    // Whoever wants another one has its next turn after those that wait.
    if (this.#turn !== undefined) this.#turn = 'used';
  }

  /** Gives a slot back: those that wait have a turn each, as long as slots are free. */
  release(): void {
    this.#taken -= 1;
    if (this.#turn !== undefined) return;
    while (this.#taken < this.#most) {
      const [next] = this.#waiting;
      if (next === undefined) break;
      this.#waiting.delete(next);
      this.#turn = next;
      next.wake();
    }
    this.#turn = undefined;
  }

  /**
   * How many slots an account can count on: all of them where everybody has enough, else what the accounts that need less
   * than their share leave, in equal parts.
   */
  slotsFor(account: AccountLimiter, needed: number, now: number): number {
    this.#needs.set(account, { slots: needed, at: now });
    let free = this.#most;
    const needs: number[] = [];
    for (const { slots, at } of this.#needs.values()) if (now - at <= NEED_HOLDS) needs.push(slots);
    needs.sort((a, b) => a - b);
    for (const [index, slots] of needs.entries()) {
      const share = free / (needs.length - index);
      if (slots > share) return share;
      free -= slots;
    }
    return this.#most;
  }

  /** An account comes with calls in flight: there may be more of them than slots until some have ended. */
  join(inFlight: number): void {
    this.#taken += inFlight;
  }

  /** An account uses these slots no longer, not for its calls in flight either. */
  leave(account: AccountLimiter, inFlight = 0): void {
    this.#waiting.delete(account);
    this.#needs.delete(account);
    for (let call = 0; call < inFlight; call += 1) this.release();
  }
}
