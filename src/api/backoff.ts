/** The wait after a number of failures in a row: it doubles from `first` up to `longest`. All retries share this curve. */
export function backoff(failures: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** Math.min(failures - 1, 30));
}
