import { backoff } from '../../api/backoff.ts';
import { MINUTE_MS } from '../../formulas/units.ts';

// In milliseconds, except the number of steps.
const FIRST_PAUSE = 5_000;
const LONGEST_UNANNOUNCED_PAUSE = MINUTE_MS;
const LONGEST_PAUSE = 300_000;
const SHORTEST_PAUSE = 1_000;
const RECOVERY_PERIOD = 10_000;
const RECOVERY_STEPS = 10;

/** The time for which an ended call still counts: a millisecond more than a minute, because clocks round down. */
const COUNTED_AFTER_END = MINUTE_MS + 1;

/**
 * Permits at most `perMinute` calls of an account in any 60 seconds, and no call during a pause. Pure: every method
 * gets the time in milliseconds of a monotonic clock.
 *
 * A call counts from its start until 60 seconds after its end. New Relic counts the call somewhere in between, so no
 * 60 seconds of New Relic's clock can exceed the budget.
 */
export class Budget {
  perMinute: number;
  inFlight = 0;
  /** When each ended call stops counting, oldest first. */
  readonly #release: number[] = [];
  /** The starts of the calls of the last minute, oldest first, for the status. */
  readonly #starts: number[] = [];
  /** The end of the current or last pause. No call starts before this time. */
  lastPauseEnd = -Infinity;
  /** The number of overloads in a row. */
  #overloads = 0;
  /** The time of the last overload. Overload responses to calls that started earlier belong to the same overload. */
  #overloadedAt = -Infinity;
  /** The calls per minute at the start of the last recovery, and its time; undefined before the first overload. */
  #recovery: { readonly level: number; readonly from: number } | undefined;

  constructor(perMinute: number) {
    this.perMinute = perMinute;
  }

  /** Returns the calls per minute allowed now: fewer than configured during the recovery from an overload. */
  inForce(now: number): number {
    if (this.#recovery === undefined) return this.perMinute;
    const { level, from } = this.#recovery;
    const steps = Math.max(0, Math.floor((now - from) / RECOVERY_PERIOD));
    return Math.min(this.perMinute, level + steps * Math.ceil(this.perMinute / RECOVERY_STEPS));
  }

  lastStart = -Infinity;

  /** Returns the number of calls started in the last minute. */
  lastMinute(now: number): number {
    dropUntil(this.#starts, now - MINUTE_MS);
    return this.#starts.length;
  }

  /** Returns when the next call may start; Infinity if a call in flight must end first. */
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
    // Without a reader of the status, old starts would pile up.
    dropUntil(this.#starts, now - MINUTE_MS);
    this.#starts.push(now);
  }

  end(now: number): void {
    this.inFlight -= 1;
    this.#release.push(now + COUNTED_AFTER_END);
  }

  /** Records the success of a call that started at `startedAt`. The next unannounced pause is short again. */
  accepted(startedAt: number): void {
    if (startedAt > this.#overloadedAt) this.#overloads = 0;
  }

  /**
   * Records an overload response to a call that started at `startedAt`. Responses to calls that were in flight
   * together count once.
   *
   * Pauses for `waitMs`. Without `waitMs`, pauses for 5 seconds, and doubles the pause with each overload in a row,
   * up to 60 seconds. A pause lasts at most 5 minutes. After the pause, halves the rate and raises it by a tenth of
   * the limit every 10 seconds.
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
