import { finite } from './inputs.ts';
import type { MetricWindow } from './inputs.ts';

/** A count in a window of so many seconds as a rate per second; absent where the count is. */
export function perSecond(count: number | undefined, seconds: number | undefined): number | undefined {
  return count === undefined || seconds === undefined ? undefined : finite(count / seconds);
}

/**
 * Requests per second, from `requests_per_minute`. A rate that upstream rounded away to 0, or does not give, is taken from
 * the call count, which is exact.
 */
export function requestRate(
  requests: MetricWindow<'requests_per_minute' | 'call_count'> | undefined,
): number | undefined {
  const rate = requests?.values.requests_per_minute;
  const calls = requests?.values.call_count;
  const roundedAway = rate === 0 && calls !== undefined && calls > 0;
  return rate === undefined || roundedAway ? perSecond(calls, requests?.seconds) : rate / 60;
}
