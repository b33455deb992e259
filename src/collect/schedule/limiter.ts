import type { RateLimiter } from '../../api/upstreamReader.ts';
import type { AccountConfig } from '../../config/config.ts';
import { AccountHealth } from '../../api/accountHealth.ts';
import { Budget } from './budget.ts';
import { type Clock, abortReason } from '../../eventLoop/clock.ts';
import { MINUTE_MS } from '../../formulas/units.ts';

/** NerdGraph refuses more concurrent calls than this from one user, for all keys and accounts together. */
const PLACES_OF_USER = 25;

/** The distance between spread reads, as a share of the distance at which they use exactly the budget: the rest is headroom. */
const SPREAD = 0.9;

/** The weight of the newest call in the average duration of a call. */
const NEWEST_SHARE = 0.1;

/** The least distance between two calls of an account that fails, in milliseconds. */
const WHILE_FAILING = 5_000;

type Limits = Pick<AccountConfig['limits'], 'requests_per_minute' | 'max_concurrent_requests'>;

type Release = Awaited<ReturnType<RateLimiter['acquire']>>;

interface WaitingCall {
  readonly isRepeat: boolean;
  readonly start: (release: Release) => void;
}

/**
 * Grants the calls of one account, through all readers that it has in the course of time. The calls of started reads go first, in the
 * order in which they asked. Times are milliseconds of the monotonic clock.
 */
export class AccountLimiter implements RateLimiter {
  readonly budget: Budget;
  /** While the account fails, it makes one call at a time, at most one in 5 seconds. */
  readonly health = new AccountHealth();
  /** Called when a new read may start. */
  changed: () => void = () => undefined;
  readonly #clock: Clock;
  #waiting: WaitingCall[] = [];
  /** The number of repeats in flight. */
  #repeats = 0;
  /** True from the start of a read until the next call asks for a place: meanwhile no further read starts. */
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

  /** The time without a start or end of a call although one was possible; 0 during a pause, and while the budget is spent. */
  idleFor(): number {
    const now = this.#clock.monotonic();
    if (this.budget.inFlight === 0 && this.budget.nextStart(now) !== now) return 0;
    return now - Math.max(this.#lastProgress, Math.min(now, this.budget.lastPauseEnd));
  }

  reconfigure(limits: Limits): void {
    this.budget.perMinute = limits.requests_per_minute;
    this.#places = limits.max_concurrent_requests;
  }

  /** Makes calls take a place of the user, too, or no longer; calls in flight move to it, even beyond its limit. Then needs `wake`. */
  share(user: UserPlaces | undefined): void {
    this.#user = user;
    user?.add(this.budget.inFlight);
  }

  /**
   * The calls per minute that the concurrent calls allow, at the measured duration of a call; undefined before the first
   * measurement. Of the places of its user, the account counts on an equal share.
   */
  get concurrencyCapacity(): number | undefined {
    if (this.#averageCall === undefined || this.#averageCall === 0) return undefined;
    return (MINUTE_MS * Math.min(this.#places, this.#user?.share ?? Infinity)) / this.#averageCall;
  }

  /** True while repeats of what failed take less than half of the places; one may always run. */
  get mayRepeat(): boolean {
    return this.#repeats < Math.max(1, Math.floor(this.#places / 2));
  }

  acquire(signal: AbortSignal, isRepeat = false): Promise<Release> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(abortReason(signal));
        return;
      }
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
   * True when a new read may start: a call could, and none of a started read waits. Its calls then wait for their places as any others;
   * until the first one asks for its place, or the read ends, no other may start. When false, `changed` is called later.
   *
   * @param work.isSpread true: waits until the last read is long enough ago to spread the budget over a minute
   * @param work.isRepeat true for what failed before
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

  /** A read may have ended without a call. */
  readEnded(): void {
    this.#isStarting = false;
    this.wake();
  }

  /** Starts waiting calls as far as places and budget allow, and then new reads. */
  wake(): void {
    // All checks use the same time: if a pause ended between two clock reads, the calls would neither start nor be woken
    // later.
    const now = this.#clock.monotonic();
    this.#waiting = this.#waiting.filter((call) => !this.#start(call, now));
    this.#wakeAt(this.#nextStart(now), now);
    this.changed();
  }

  #nextStart(now: number): number {
    const next = this.budget.nextStart(now);
    if (!this.health.isFailing) return next;
    return this.budget.inFlight > 0 ? Infinity : Math.max(next, this.budget.lastStart + WHILE_FAILING);
  }

  #mayStart(now: number, isRepeat: boolean): boolean {
    return (this.mayRepeat || !isRepeat) && this.budget.inFlight < this.#places && this.#nextStart(now) === now;
  }

  /** Starts a call if it may start. The places of the user are last: an account that gets none of them is woken later. */
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

  /** Only the budget needs a timer, because a taken place is released with the end of its call. */
  #wakeAt(time: number, now: number): void {
    if (time <= now || time === Infinity) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#clock.after(time - now, () => this.wake());
  }
}

/**
 * The calls that New Relic answers at once for one user, for all accounts whose keys are of that user. Accounts get them in the order
 * in which they asked.
 */
export class UserPlaces {
  /** The number of accounts that share the places. */
  #accounts = 0;
  /** The accounts whose calls wait for a place, the longest waiting first. */
  readonly #waiting = new Set<AccountLimiter>();
  #taken = 0;

  /** The places that an account may count on. */
  get share(): number {
    return PLACES_OF_USER / this.#accounts;
  }

  /** Adds an account, with its calls in flight. */
  add(inFlight: number): void {
    this.#accounts += 1;
    this.#taken += inFlight;
  }

  /** Takes a place if the account is the first that waits for one; otherwise it waits, and is woken when it is. */
  take(account: AccountLimiter): boolean {
    const [first = account] = this.#waiting;
    if (first !== account || this.#taken >= PLACES_OF_USER) {
      this.#waiting.add(account);
      return false;
    }
    this.#waiting.delete(account);
    this.#taken += 1;
    return true;
  }

  /** Gives a place back, and wakes the accounts that wait; one that takes none waits no longer. */
  release(): void {
    this.#taken -= 1;
    for (const account of this.#waiting) {
      if (this.#taken >= PLACES_OF_USER) return;
      const taken = this.#taken;
      account.wake();
      if (this.#taken === taken) this.#waiting.delete(account);
    }
  }
}
