import { errorCount } from './errors.ts';
import type { ErrorCounts } from './errors.ts';
import { perSecond } from './perSecond.ts';

/** Errors per second over the timeslice (contract 5.4), with the reading of an absent `Errors/all` of the ratio. */
export function errorsPerSecond(counts: ErrorCounts, seconds: number): number | undefined {
  return perSecond(errorCount(counts), seconds);
}
