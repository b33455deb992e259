import type { RateLimiter } from '../../api/upstreamReader.ts';
import type { Overload } from '../../api/upstreamError.ts';
import type { AccountConfig } from '../../config/config.ts';
import { AccountHealth } from '../../api/accountHealth.ts';
import { Budget } from './budget.ts';
import { type Clock, abortReason } from '../../eventLoop/clock.ts';
import { MINUTE_MS } from '../../formulas/units.ts';

/** NerdGraph refuses more concurrent calls than this from one user, for all keys and accounts together. */
const SLOTS_OF_USER = 25;

/** The distance between spread calls, as a share of the distance at which they use exactly the budget: the rest is headroom. */
const SPREAD = 0.9;

/** The weight of the newest read in the average duration of a call. */
const NEWEST_SHARE = 0.1;

/** The least distance between two calls of an account that fails, in milliseconds. */
const WHILE_FAILING = 5_000;

type Limits = Pick<AccountConfig['limits'], 'requests_per_minute' | 'max_concurrent_requests'>;

type Release = (overload?: Overload) => void;

/** The number of calls of a read that have ended, their total duration in milliseconds, and the start of the last one. */
interface EndedCalls {
  count: number;
  ms: number;
  lastStart: number;
}

interface WaitingCall {
  /** True for a repeat of what failed. */
  readonly isRepeat: boolean;
  /** Starts it if it may start now; false when it may not. */
  readonly grant: (now: number) => boolean;
}

/** A slot that was reserved for a read: its first call uses it, later ones wait for theirs. */
export interface Reservation extends RateLimiter {
  /** Ends the read. After a good one its calls count in the average, and the next pause of the budget may be short again. */
  end(isGood: boolean): void;
}

/**
 * Grants the calls of one account. Those of started work (pages, retries, parts) go before new work, in the order of their requests.
 * Times are milliseconds of the monotonic clock.
 */
export class AccountLimiter implements RateLimiter {
  readonly budget: Budget;
  readonly #clock: Clock;
  readonly #changed: () => void;
  /** The calls of started work that wait, in the order of their requests. */
  #waiting: WaitingCall[] = [];
  /** The number of repeats in flight. */
  #repeats = 0;
  slots: number;
  /** While the account fails, it makes one call at a time, at most one in 5 seconds. */
  #health: AccountHealth;
  #places: UserPlaces | undefined;
  #cancelTimer: (() => void) | undefined;
  #averageCall: number | undefined;
  #lastProgress: number;
  #lastReserved = -Infinity;
  #closed = false;

  /** @param changed called when a slot or budget for new work may be available */
  constructor(limits: Limits, clock: Clock, changed: () => void, health = new AccountHealth()) {
    this.#health = health;
    this.budget = new Budget(limits.requests_per_minute);
    this.slots = limits.max_concurrent_requests;
    this.#clock = clock;
    this.#changed = changed;
    this.#lastProgress = clock.monotonic();
  }

