import type { Gate } from '../../api/reader.ts';
import type { Clock } from './clock.ts';

/** How much the newest reading counts in the average duration of a call. */
const NEWEST_SHARE = 0.1;

/** The calls of one reading: how many have ended, how long they took together, and when the last of them began. */
export interface CallTally {
  count: number;
  ms: number;
  lastStart: number;
}

/** Counts the calls of an account and measures how long they take. All times are milliseconds of the monotonic clock. */
export class CallMeter {
  readonly #clock: Clock;
  #averageCall: number | undefined;
  #lastProgress: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastProgress = clock.monotonic();
  }

  /** Moving average of how long a call that ended well took, in milliseconds; undefined before the first. */
  get averageCall(): number | undefined {
    return this.#averageCall;
  }

  /** When a call last started or ended, or work came after there was none. */
  get lastProgress(): number {
    return this.#lastProgress;
  }

  /** Work came after there was none: time without calls counts from now on. */
  workBegins(): void {
    this.#lastProgress = this.#clock.monotonic();
  }

  /** The same gate; its calls are counted in `tally`. */
  watch(gate: Gate, tally: CallTally): Gate {
    return {
      enter: async (signal) => {
        const release = await gate.enter(signal);
        const startedAt = this.#clock.monotonic();
        this.#lastProgress = startedAt;
        return (overload) => {
          const now = this.#clock.monotonic();
          this.#lastProgress = now;
          tally.count += 1;
          tally.ms += now - startedAt;
          tally.lastStart = startedAt;
          release(overload);
        };
      },
    };
  }

  /** Takes the calls of a reading that ended well, at least one, into the average. */
  learn({ count, ms }: CallTally): void {
    const newest = ms / count;
    this.#averageCall ??= newest;
    this.#averageCall += (newest - this.#averageCall) * NEWEST_SHARE;
  }
}
