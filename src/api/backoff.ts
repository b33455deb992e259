/**
 * The one curve by which everything that failed waits longer: doubles with each failure in a row, from `first` up to `longest`.
 *
 * @param failures in a row, at least 1
 */
export function backoff(failures: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** Math.min(failures - 1, 30));
}