  /** The time without a start or end of a call although one was possible; 0 during a pause, and while the budget is spent. */
  idleFor(): number {
    const now = this.#clock.monotonic();
    if (this.budget.inFlight === 0 && this.budget.nextStart(now) !== now) return 0;
    return now - Math.max(this.#lastProgress, Math.min(now, this.budget.lastPauseEnd));
  }

  /** Records that work begins after an idle time: the time without calls counts from now on. */
  workBegins(): void {
    this.#lastProgress = this.#clock.monotonic();
  }

  /** @param health that of the reader which the configuration made */
  reconfigure(limits: Limits, health: AccountHealth): void {
    this.#health = health;
    this.budget.perMinute = limits.requests_per_minute;
    this.slots = limits.max_concurrent_requests;
  }

  /**
   * Makes calls take a place of the user, too, from now on. Calls in flight move to it, even beyond its limit.
   *
   * @returns true when the account took other places before: its waiting work needs `wake`
   */
  share(places: UserPlaces): boolean {
    const before = this.#places;
    if (places === before) return false;
    this.#places = places;
    places.add(this, this.budget.inFlight);
    before?.remove(this, this.budget.inFlight);
    return before !== undefined;
  }

  /**
   * The calls per minute that the concurrent calls allow, at the measured duration of a call; undefined before the first
   * measurement. Of the places of its user, the account counts on an equal share.
   */
  get concurrencyCapacity(): number | undefined {
    if (this.#averageCall === undefined || this.#averageCall === 0) return undefined;
    return (MINUTE_MS * Math.min(this.slots, this.#places?.share ?? Infinity)) / this.#averageCall;
  }

  /** True while repeats of what failed take less than half of the slots; one may always run. */
  get mayRepeat(): boolean {
    return this.#repeats < Math.max(1, Math.floor(this.slots / 2));
  }

  /** The number of calls of started work that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Repeats of what failed take at most half of the slots, at least one. */
  acquire(signal: AbortSignal, isRepeat = false): Promise<Release> {
    return this.#acquire(signal, isRepeat);
  }

  /** @param calls where the end of the call is counted */
  #acquire(signal: AbortSignal, isRepeat: boolean, calls?: EndedCalls): Promise<Release> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(abortReason(signal));
        return;
      }
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== call);
        reject(abortReason(signal));
      };
      const grant = (now: number): boolean => {
        const release = this.#start(now, calls, isRepeat);
        if (release === undefined) return false;
        signal.removeEventListener('abort', onAbort);
        resolve(release);
        return true;
      };
      const call = { isRepeat, grant };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(call);
      this.drain();
    });
  }

  /**
   * A slot for new work, when one is free and no started work waits for it; otherwise `changed` is called when one may be free.
   *
   * @param work.isSpread true: waits until the last reserved slot is long enough ago to spread the budget over a minute
   * @param work.isRepeat true for what failed before
   */
  reserve({ isSpread = false, isRepeat = false } = {}): Reservation | undefined {
    const now = this.#clock.monotonic();
    const earliest = isSpread ? this.#lastReserved + (SPREAD * MINUTE_MS) / this.budget.perMinute : now;
    const calls: EndedCalls = { count: 0, ms: 0, lastStart: 0 };
    const isNext = this.#waiting.every((call) => call.isRepeat && !isRepeat);
    let taken = now >= earliest && isNext ? this.#start(now, calls, isRepeat) : undefined;
    if (taken === undefined) {
      this.wakeLater(now, earliest);
      return undefined;
    }
    this.#lastReserved = now;
    return {
      acquire: (signal, isPart = false) => {
        const release = taken;
        taken = undefined;
        return release === undefined ? this.#acquire(signal, isRepeat || isPart, calls) : Promise.resolve(release);
      },
      end: (isGood) => {
        if (taken !== undefined) {
          taken = undefined;
          this.budget.refund();
          if (isRepeat) this.#repeats -= 1;
          this.#places?.release();
        }
        const { count, ms, lastStart } = calls;
        if (!isGood || count === 0) return;
        this.#averageCall ??= ms / count;
        this.#averageCall += (ms / count - this.#averageCall) * NEWEST_SHARE;
        this.budget.accepted(lastStart);
      },
    };
  }

  /** Starts waiting calls as far as slots and budget allow, and checks again when the budget next allows a call. */
  drain(): void {
    // Both checks use the same time: if a pause ended between two clock reads, the calls would neither start nor be woken
    // later.
    const now = this.#clock.monotonic();
    let isFull = false;
    let isFullForRepeats = false;
    this.#waiting = this.#waiting.filter(({ isRepeat, grant }) => {
      if (isFull || (isRepeat && isFullForRepeats)) return true;
      if (grant(now)) return false;
      if (isRepeat) isFullForRepeats = true;
      else isFull = true;
      return true;
    });
    this.wakeLater(now);
  }

  wake(): void {
    this.drain();
    if (!this.#closed) this.#changed();
  }

  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#places?.remove(this, 0);
  }

  #nextStart(now: number): number {
    const next = this.budget.nextStart(now);
    if (!this.#health.isFailing) return next;
    if (this.budget.inFlight > 0) return Infinity;
    const earliest = this.budget.lastStart + WHILE_FAILING;
    return next > now || now >= earliest ? next : earliest;
  }

  /** Starts a call if it may start now. The places of the user are last, because an account that gets none of them is woken later. */
  #start(startAt: number, calls?: EndedCalls, isRepeat = false): Release | undefined {
    if (isRepeat && !this.mayRepeat) return undefined;
    if (this.budget.inFlight >= this.slots || this.#nextStart(startAt) !== startAt) return undefined;
    if (this.#places?.take(this) === false) return undefined;
    this.budget.start(startAt);
    if (isRepeat) this.#repeats += 1;
    this.#lastProgress = startAt;
    let ended = false;
    return (overload) => {
      if (ended) return;
      ended = true;
      const now = this.#clock.monotonic();
      this.#lastProgress = now;
      this.budget.end(now);
      if (isRepeat) this.#repeats -= 1;
      if (calls !== undefined) {
        calls.count += 1;
        calls.ms += now - startAt;
        calls.lastStart = startAt;
      }
      if (overload !== undefined) this.budget.overloaded(now, startAt, overload.waitMs);
      this.#places?.release();
      this.wake();
    };
  }

  /**
   * Calls `changed` when the budget allows a call, but not before `earliest`. Only the budget needs a timer, because a taken slot is
   * released with the end of its call. If the budget allows a call now, an existing timer stays: work that was refused a moment
   * earlier depends on it.
   */
  wakeLater(now: number, earliest = now): void {
    const next = Math.max(this.#nextStart(now), earliest);
    if (this.#closed || next <= now || next === Infinity) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#clock.after(next - now, () => {
      this.#cancelTimer = undefined;
      this.wake();
    });
  }
}

/**
 * The calls that New Relic answers at once for one user, for all accounts whose keys are of that user. Accounts get them in the order
 * in which they asked.
 */
export class UserPlaces {
  /** The accounts that share the places. */
  readonly #accounts = new Set<AccountLimiter>();
  /** The accounts that wait for a place, the longest waiting first. */
  readonly #waiting = new Set<AccountLimiter>();
  #taken = 0;

  /** The places that an account may count on. */
  get share(): number {
    return SLOTS_OF_USER / Math.max(1, this.#accounts.size);
  }

  add(account: AccountLimiter, inFlight: number): void {
    this.#accounts.add(account);
    this.#taken += inFlight;
  }

  /** Removes an account, with its calls in flight. Other accounts may then need `offer`. */
  remove(account: AccountLimiter, inFlight: number): void {
    this.#accounts.delete(account);
    this.#waiting.delete(account);
    this.#taken -= inFlight;
  }

  /** Takes a place if the account is the first that waits for one; otherwise it waits, and is woken when it is. */
  take(account: AccountLimiter): boolean {
    const [first = account] = this.#waiting;
    if (first !== account || this.#taken >= SLOTS_OF_USER) {
      this.#waiting.add(account);
      return false;
    }
    this.#waiting.delete(account);
    this.#taken += 1;
    return true;
  }

  release(): void {
    this.#taken -= 1;
    this.offer();
  }

  /** Wakes the accounts that wait, while there are places; one that takes none waits no longer. */
  offer(): void {
    for (const account of this.#waiting) {
      if (this.#taken >= SLOTS_OF_USER) return;
      const taken = this.#taken;
      account.wake();
      if (this.#taken === taken) this.#waiting.delete(account);
    }
  }
}
