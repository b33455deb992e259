import { finite } from './finite.ts';

/** A count in a window as a rate per second; absent where the count is. */
export function perSecond(count: number | undefined, seconds: number): number | undefined {
  return count === undefined ? undefined : finite(count / seconds);
}
