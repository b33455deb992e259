/** New Relic's names of the metrics that the derived calculations read. */
export const METRIC = {
  apdex: 'Apdex',
  endUserApdex: 'EndUser/Apdex',
  endUser: 'EndUser',
  web: 'HttpDispatcher',
  nonWeb: 'OtherTransaction/all',
  errors: 'Errors/all',
  totalTime: 'WebTransactionTotalTime',
  queue: 'WebFrontend/QueueTime',
  database: 'Database/allWeb',
  activeRecord: 'ActiveRecord/all',
  memcache: 'Memcache/allWeb',
  external: 'External/allWeb',
  memory: 'Memory/Physical',
  cpu: 'CPU/User Time',
} as const;

const DATASTORE = /^Datastore\/[^/]+\/allWeb$/;

/** True for the metric of one datastore type, such as `Datastore/MySQL/allWeb`, but not for their sum, `Datastore/allWeb`. */
export function isDatastore(metricName: string): boolean {
  // This runs for every row of a response, and the prefix alone decides for most names.
  return metricName.startsWith('Datastore/') && DATASTORE.test(metricName);
}

/** True if the count, sum and exclusive sum are the satisfied, tolerating and frustrated requests. */
export function isApdex(metricName: string): boolean {
  const { apdex, endUserApdex } = METRIC;
  return metricName === apdex || metricName.startsWith(`${apdex}/`) || metricName.startsWith(endUserApdex);
}

/** The datastore types among the metric names of an application, sorted, each once. */
export function datastoreNames(metricNames: readonly string[]): string[] {
  return [...new Set(metricNames.filter(isDatastore))].sort();
}

/**
 * What was read of a metric over a window: times in seconds, memory in New Relic's megabytes of 1024² bytes. An Apdex metric has
 * its satisfied, tolerating and frustrated requests as count, sum and exclusive, and its threshold as min and max. A column is
 * undefined where it was not read, or cannot be read: it is unknown, not 0.
 */
export interface Columns {
  readonly count?: number | undefined;
  readonly sum?: number | undefined;
  /** Sum of the exclusive part; for a key transaction, its errors. */
  readonly exclusive?: number | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Sum of squares. */
  readonly squares?: number | undefined;
  // The other figures are those of the REST interface that its columns cannot give, because it rounds them or has no count for
  // them. Where one is undefined, it follows from the columns.
  /** Seconds per call; `mean` where the number of calls is unknown. */
  readonly callTime?: number | undefined;
  readonly mean?: number | undefined;
  /** Per second; undefined where it was rounded to 0. */
  readonly rate?: number | undefined;
  /** NaN without requests. */
  readonly score?: number | undefined;
  /** Megabytes: of all processes, and the mean of a process. */
  readonly memory?: number | undefined;
  readonly processMemory?: number | undefined;
  /** The values that custom metrics read, under New Relic's names and in its units. */
  readonly values?: Readonly<Record<string, number>> | undefined;
}

/** The metric data of one application or host over one window. */
export interface WindowValues {
  /** Length of the window of the response, in whole minutes. */
  readonly seconds: number;
  /** By metric name. A metric that was not in the response has no entry. */
  readonly metrics: ReadonlyMap<string, Columns>;
}

/** The columns of consecutive timeslices together, without a column that one of them lacks. */
export function mergeColumns(slices: readonly Columns[]): Columns {
  const total = (column: 'count' | 'sum' | 'exclusive' | 'squares'): number | undefined =>
    known(slices.reduce((sum, { [column]: value = NaN }) => sum + value, 0));
  return {
    count: total('count'),
    sum: total('sum'),
    exclusive: total('exclusive'),
    min: known(Math.min(...slices.map(({ min = NaN }) => min))),
    max: known(Math.max(...slices.map(({ max = NaN }) => max))),
    squares: total('squares'),
  };
}

/** The number, or undefined where it is not finite. */
export function known(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}
