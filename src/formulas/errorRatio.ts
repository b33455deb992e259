import { errorCount, requestCount } from './errors.ts';
import type { ErrorCounts } from './errors.ts';
import { finite } from './finite.ts';

/** Errors per request, web and others (the vendor's error rate as a ratio; contract 5.4). Absent without requests. */
export function errorRatio(counts: ErrorCounts): number | undefined {
  const errors = errorCount(counts);
  const requests = requestCount(counts);
  return errors === undefined || requests <= 0 ? undefined : finite(errors / requests);
}
