import { isApdex, METRIC, type Columns } from './metricInputs.ts';
import { apdexScore, memoryOfAll } from './derivedValues.ts';

/**
 * A metric that agents report once a minute, so it shows that an application or host reports. It is our inference that agents of
 * every language send it, with a host.
 */
export const SIGN_OF_LIFE = 'Agent/MetricsReported/count';

type Row = Readonly<Record<'count' | 'sum' | 'exclusive' | 'min' | 'max' | 'squares', number>>;

/**
 * Calculates a value of a row, whose unknown columns are NaN; NaN or infinite where the value is not known. `seconds` is the
 * length of the window of the response. `rows` are all rows of the same application or host and window: the total memory depends
 * on how often it reported.
 */
type Formula = (
  row: Row,
  about: { readonly name: string; readonly seconds: number; readonly rows: ReadonlyMap<string, Columns> },
) => number;

const calls: Formula = ({ count }) => count;
const callsPerMinute: Formula = ({ count }, { seconds }) => (60 * count) / seconds;
const percentOfWindow: Formula = ({ sum }, { seconds }) => (100 * sum) / seconds;

const average: Formula = ({ count, sum }) => sum / count;
const averageExclusive: Formula = ({ count, exclusive }) => exclusive / count;

const times = (factor: number, formula: Formula): Formula => {
  return (row, about) => factor * formula(row, about);
};

/** Browser metrics use the columns for other times: `exclusive` is the front-end time, `squares` the time in the application. */
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
  // New Relic's page averages quotients minute by minute, which differs slightly from the quotient of the sums.
  average_exclusive_time: times(1000, averageExclusive),
  min_response_time: ({ min }) => 1000 * min,
  max_response_time: ({ max }) => 1000 * max,
  total_call_time_per_minute: ({ sum }, { seconds }) => (60 * sum) / seconds,
};

const OF_MEMORY: Formulas = {
  used_mb_by_host: average,
  used_bytes_by_host: times(1024 * 1024, average),
};

/** The same with other names of REST, each of which only some of the agents' own metrics have there. */
const ANY: Formulas = {
  ...GENERAL,
  average_call_time: times(1000, average),
  average_time: times(1000, average),
  total_time: ({ sum }) => 1000 * sum,
  error_count: calls,
  errors_per_minute: callsPerMinute,
  // For CPU this adds up the shares of several hosts. It is our inference that the REST interface does the same.
  percent: (row, about) => (about.name === METRIC.cpu ? percentOfWindow : times(100, average))(row, about),
  as_percentage: times(100, average),
  utilization: percentOfWindow,
  time_percentage: percentOfWindow,
  visits_percentage: percentOfWindow,
  sessions_active: average,
  total_visits: ({ sum }) => sum,
  launch_count: calls,
  ...OF_MEMORY,
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

const OF_DEVICES: Formulas = {
  average_fe_response_time: times(1000, averageExclusive),
  average_be_response_time: ({ count, sum, exclusive }) => (1000 * (sum - exclusive)) / count,
  // New Relic's page has no factor of 1,000 here, but the REST interface has milliseconds.
  average_network_time: (row, about) => (1000 * networkSeconds(row, about)) / row.count,
  total_network_time: networkSeconds,
  network_time_percentage: (row, about) => networkSeconds(row, about) / about.seconds,
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
 * The formulas for rows of NerdGraph, by kind of metric and by value name of the REST interface (New Relic's page "Migrate metric
 * timeslice queries to NRQL"). The results have its units: stored times are seconds, the REST interface has milliseconds.
 */
export const VALUES = {
  any: new Map(Object.entries(ANY)),
  /** An agent sends an Apdex metric as satisfied, tolerating, frustrated, threshold, threshold. */
  apdex: new Map(Object.entries(APDEX)),
  /** Browsers and mobile devices. */
  device: new Map(Object.entries({ ...ANY, ...OF_DEVICES })),
  memory: new Map(Object.entries({ ...ANY, total_used_mb: totalMemory })),
} satisfies Readonly<Record<string, ReadonlyMap<string, Formula>>>;

/** The names of the values that make sense for every metric of a kind: those to choose from. */
export const USUAL_VALUES: Readonly<Record<keyof typeof VALUES, readonly string[]>> = {
  any: Object.keys(GENERAL),
  apdex: Object.keys(APDEX),
  device: Object.keys({ ...GENERAL, ...OF_DEVICES }),
  memory: [...Object.keys({ ...GENERAL, ...OF_MEMORY }), 'total_used_mb'],
};

/** The kind of a metric, which decides what values it has. */
export function kindOf(metricName: string): keyof typeof VALUES {
  if (isApdex(metricName)) return 'apdex';
  if (/^(EndUser|Browser|Mobile)(\/|$)/.test(metricName)) return 'device';
  return metricName.startsWith('Memory/') ? 'memory' : 'any';
}

export const NEED_SQUARES: ReadonlySet<string> = new Set([
  ...['standard_deviation', 'average_network_time', 'total_network_time', 'network_time_percentage'],
  ...['average_app_time', 'total_app_time'],
]);

/** The variance is at least 0, because rounding may make it slightly negative. */
function standardDeviation({ count, sum, squares }: Row): number {
  return 1000 * Math.sqrt(Math.max(0, squares / count - (sum / count) ** 2));
}

function totalMemory(row: Row, { rows, seconds }: Parameters<Formula>[1]): number {
  return memoryOfAll(row, rows.get(SIGN_OF_LIFE), seconds);
}

/** Some values of a metric of these rows, under New Relic's names and in its units; unknown ones are absent. */
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
