import type { RateLimiter } from '../../api/upstreamReader.ts';
import type { AccountConfig } from '../../config/config.ts';
import { AccountHealth } from '../../api/accountHealth.ts';
import { Budget } from './budget.ts';
import { type Clock, abortReason } from '../../eventLoop/clock.ts';
import { MINUTE_MS } from '../../formulas/units.ts';

/** NerdGraph refuses more concurrent calls of one user, over all keys and accounts. */
const PLACES_PER_USER = 25;

/** The distance between spread reads, as a share of the distance that uses exactly the budget. The rest is headroom. */
const SPREAD = 0.9;

/** The weight of the newest call in the average duration of a call. */
const NEWEST_SHARE = 0.1;

/** A failing account makes one call at a time, at most one in these milliseconds. */
const FAILING_CALL_DISTANCE = 5_000;

type Limits = Pick<AccountConfig['limits'], 'requests_per_minute' | 'max_concurrent_requests'>;

type Release = Awaited<ReturnType<RateLimiter['acquire']>>;

interface WaitingCall {
  readonly isRepeat: boolean;
  readonly start: (release: Release) => void;
}

/**
 * Grants the calls of one account, over all of its readers. Calls of started reads go before new reads, in the order of
 * their requests. Times are milliseconds of the monotonic clock.
 */
export class AccountLimiter implements RateLimiter {
  readonly budget: Budget;
  readonly health = new AccountHealth();
  /** Called when a new read may start. */
  changed: () => void = () => undefined;
  readonly #clock: Clock;
  #waiting: WaitingCall[] = [];
  /** In flight. */
  #repeats = 0;
  /** True from the start of a read until its first call asks for a place. No other read starts in between. */
  #isStarting = false;
  #places: number;
  #user: UserPlaces | undefined;
  #cancelTimer: (() => void) | undefined;
  #averageCall: number | undefined;
  #lastProgress: number;
  #lastRead = -Infinity;

  constructor(limits: Limits, clock: Clock) {
    this.budget = new Budget(limits.requests_per_minute);
    this.#places = limits.max_concurrent_requests;
    this.#clock = clock;
    this.#lastProgress = clock.monotonic();
  }

