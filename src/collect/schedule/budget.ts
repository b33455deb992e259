import { backoff } from '../../api/backoff.ts';
import { MINUTE_MS } from '../../formulas/units.ts';

// All in milliseconds, but for the number of steps.
const FIRST_PAUSE = 5_000;
const LONGEST_UNANNOUNCED_PAUSE = MINUTE_MS;
const LONGEST_PAUSE = 300_000;
const SHORTEST_PAUSE = 1_000;
const RECOVERY_PERIOD = 10_000;
const RECOVERY_STEPS = 10;

/** Time for which an ended call still counts: a millisecond more than a minute, because times are rounded down. */
const COUNTED_AFTER_END = MINUTE_MS + 1;

/**
 * The calls an account may make: at most `perMinute` in any 60 seconds, none while paused. Pure: every method gets the time, in
 * milliseconds of a monotonic clock. A call counts from its start until 60 seconds after its end: New Relic counts it at some
 * time in between, so no 60 seconds of New Relic's clock can have more calls than the budget.
 */
export class Budget {
  perMinute: number;
  inFlight = 0;
  /** The times after which ended calls no longer count, oldest first. */
  readonly #release: number[] = [];
  /** The starts of the last minute, oldest first: for the status. */
  readonly #starts: number[] = [];
  /** No call may start before this time: the end of the pause, or of the last one. */
  lastPauseEnd = -Infinity;
  /**
   * The number of consecutive overloads, and the time of the last. Further overload responses to calls that began before that
   * time belong to the same overload.
   */
  #overloads = 0;
  #overloadedAt = -Infinity;
  /** The calls per minute and the time at which the last recovery began; undefined before the first overload. */
  #recovery: { readonly level: number; readonly from: number } | undefined;

  constructor(perMinute: number) {
    this.perMinute = perMinute;
  }

  /** The calls per minute that are allowed now: fewer than configured while it recovers from an overload. */
  inForce(now: number): number {
    if (this.#recovery === undefined) return this.perMinute;
    const { level, from } = this.#recovery;
    const steps = Math.max(0, Math.floor((now - from) / RECOVERY_PERIOD));
    return Math.min(this.perMinute, level + steps * Math.ceil(this.perMinute / RECOVERY_STEPS));
  }

  /** When the last call started. */
  lastStart = -Infinity;

  lastMinute(now: number): number {
    dropUntil(this.#starts, now - MINUTE_MS);
    return this.#starts.length;
  }

  /** The time when the next call may start: now, later, or Infinity when it depends on the end of a call in flight. */
  nextStart(now: number): number {
    if (now < this.lastPauseEnd) return this.lastPauseEnd;
    dropUntil(this.#release, now);
    const allowed = this.inForce(now);
    const excess = this.inFlight + this.#release.length - allowed;
    if (excess < 0) return now;
    return Math.min(this.#release[excess] ?? Infinity, this.#nextStep(now, allowed));
  }

  start(now: number): void {
    this.inFlight += 1;
    this.lastStart = now;
    // Starts that no one reads would pile up, so old ones are dropped here, too.
    dropUntil(this.#starts, now - MINUTE_MS);
    this.#starts.push(now);
  }

  end(now: number): void {
    this.inFlight -= 1;
    this.#release.push(now + COUNTED_AFTER_END);
  }

  /** Records that a call that began at `startedAt` succeeded: the next pause of unknown length is short again. */
  accepted(startedAt: number): void {
    if (startedAt > this.#overloadedAt) this.#overloads = 0;
  }

  /**
   * Records an overload response to a call that began at `startedAt`. Pauses for `waitMs`; without it for 5 seconds, doubling up
   * to 60 while overloads repeat; never for more than 5 minutes. Afterwards half the rate is in force, and rises by a tenth of
   * the limit every 10 seconds. Responses to calls that were in flight together count once.
   */
  overloaded(now: number, startedAt: number, waitMs: number | undefined): void {
    const isFirst = startedAt > this.#overloadedAt;
    if (isFirst) {
      this.#overloads += 1;
      this.#overloadedAt = now;
      this.#recovery = { level: Math.max(1, Math.floor(this.inForce(now) / 2)), from: now };
    }
    const unannounced = isFirst ? backoff(this.#overloads, FIRST_PAUSE, LONGEST_UNANNOUNCED_PAUSE) : 0;
    const wait = waitMs === undefined ? unannounced : Math.max(waitMs, SHORTEST_PAUSE);
    const latest = this.#overloadedAt + LONGEST_PAUSE;
    this.lastPauseEnd = Math.max(this.lastPauseEnd, Math.min(now + wait, latest));
    if (this.#recovery !== undefined) this.#recovery = { level: this.#recovery.level, from: this.lastPauseEnd };
  }

  #nextStep(now: number, allowed: number): number {
    if (this.#recovery === undefined || allowed >= this.perMinute) return Infinity;
    const { from } = this.#recovery;
    return from + (Math.floor((now - from) / RECOVERY_PERIOD) + 1) * RECOVERY_PERIOD;
  }
}

function dropUntil(times: number[], limit: number): void {
  while ((times[0] ?? Infinity) <= limit) times.shift();
}
