import { secondsOf } from '../api/timeslice.ts';
import type { Timeslice } from '../api/types.ts';
import type { MetricWindow, WindowValues } from '../formulas/inputs.ts';

/**
 * The input of the calculations from what a summarized answer says of a metric: one timeslice; of several, the last.
 * Undefined for a metric without one: it was not answered.
 */
export function toMetricWindow(timeslices: readonly Timeslice[] | undefined): MetricWindow | undefined {
  const last = timeslices?.at(-1);
  return last === undefined ? undefined : { seconds: secondsOf(last), values: last.values };
}

/** The same for every metric of a summarized answer. */
export function toWindowValues(
  data: Iterable<readonly [name: string, timeslices: readonly Timeslice[]]>,
): WindowValues {
  const values = new Map<string, MetricWindow>();
  for (const [name, timeslices] of data) {
    const window = toMetricWindow(timeslices);
    if (window !== undefined) values.set(name, window);
  }
  return values;
}
