import { isApdex, METRIC, type Columns } from './metricInputs.ts';
import { apdexScore, memoryOfAll } from './derivedValues.ts';

/**
 * Agents report this metric once a minute, so it shows that an application or host reports. We infer that agents of
 * every language send it, with a host.
 */
export const SIGN_OF_LIFE = 'Agent/MetricsReported/count';

type Row = Readonly<Record<'count' | 'sum' | 'exclusive' | 'min' | 'max' | 'squares', number>>;

/**
 * Calculates a value from a row of a metric. Unknown columns of the row are NaN; an unknown value is NaN or infinity.
 * `seconds` is the length of the window. `rows` are all rows of the application or host in that window: total memory
 * needs to know how often the application or host reported.
 */
type Formula = (
  row: Row,
  context: { readonly name: string; readonly seconds: number; readonly rows: ReadonlyMap<string, Columns> },
) => number;

const calls: Formula = ({ count }) => count;
const callsPerMinute: Formula = ({ count }, { seconds }) => (60 * count) / seconds;
const percentOfWindow: Formula = ({ sum }, { seconds }) => (100 * sum) / seconds;

const average: Formula = ({ count, sum }) => sum / count;
const averageExclusive: Formula = ({ count, exclusive }) => exclusive / count;

const times = (factor: number, formula: Formula): Formula => {
  return (row, context) => factor * formula(row, context);
};

/** In browser metrics, `exclusive` is the front-end time and `squares` is the time in the application. */
const networkSeconds: Formula = ({ sum, exclusive, squares }) => sum - exclusive - squares;

type Formulas = Readonly<Record<string, Formula>>;

const GENERAL: Formulas = {
  average_value: average,
  total_value: ({ sum }) => sum,
  min_value: ({ min }) => min,
  max_value: ({ max }) => max,
  standard_deviation: standardDeviation,
  count: calls,
  call_count: calls,
  calls_per_minute: callsPerMinute,
  requests_per_minute: callsPerMinute,
  throughput: ({ count }, { seconds }) => count / seconds,
  rate: ({ sum }, { seconds }) => sum / seconds,
  average_response_time: times(1000, average),
  // New Relic's migration page averages the quotients of single minutes. This quotient of sums differs slightly.
  average_exclusive_time: times(1000, averageExclusive),
  min_response_time: ({ min }) => 1000 * min,
  max_response_time: ({ max }) => 1000 * max,
  total_call_time_per_minute: ({ sum }, { seconds }) => (60 * sum) / seconds,
};

const MEMORY: Formulas = {
  used_mb_by_host: average,
  used_bytes_by_host: times(1024 * 1024, average),
};

/** Adds REST names that only some metrics of the agents have. */
const ANY: Formulas = {
  ...GENERAL,
  average_call_time: times(1000, average),
  average_time: times(1000, average),
  total_time: ({ sum }) => 1000 * sum,
  error_count: calls,
  errors_per_minute: callsPerMinute,
  // For CPU this adds up the shares of several hosts. We infer that REST does the same.
  percent: (row, context) => (context.name === METRIC.cpu ? percentOfWindow : times(100, average))(row, context),
  as_percentage: times(100, average),
  utilization: percentOfWindow,
  time_percentage: percentOfWindow,
  visits_percentage: percentOfWindow,
  sessions_active: average,
  total_visits: ({ sum }) => sum,
  launch_count: calls,
  ...MEMORY,
};

const APDEX: Formulas = {
  s: calls,
  t: ({ sum }) => sum,
  f: ({ exclusive }) => exclusive,
  count: ({ count, sum, exclusive }) => count + sum + exclusive,
  score: (row) => apdexScore(row),
  value: (row) => apdexScore(row),
  threshold: ({ max }) => max,
  threshold_min: ({ min }) => min,
};

