import type { Answer } from './answer.ts';

const DOCUMENTATION =
  'https://docs.newrelic.com/docs/apis/rest-api-v2/requirements/api-overload-protection-preventing-429-errors';

/** The 429 of an account that made too many calls; `reset` in Unix seconds (api-facts 5, Limits). */
export function limited(limit: number, reset: number): Answer {
  return {
    status: 429,
    body: {},
    headers: {
      'X-RateLimit-Limit': String(limit),
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(reset),
      'X-RateLimit-Docs': DOCUMENTATION,
    },
  };
}

/** Counts the calls of each minute of the clock, per key. */
export class RateLimit {
  readonly #callsPerMinute: number;
  #minute = 0;
  #calls = new Map<string, number>();

  /** 0 means no limit. */
  constructor(callsPerMinute: number) {
    this.#callsPerMinute = callsPerMinute;
  }

  /** Counts one call of a key; its answer when it is one too many. */
  count(key: string, now: number): Answer | undefined {
    if (this.#callsPerMinute === 0) return undefined;
    const minute = Math.floor(now / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#calls.clear();
    }
    const calls = (this.#calls.get(key) ?? 0) + 1;
    this.#calls.set(key, calls);
    return calls > this.#callsPerMinute ? limited(this.#callsPerMinute, (minute + 1) * 60) : undefined;
  }
}
