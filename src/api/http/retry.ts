const FIRST_CEILING = 500;
const HIGHEST_CEILING = 8_000;

/**
 * Milliseconds to wait before trying again: a random time up to a ceiling that doubles with each attempt ("full
 * jitter"), so that callers that failed together do not come back together.
 *
 * @param attempt 0 after the first failure
 * @param random gives numbers from 0 to below 1
 */
export function retryDelay(attempt: number, random: () => number): number {
  const ceiling = Math.min(FIRST_CEILING * 2 ** attempt, HIGHEST_CEILING);
  return Math.floor(random() * ceiling);
}