  /** Returns the time since the last start or end of a call; 0 in a pause, or while only a spent budget holds calls. */
  idleFor(): number {
    const now = this.#clock.monotonic();
    if (this.budget.inFlight === 0 && this.budget.nextStart(now) !== now) return 0;
    return now - Math.max(this.#lastProgress, Math.min(now, this.budget.lastPauseEnd));
  }

  reconfigure(limits: Limits): void {
    this.budget.perMinute = limits.requests_per_minute;
    this.#places = limits.max_concurrent_requests;
  }

  /** Sets the user whose places the calls take, even beyond its limit. The caller must call `wake` afterwards. */
  share(user: UserPlaces | undefined): void {
    this.#user = user;
    user?.add(this.budget.inFlight);
  }

  /** The calls per minute that the places allow at the measured duration of a call; undefined before one was. */
  get concurrencyCapacity(): number | undefined {
    if (this.#averageCall === undefined || this.#averageCall === 0) return undefined;
    return (MINUTE_MS * Math.min(this.#places, this.#user?.share ?? Infinity)) / this.#averageCall;
  }

  /** True while repeats take less than half of the places. One repeat may always run. */
  get mayRepeat(): boolean {
    return this.#repeats < Math.max(1, Math.floor(this.#places / 2));
  }

  acquire(signal: AbortSignal, isRepeat = false): Promise<Release> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== call);
        reject(abortReason(signal));
      };
      const start = (release: Release): void => {
        signal.removeEventListener('abort', onAbort);
        resolve(release);
      };
      const call = { isRepeat, start };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(call);
      this.#isStarting = false;
      this.wake();
    });
  }

  /**
   * Returns true if a read may start: a call may start, and no call of an earlier read waits. The next read can start
   * only after the first call of this read asks for a place, or this read ends. Calls `changed` after a refusal.
   *
   * @param work.isSpread true: keeps a distance to the last read that spreads the budget over a minute
   */
  startRead({ isSpread = false, isRepeat = false } = {}): boolean {
    if (this.#isStarting || !this.#waiting.every((call) => call.isRepeat && !isRepeat)) return false;
    const now = this.#clock.monotonic();
    const earliest = isSpread ? this.#lastRead + (SPREAD * MINUTE_MS) / this.budget.perMinute : now;
    if (now < earliest || !this.#mayStart(now, isRepeat)) {
      this.#wakeAt(Math.max(earliest, this.#nextStart(now)), now);
      return false;
    }
    this.#isStarting = true;
    this.#lastRead = now;
    this.#lastProgress = now;
    return true;
  }

  /** Records the end of a read, because the read may have made no call. */
  endRead(): void {
    this.#isStarting = false;
    this.wake();
  }

  /** Starts waiting calls while places and budget allow, and then lets new reads start. */
  wake(): void {
    // All checks use one time. A pause that ends between two clock reads would leave calls waiting without a timer.
    const now = this.#clock.monotonic();
    this.#waiting = this.#waiting.filter((call) => !this.#start(call, now));
    this.#wakeAt(this.#nextStart(now), now);
    this.changed();
  }

  #nextStart(now: number): number {
    const next = this.budget.nextStart(now);
    if (!this.health.isFailing) return next;
    return this.budget.inFlight > 0 ? Infinity : Math.max(next, this.budget.lastStart + FAILING_CALL_DISTANCE);
  }

  #mayStart(now: number, isRepeat: boolean): boolean {
    return (this.mayRepeat || !isRepeat) && this.budget.inFlight < this.#places && this.#nextStart(now) === now;
  }

  /** Starts a call if it may. Asks for a place of the user last: the user wakes an account that gets none. */
  #start({ isRepeat, start }: WaitingCall, startAt: number): boolean {
    if (!this.#mayStart(startAt, isRepeat) || this.#user?.take(this) === false) return false;
    this.budget.start(startAt);
    if (isRepeat) this.#repeats += 1;
    this.#lastProgress = startAt;
    start((isGood, overload) => {
      const now = this.#clock.monotonic();
      this.#lastProgress = now;
      this.budget.end(now);
      if (isRepeat) this.#repeats -= 1;
      if (isGood) {
        this.#averageCall ??= now - startAt;
        this.#averageCall += (now - startAt - this.#averageCall) * NEWEST_SHARE;
        this.budget.accepted(startAt);
      }
      if (overload !== undefined) this.budget.overloaded(now, startAt, overload.waitMs);
      this.#user?.release();
      this.wake();
    });
    return true;
  }

  /** Only the budget needs a timer, because the end of a call frees its place. */
  #wakeAt(time: number, now: number): void {
    if (time <= now || time === Infinity) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#clock.after(time - now, () => this.wake());
  }
}

/** The places of one NerdGraph user. All accounts with its keys share them, in the order of their requests. */
export class UserPlaces {
  #accounts = 0;
  /** The accounts whose calls wait for a place, the longest first. */
  readonly #waiting = new Set<AccountLimiter>();
  #taken = 0;

  get share(): number {
    return PLACES_PER_USER / this.#accounts;
  }

  add(inFlight: number): void {
    this.#accounts += 1;
    this.#taken += inFlight;
  }

  /** Takes a place if one is free and no account waits longer. Otherwise, `release` wakes the account. */
  take(account: AccountLimiter): boolean {
    const [first = account] = this.#waiting;
    if (first !== account || this.#taken >= PLACES_PER_USER) {
      this.#waiting.add(account);
      return false;
    }
    this.#waiting.delete(account);
    this.#taken += 1;
    return true;
  }

  /** Frees a place and wakes the waiting accounts. An account that takes no place then waits no longer. */
  release(): void {
    this.#taken -= 1;
    for (const account of this.#waiting) {
      if (this.#taken >= PLACES_PER_USER) return;
      const taken = this.#taken;
      account.wake();
      if (this.#taken === taken) this.#waiting.delete(account);
    }
  }
}
