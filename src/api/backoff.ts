/** Returns the wait after `failures` failures in a row. It doubles from `first` up to `longest`. */
export function backoff(failures: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** Math.min(failures - 1, 30));
}
