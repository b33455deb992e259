import type { RateLimitSettings } from '../webConfig/webConfig.ts';

/** A token bucket that starts full. */
export class TokenBucket {
  readonly #settings: RateLimitSettings;
  readonly #now: () => number;
  #tokens: number;
  #countedAt: number;

  /** `now` gives milliseconds of a clock that never goes back. */
  constructor(settings: RateLimitSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
    this.#tokens = settings.burst;
    this.#countedAt = now();
  }

  /** Takes a token; false when there is none, so that the request is refused with 429. */
  take(): boolean {
    const now = this.#now();
    const earned = (now - this.#countedAt) / this.#settings.intervalMs;
    this.#tokens = Math.min(this.#settings.burst, this.#tokens + earned);
    this.#countedAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
