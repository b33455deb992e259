import type { Timeslice } from './types.ts';

/**
 * Length of a timeslice in seconds: whole minutes, because upstream may give its end inclusive (`:59`), and at least one,
 * the shortest that upstream answers.
 */
export function secondsOf({ from, to }: Pick<Timeslice, 'from' | 'to'>): number {
  return Math.max(60, Math.round((to - from) / 60) * 60);
}

/** The end of a timeslice on the minute. */
export function endOf(timeslice: Timeslice): number {
  return timeslice.from + secondsOf(timeslice);
}
