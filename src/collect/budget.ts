const MINUTE = 60_000;
const FIRST_PAUSE = 5_000;
const LONGEST_BLIND_PAUSE = 60_000;
const LONGEST_PAUSE = 300_000;
const SHORTEST_PAUSE = 1_000;
const RECOVERY_STEP = 10_000;
const RECOVERY_STEPS = 10;

/**
 * The calls an account may make: at most `perMinute` in any 60 seconds, none while paused (contract 4, points 3 and 8).
 * Pure: every method is told the time in Unix milliseconds.
 *
 * A call counts from its start until 60 seconds after its end: upstream sees it somewhere in between, so no 60 seconds of
 * the upstream's clock can hold more calls than the budget.
 */
export class Budget {
  #perMinute: number;
  #inFlight = 0;
  /** When ended calls stop counting, oldest first. */
  readonly #release: number[] = [];
  /** Starts of the last minute, oldest first: what the status shows. */
  readonly #starts: number[] = [];
  #pausedUntil = 0;
  #overloads = 0;
  /** The rate in force when recovery begins, and when that is; undefined when the whole budget is in force. */
  #recovery: { readonly level: number; readonly from: number } | undefined;

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  get perMinute(): number {
    return this.#perMinute;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Changes the limit (reload); what was spent stays spent. */
  resize(perMinute: number): void {
    this.#perMinute = perMinute;
  }

  /** The calls per minute allowed now: less than configured while recovering from an overload answer. */
  inForce(now: number): number {
    if (this.#recovery === undefined) return this.#perMinute;
    const steps = Math.max(0, Math.floor((now - this.#recovery.from) / RECOVERY_STEP));
    const level = this.#recovery.level + steps * Math.ceil(this.#perMinute / RECOVERY_STEPS);
    if (level < this.#perMinute) return level;
    this.#recovery = undefined;
    return this.#perMinute;
  }

  /** Unix milliseconds, or undefined when not paused. */
  pausedUntil(now: number): number | undefined {
    return now < this.#pausedUntil ? this.#pausedUntil : undefined;
  }

  /** Calls started in the last 60 seconds. */
  lastMinute(now: number): number {
    dropUntil(this.#starts, now - MINUTE);
    return this.#starts.length;
  }

  /** Calls that could start at `now`, leaving the pause aside. */
  free(now: number): number {
    dropUntil(this.#release, now);
    return Math.max(0, this.inForce(now) - this.#inFlight - this.#release.length);
  }

  /** Calls that could start from now until `until`, if none in flight ends. */
  freeBy(now: number, until: number): number {
    if (this.#pausedUntil > until) return 0;
    const used = this.#inFlight + this.#release.filter((time) => time > until).length;
    return Math.max(0, this.inForce(now) - used);
  }

  /** When the next call may start: now, a later time, or undefined when only the end of a call in flight can tell. */
  nextStart(now: number): number | undefined {
    if (now < this.#pausedUntil) return this.#pausedUntil;
    if (this.free(now) > 0) return now;
    const excess = this.#inFlight + this.#release.length - this.inForce(now);
    const release = this.#release[excess];
    const step = this.#recovery === undefined ? Infinity : now + RECOVERY_STEP;
    const next = Math.min(release ?? Infinity, step);
    return Number.isFinite(next) ? next : undefined;
  }

  /** A call starts; `nextStart` must have allowed it. */
  start(now: number): void {
    this.#inFlight += 1;
    this.#starts.push(now);
  }

  /** A call has ended, well or not. */
  end(now: number): void {
    this.#inFlight -= 1;
    this.#release.push(now + MINUTE);
  }

  /** A call that was started was not made after all. */
  refund(): void {
    this.#inFlight -= 1;
    this.#starts.pop();
  }

  /** A call was answered without an overload: the blind pauses begin small again. */
  accepted(): void {
    this.#overloads = 0;
  }

  /**
   * Upstream said that it is overloaded. Pauses until `retryAt`, or without it for 5 seconds, doubling up to 60 while it
   * repeats, and never for more than 5 minutes; afterwards half the rate is in force and comes back in steps of a tenth
   * every 10 seconds. Answers to calls that were in flight together count once.
   *
   * @returns when the pause ends
   */
  overloaded(now: number, retryAt: number | undefined): number {
    const again = now < this.#pausedUntil;
    if (!again) {
      this.#overloads += 1;
      const level = Math.max(1, Math.floor(this.inForce(now) / 2));
      this.#recovery = { level, from: now };
    }
    const blind = Math.min(FIRST_PAUSE * 2 ** Math.min(this.#overloads - 1, 10), LONGEST_BLIND_PAUSE);
    const asked = retryAt === undefined ? (again ? 0 : blind) : Math.max(retryAt - now, SHORTEST_PAUSE);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.min(asked, LONGEST_PAUSE));
    if (this.#recovery !== undefined) this.#recovery = { level: this.#recovery.level, from: this.#pausedUntil };
    return this.#pausedUntil;
  }
}

function dropUntil(times: number[], limit: number): void {
  const first = times.findIndex((time) => time > limit);
  if (first !== 0) times.splice(0, first === -1 ? times.length : first);
}
