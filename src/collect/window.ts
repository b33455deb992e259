const MINUTE = 60_000;

/** The time range of metric data; both ends are Unix times in seconds, whole minutes. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/**
 * The window a refresh at `now` reads: `to = floor(now - delay, 1 minute)`, `from = to - length` (contract 4, point 1).
 * It is cut to the minute because upstream keeps one timeslice a minute and the newest ones are incomplete.
 *
 * @param now Unix milliseconds
 * @param collection window length and delay in milliseconds
 */
export function windowAt(now: number, collection: { readonly window: number; readonly delay: number }): Window {
  const to = Math.floor((now - collection.delay) / MINUTE) * MINUTE;
  return { from: (to - collection.window) / 1000, to: to / 1000 };
}