const DEVICE: Formulas = {
  average_fe_response_time: times(1000, averageExclusive),
  average_be_response_time: ({ count, sum, exclusive }) => (1000 * (sum - exclusive)) / count,
  // New Relic's migration page has no factor of 1,000 here, but REST has milliseconds.
  average_network_time: (row, context) => (1000 * networkSeconds(row, context)) / row.count,
  total_network_time: networkSeconds,
  network_time_percentage: (row, context) => networkSeconds(row, context) / context.seconds,
  total_fe_time: ({ exclusive }) => exclusive,
  fe_time_percentage: ({ exclusive }, { seconds }) => (100 * exclusive) / seconds,
  average_dom_content_load_time: times(1000, average),
  total_dom_content_time: ({ sum }) => 1000 * sum,
  average_queue_time: times(1000, averageExclusive),
  total_queue_time: ({ exclusive }) => 1000 * exclusive,
  average_app_time: ({ count, squares }) => squares / count,
  total_app_time: ({ squares }) => squares,
  average_sent_bytes: ({ exclusive }) => 1000 * exclusive,
  average_received_bytes: times(1000, average),
};

/**
 * Formulas for rows of NerdGraph, by kind of metric and value name of REST (New Relic's page "Migrate metric
 * timeslice queries to NRQL"). Results have the units of REST: stored times are seconds, REST has milliseconds.
 */
export const VALUES = {
  any: new Map(Object.entries(ANY)),
  /** Count, sum and exclusive are satisfied, tolerating and frustrated requests; min and max are the threshold. */
  apdex: new Map(Object.entries(APDEX)),
  /** Browsers and mobile devices. */
  device: new Map(Object.entries({ ...ANY, ...DEVICE })),
  memory: new Map(Object.entries({ ...ANY, total_used_mb: totalMemory })),
} satisfies Readonly<Record<string, ReadonlyMap<string, Formula>>>;

/** The usual value names of each kind of metric. */
export const USUAL_VALUES: Readonly<Record<keyof typeof VALUES, readonly string[]>> = {
  any: Object.keys(GENERAL),
  apdex: Object.keys(APDEX),
  device: Object.keys({ ...GENERAL, ...DEVICE }),
  memory: [...Object.keys({ ...GENERAL, ...MEMORY }), 'total_used_mb'],
};

/** Returns the kind of a metric, which decides its values. */
export function kindOf(metricName: string): keyof typeof VALUES {
  if (isApdex(metricName)) return 'apdex';
  if (/^(EndUser|Browser|Mobile)(\/|$)/.test(metricName)) return 'device';
  return metricName.startsWith('Memory/') ? 'memory' : 'any';
}

/** Values whose formula needs the sum of squares. */
export const NEED_SQUARES: ReadonlySet<string> = new Set([
  ...['standard_deviation', 'average_network_time', 'total_network_time', 'network_time_percentage'],
  ...['average_app_time', 'total_app_time'],
]);

/** Rounding may make the variance slightly negative, so it is at least 0. */
function standardDeviation({ count, sum, squares }: Row): number {
  return 1000 * Math.sqrt(Math.max(0, squares / count - (sum / count) ** 2));
}

function totalMemory(row: Row, { rows, seconds }: Parameters<Formula>[1]): number {
  return memoryOfAll(row, rows.get(SIGN_OF_LIFE), seconds);
}

/** Returns the `wanted` values of a metric, with the names and units of New Relic; unknown values are absent. */
export function valuesOf(
  name: string,
  wanted: readonly string[],
  rows: ReadonlyMap<string, Columns>,
  seconds: number,
): Readonly<Record<string, number>> {
  const { count = NaN, sum = NaN, exclusive = NaN, min = NaN, max = NaN, squares = NaN } = rows.get(name) ?? {};
  const formulas = VALUES[kindOf(name)];
  const values: Record<string, number> = {};
  for (const each of wanted) {
    const value = formulas.get(each)?.({ count, sum, exclusive, min, max, squares }, { name, seconds, rows }) ?? NaN;
    if (Number.isFinite(value)) values[each] = value;
  }
  return values;
}
