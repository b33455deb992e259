import { secondsOf } from '../api/timeslice.ts';
import type { Timeslice } from '../api/types.ts';
import type { MetricWindow } from '../formulas/inputs.ts';

/**
 * The input of the calculations from what a summarized answer says of a metric: one timeslice; of several, the last.
 * Undefined for a metric without one: it was not answered.
 */
export function toMetricWindow(timeslices: readonly Timeslice[] | undefined): MetricWindow | undefined {
  const last = timeslices?.at(-1);
  return last === undefined ? undefined : { seconds: secondsOf(last), values: last.values };
}
