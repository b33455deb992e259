import { secondsOf, type Timeslice } from '../types.ts';
import { isApdex, known, METRIC, type Columns } from '../../formulas/metricInputs.ts';

/** A timeslice in the units of the REST interface: milliseconds, rates per minute, percent, megabytes. */
export interface RestTimeslice extends Pick<Timeslice, 'from' | 'to'> {
  readonly values: Readonly<Record<string, number>>;
}

/** Timeslices by metric name, oldest first. */
export type MetricTimeslices = ReadonlyMap<string, readonly Timeslice[]>;

/** False where nothing is known of the time. */
export function isKnown({ columns }: Timeslice): boolean {
  return Object.keys(columns).length > 0;
}

/** The columns that the families read of a metric, and the wanted values; none where the timeslice has no values. */
export function columnsOf(metric: string, timeslice: RestTimeslice, wanted?: readonly string[]): Columns {
  const { values } = timeslice;
  if (Object.keys(values).length === 0) return {};
  const columns = ofFamilies(metric, values, timeslice);
  if (wanted === undefined) return columns;
  return { ...columns, values: Object.fromEntries(Object.entries(values).filter(([name]) => wanted.includes(name))) };
}

function ofFamilies(metric: string, values: RestTimeslice['values'], timeslice: RestTimeslice): Columns {
  if (isApdex(metric)) return ofApdex(values);
  // The share of the time that all processes together spent on a processor.
  if (metric === METRIC.cpu) return { sum: known(((values['percent'] ?? NaN) / 100) * secondsOf(timeslice)) };
  if (metric === METRIC.memory) return { memory: values['total_used_mb'], processMemory: values['used_mb_by_host'] };
  const {
    average_response_time: average = NaN,
    average_call_time: callTime = NaN,
    requests_per_minute: rate = NaN,
    [metric === METRIC.errors ? 'error_count' : 'call_count']: count = NaN,
  } = values;
  return {
    count: known(count),
    // The mean time may be absent where there were no calls.
    sum: count === 0 ? 0 : known((count * average) / 1000),
    callTime: callTime === 0 ? undefined : known(callTime / 1000),
    mean: Number.isNaN(count) ? known(average / 1000) : undefined,
    rate: rate === 0 && count > 0 ? undefined : known(rate / 60),
  };
}

/** Without a count of requests, a score of 0 may be that of no requests. */
function ofApdex({
  s = NaN,
  t = NaN,
  f = NaN,
  count = s + t + f,
  score = NaN,
  threshold = NaN,
}: RestTimeslice['values']): Columns {
  const isVerdict = Number.isNaN(count) ? score !== 0 : count > 0;
  return {
    count: known(s),
    sum: known(t),
    exclusive: known(f),
    max: known(threshold),
    score: isVerdict ? score : NaN,
  };
}
