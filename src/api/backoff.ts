/**
 * The waiting time after a failure: it doubles with each failure in a row, from `first` up to `longest`. All retries share this
 * curve.
 *
 * @param failures in a row, at least 1
 */
export function backoff(failures: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** Math.min(failures - 1, 30));
}
