import { perSecond } from './perSecond.ts';

/** `HttpDispatcher` for web requests, `OtherTransaction/all` for the others. */
interface RequestCounts {
  readonly requestsPerMinute: number | undefined;
  readonly calls: number | undefined;
  /** Length of the timeslice. */
  readonly seconds: number;
}

/**
 * Requests per second (contract 5.4, `web_requests` and `non_web_requests`). A rate that upstream rounded away to 0, or
 * does not give, is taken from the call count, which is exact.
 */
export function requestRate({ requestsPerMinute, calls, seconds }: RequestCounts): number | undefined {
  const roundedAway = requestsPerMinute === 0 && calls !== undefined && calls > 0;
  if (requestsPerMinute === undefined || roundedAway) return perSecond(calls, seconds);
  return requestsPerMinute / 60;
}
