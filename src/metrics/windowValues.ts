import type { MetricData, Timeslice } from '../api/types.ts';
import type { MetricWindow, WindowValues } from '../formulas/inputs.ts';

/**
 * The inputs of the calculations from a summarized answer, which has one timeslice per metric; of several, the last.
 * A metric without a timeslice was not answered.
 */
export function toWindowValues(data: MetricData): WindowValues {
  const windows = new Map<string, MetricWindow>();
  for (const [name, timeslices] of data) {
    const last = timeslices.at(-1);
    if (last !== undefined) windows.set(name, { seconds: secondsOf(last), values: last.values });
  }
  return windows;
}

/**
 * Length of a timeslice in seconds: whole minutes, because its end may be inclusive (`:59`; api-facts 4.1), and at
 * least one, the shortest that upstream answers.
 */
export function secondsOf({ from, to }: Pick<Timeslice, 'from' | 'to'>): number {
  return Math.max(60, Math.round((to - from) / 60) * 60);
}
