import { backoff } from '../api/backoff.ts';

const MINUTE = 60_000;
const FIRST_PAUSE = 5_000;
const LONGEST_BLIND_PAUSE = 60_000;
const LONGEST_PAUSE = 300_000;
const SHORTEST_PAUSE = 1_000;
const RECOVERY_STEP = 10_000;
const RECOVERY_STEPS = 10;

/** Ended calls count this long: a minute, and a millisecond because times are cut to milliseconds. */
const COUNTED = MINUTE + 1;

/**
 * The calls an account may make: at most `perMinute` in any 60 seconds, none while paused. Pure: every method is told the
 * time, in milliseconds of a clock that is never set.
 *
 * A call counts from its start until 60 seconds after its end: upstream sees it somewhere in between, so no 60 seconds of
 * the upstream's clock can hold more calls than the budget.
 */
export class Budget {
  /** The limit; where a reload changes it, what was spent stays spent. */
  perMinute: number;
  inFlight = 0;
  /** When ended calls stop counting, oldest first. */
  #release: number[] = [];
  /** Starts of the last minute, oldest first: what the status shows. */
  #starts: number[] = [];
  #pausedUntil = -Infinity;
  /** Overload answers in a row, and when the last of them came that was not to a call begun before it. */
  #overloads = 0;
  #overloadedAt = -Infinity;
  /** The rate in force when recovery begins, and when that is; undefined when the whole budget is in force. */
  #recovery: { readonly level: number; readonly from: number } | undefined;

  constructor(perMinute: number) {
    this.perMinute = perMinute;
  }

  /** The calls per minute allowed now: less than configured while recovering from an overload answer. */
  inForce(now: number): number {
    if (this.#recovery === undefined) return this.perMinute;
    const { level, from } = this.#recovery;
    const steps = Math.max(0, Math.floor((now - from) / RECOVERY_STEP));
    return Math.min(this.perMinute, level + steps * Math.ceil(this.perMinute / RECOVERY_STEPS));
  }

  /** When the pause ends; undefined when not paused. */
  pausedUntil(now: number): number | undefined {
    return now < this.#pausedUntil ? this.#pausedUntil : undefined;
  }

  /** When the last pause ended or will end; -Infinity when there was none. */
  get lastPauseEnd(): number {
    return this.#pausedUntil;
  }

  /** Calls started in the last 60 seconds. */
  lastMinute(now: number): number {
    this.#starts = after(this.#starts, now - MINUTE);
    return this.#starts.length;
  }

  /** When fewer than `calls` calls will have started in the last 60 seconds, if none starts until then; `calls` is at least 1. */
  fewerStarts(calls: number, now: number): number {
    const over = this.lastMinute(now) - calls;
    return over < 0 ? now : (this.#starts[over] ?? now) + MINUTE;
  }

  /** Calls that could start from now until `until`, if none in flight ends and the rate in force stays. */
  freeBy(now: number, until: number): number {
    if (this.#pausedUntil > until) return 0;
    const counted = this.#release.length - countUntil(this.#release, until);
    return Math.max(0, this.inForce(now) - this.inFlight - counted);
  }

  /** When the next call may start: now, a later time, or undefined when only the end of a call in flight can tell. */
  nextStart(now: number): number | undefined {
    if (now < this.#pausedUntil) return this.#pausedUntil;
    this.#release = after(this.#release, now);
    const allowed = this.inForce(now);
    const excess = this.inFlight + this.#release.length - allowed;
    if (excess < 0) return now;
    const release = this.#release[excess] ?? Infinity;
    const next = Math.min(release, this.#nextStep(now, allowed));
    return Number.isFinite(next) ? next : undefined;
  }

  /** A call starts; `nextStart` must have allowed it. */
  start(now: number): void {
    this.inFlight += 1;
    // Nobody may ever ask for the status.
    if (this.#starts.length > 2 * this.perMinute) this.#starts = after(this.#starts, now - MINUTE);
    this.#starts.push(now);
  }

  /** A call has ended, well or not. */
  end(now: number): void {
    this.inFlight -= 1;
    this.#release.push(now + COUNTED);
  }

  /** A call that was started was not made after all. */
  refund(): void {
    this.inFlight -= 1;
    this.#starts.pop();
  }

  /** A call that began at `startedAt` was answered well: after it, blind pauses begin small again. */
  accepted(startedAt: number): void {
    if (startedAt > this.#overloadedAt) this.#overloads = 0;
  }

  /**
   * Upstream answered a call that began at `startedAt` with an overload. Pauses for `waitMs`, or without it for 5 seconds,
   * doubling up to 60 while it repeats, and never for more than 5 minutes; afterwards half the rate is in force and comes
   * back in steps of a tenth every 10 seconds. Answers to calls that were in flight together count once.
   */
  overloaded(now: number, startedAt: number, waitMs: number | undefined): void {
    const first = startedAt > this.#overloadedAt;
    if (first) {
      const level = Math.max(1, Math.floor(this.inForce(now) / 2));
      this.#overloads += 1;
      this.#overloadedAt = now;
      this.#recovery = { level, from: now };
    }
    const blind = first ? backoff(this.#overloads, FIRST_PAUSE, LONGEST_BLIND_PAUSE) : 0;
    const asked = waitMs === undefined ? blind : Math.max(waitMs, SHORTEST_PAUSE);
    const latest = this.#overloadedAt + LONGEST_PAUSE;
    this.#pausedUntil = Math.max(this.#pausedUntil, Math.min(now + asked, latest));
    if (this.#recovery !== undefined) this.#recovery = { level: this.#recovery.level, from: this.#pausedUntil };
  }

  /** When the rate in force next grows. */
  #nextStep(now: number, allowed: number): number {
    if (this.#recovery === undefined || allowed >= this.perMinute) return Infinity;
    const { from } = this.#recovery;
    return from + (Math.floor((now - from) / RECOVERY_STEP) + 1) * RECOVERY_STEP;
  }
}

/** How many of the ascending times are not after `limit`. */
function countUntil(times: readonly number[], limit: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? Infinity) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The ascending times after `limit`; the same array where that is all of them. */
function after(times: number[], limit: number): number[] {
  const old = countUntil(times, limit);
  return old === 0 ? times : times.slice(old);
}
