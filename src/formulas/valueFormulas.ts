import { METRIC } from './metricInputs.ts';

/** The row of one metric of one application or host, or of a key transaction, with the column names of the query. */
export interface MetricRow {
  /** Count. */
  readonly c: number;
  /** Sum. */
  readonly t: number;
  /**
   * Sum of the exclusive part; for a key transaction, its errors. This column and those below are undefined where they were not
   * requested or cannot be read.
   */
  readonly x: number | undefined;
  readonly mn: number | undefined;
  readonly mx: number | undefined;
  /** Sum of squares. */
  readonly q: number | undefined;
}

/** The rows of one application or host, by metric name. */
export type MetricRows = ReadonlyMap<string, MetricRow>;

/**
 * A metric that agents report once a minute, so it shows that an application or host reports. It is our inference that agents of
 * every language send it, with a host.
 */
export const SIGN_OF_LIFE = 'Agent/MetricsReported/count';

/**
 * Calculates a value of a row; undefined where it is not known. `seconds` is the length of the window of the response. `rows` are
 * all rows of the same application or host and window: the total memory depends on how often it reported.
 */
export type Formula = (
  row: MetricRow,
  about: { readonly name: string; readonly seconds: number; readonly rows: MetricRows },
) => number | undefined;

const calls: Formula = ({ c }) => c;
const callsPerMinute: Formula = ({ c }, { seconds }) => (60 * c) / seconds;
const percentOfWindow: Formula = ({ t }, { seconds }) => (100 * t) / seconds;

/** An average without data has no value. */
const average: Formula = ({ c, t }) => (c > 0 ? t / c : undefined);
const averageExclusive: Formula = ({ c, x }) => (x === undefined || c <= 0 ? undefined : x / c);
const averageSquares: Formula = ({ c, q }) => (q === undefined || c <= 0 ? undefined : q / c);

const times = (factor: number, formula: Formula): Formula => {
  return (row, about) => {
    const value = formula(row, about);
    return value === undefined ? undefined : factor * value;
  };
};

/** Browser metrics use the columns for other times: `x` is the front-end time, `q` the time in the application. */
const networkSeconds: Formula = ({ t, x, q }) => (x === undefined || q === undefined ? undefined : t - x - q);
const averageBackEnd: Formula = ({ c, t, x }) => (x === undefined || c <= 0 ? undefined : (t - x) / c);

const score: Formula = ({ c: satisfied, t: tolerating, x: frustrated }) =>
  frustrated === undefined ? undefined : (satisfied + tolerating / 2) / (satisfied + tolerating + frustrated);

type Formulas = Readonly<Record<string, Formula>>;

/** The values that make sense for any metric. */
const GENERAL: Formulas = {
  average_value: average,
  total_value: ({ t }) => t,
  min_value: ({ mn }) => mn,
  max_value: ({ mx }) => mx,
  standard_deviation: standardDeviation,
  count: calls,
  call_count: calls,
  calls_per_minute: callsPerMinute,
  requests_per_minute: callsPerMinute,
  throughput: ({ c }, { seconds }) => c / seconds,
  rate: ({ t }, { seconds }) => t / seconds,
  average_response_time: times(1000, average),
  // New Relic's page averages quotients minute by minute, which differs slightly from the quotient of the sums.
  average_exclusive_time: times(1000, averageExclusive),
  min_response_time: times(1000, ({ mn }) => mn),
  max_response_time: times(1000, ({ mx }) => mx),
  total_call_time_per_minute: ({ t }, { seconds }) => (60 * t) / seconds,
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
  total_time: ({ t }) => 1000 * t,
  error_count: calls,
  errors_per_minute: callsPerMinute,
  // For CPU this adds up the shares of several hosts. It is our inference that the REST interface does the same.
  percent: (row, about) => (about.name === METRIC.cpu ? percentOfWindow : times(100, average))(row, about),
  as_percentage: times(100, average),
  utilization: percentOfWindow,
  time_percentage: percentOfWindow,
  visits_percentage: percentOfWindow,
  sessions_active: average,
  total_visits: ({ t }) => t,
  launch_count: calls,
  ...OF_MEMORY,
};

const APDEX: Formulas = {
  s: calls,
  t: ({ t }) => t,
  f: ({ x }) => x,
  count: ({ c, t, x }) => (x === undefined ? undefined : c + t + x),
  score,
  value: score,
  threshold: ({ mx }) => mx,
  threshold_min: ({ mn }) => mn,
};

const OF_DEVICES: Formulas = {
  average_fe_response_time: times(1000, averageExclusive),
  average_be_response_time: times(1000, averageBackEnd),
  // New Relic's page has no factor of 1,000 here, but the REST interface has milliseconds.
  average_network_time: (row, about) => (row.c > 0 ? times(1000 / row.c, networkSeconds)(row, about) : undefined),
  total_network_time: networkSeconds,
  network_time_percentage: (row, about) => times(1 / about.seconds, networkSeconds)(row, about),
  total_fe_time: ({ x }) => x,
  fe_time_percentage: ({ x }, { seconds }) => (x === undefined ? undefined : (100 * x) / seconds),
  average_dom_content_load_time: times(1000, average),
  total_dom_content_time: ({ t }) => 1000 * t,
  average_queue_time: times(1000, averageExclusive),
  total_queue_time: ({ x }) => (x === undefined ? undefined : 1000 * x),
  average_app_time: averageSquares,
  total_app_time: ({ q }) => q,
  average_sent_bytes: ({ x }) => (x === undefined ? undefined : 1000 * x),
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

/** True if the count, sum and exclusive sum are the satisfied, tolerating and frustrated requests. */
export function isApdex(metricName: string): boolean {
  const { apdex, endUserApdex } = METRIC;
  return metricName === apdex || metricName.startsWith(`${apdex}/`) || metricName.startsWith(endUserApdex);
}

/** The names of the values that are calculated with the sum of squares. */
export const NEED_SQUARES: ReadonlySet<string> = new Set([
  ...['standard_deviation', 'average_network_time', 'total_network_time', 'network_time_percentage'],
  ...['average_app_time', 'total_app_time'],
]);

/** The variance is at least 0, because rounding may make it slightly negative. */
function standardDeviation({ c, t, q }: MetricRow): number | undefined {
  if (q === undefined || c <= 0) return undefined;
  return 1000 * Math.sqrt(Math.max(0, q / c - (t / c) ** 2));
}

/**
 * The memory of all processes: the mean of a process times their number. Agents sample their memory several times a minute
 * and report once, so a sum of the samples would count each process many times. The result of the REST interface over several
 * minutes is not documented; New Relic's own pages calculate like this.
 */
function totalMemory(row: MetricRow, about: Parameters<Formula>[1]): number | undefined {
  const used = average(row, about);
  const signs = used === undefined ? undefined : about.rows.get(SIGN_OF_LIFE);
  return used === undefined || signs === undefined ? undefined : (used * 60 * signs.c) / about.seconds;
}
