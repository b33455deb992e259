/** What is known about errors and requests in a window. */
export interface ErrorCounts {
  readonly scope: 'application' | 'host';
  /** Whether upstream answered `Errors/all` at all, with an `error_count` or without. */
  readonly answered: boolean;
  readonly errorCount: number | undefined;
  /** `HttpDispatcher:call_count` and `OtherTransaction/all:call_count`. */
  readonly webCalls: number | undefined;
  readonly otherCalls: number | undefined;
}

/** All requests of the window; an absent count is 0 (contract 5.4). */
export function requestCount({ webCalls, otherCalls }: ErrorCounts): number {
  return (webCalls ?? 0) + (otherCalls ?? 0);
}

/**
 * The errors of the window (contract 5.4). An application without `Errors/all` recorded none while it had requests; on
 * a host the metric may not exist at all, so nothing is known.
 */
export function errorCount(counts: ErrorCounts): number | undefined {
  if (counts.errorCount !== undefined) return counts.errorCount;
  const noneRecorded = counts.scope === 'application' && !counts.answered && requestCount(counts) > 0;
  return noneRecorded ? 0 : undefined;
}
