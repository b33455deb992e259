/** Names of the New Relic metrics that the derived calculations read. */
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

/**
 * True for the metric of one datastore type, such as `Datastore/MySQL/allWeb`, but not for their sum,
 * `Datastore/allWeb`.
 */
export function isDatastore(metricName: string): boolean {
  // Check the prefix first: it decides for most names, and this runs for every row of a response.
  return metricName.startsWith('Datastore/') && DATASTORE.test(metricName);
}

/** True if count, sum and exclusive sum are satisfied, tolerating and frustrated requests. */
export function isApdex(metricName: string): boolean {
  const { apdex, endUserApdex } = METRIC;
  return metricName === apdex || metricName.startsWith(`${apdex}/`) || metricName.startsWith(endUserApdex);
}

/** Returns the datastore types among the metric names of an application, sorted, without duplicates. */
export function datastoreNames(metricNames: readonly string[]): string[] {
  return [...new Set(metricNames.filter(isDatastore))].sort();
}

/**
 * The columns of a metric over a window. Times are seconds, memory is megabytes of 1024² bytes. For an Apdex metric,
 * count, sum and exclusive are satisfied, tolerating and frustrated requests; min and max are the threshold. An
 * undefined column is unknown, not 0: it was not read or is unreadable.
 */
export interface Columns {
  readonly count?: number | undefined;
  readonly sum?: number | undefined;
  /** Sum of the exclusive part; for a key transaction, errors. */
  readonly exclusive?: number | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Sum of squares. */
  readonly squares?: number | undefined;
  // The figures below come from the REST interface. The columns cannot give them, because REST rounds them or has no
  // count. An undefined figure follows from the columns.
  /** Seconds per call; `mean` if the number of calls is unknown. */
  readonly callTime?: number | undefined;
  readonly mean?: number | undefined;
  /** Per second; undefined if REST rounded it to 0. */
  readonly rate?: number | undefined;
  /** NaN without requests. */
  readonly score?: number | undefined;
  /** Megabytes of all processes, and the mean of a process. */
  readonly memory?: number | undefined;
  readonly processMemory?: number | undefined;
  /** Values for custom metrics, with the names and units of New Relic. */
  readonly values?: Readonly<Record<string, number>> | undefined;
}

/** The metric data of one application or host over one window. */
export interface WindowValues {
  /** Length of the window of the response; whole minutes, in seconds. */
  readonly seconds: number;
  /** By metric name. A metric that the response lacks has no entry. */
  readonly metrics: ReadonlyMap<string, Columns>;
}

/** Merges the columns of consecutive timeslices. Omits a column that any of them lacks. */
export function mergeColumns(slices: readonly Columns[]): Columns {
  const total = (column: 'count' | 'sum' | 'exclusive' | 'squares'): number | undefined =>
    finiteOrUndefined(slices.reduce((sum, { [column]: value = NaN }) => sum + value, 0));
  return {
    count: total('count'),
    sum: total('sum'),
    exclusive: total('exclusive'),
    min: finiteOrUndefined(Math.min(...slices.map(({ min = NaN }) => min))),
    max: finiteOrUndefined(Math.max(...slices.map(({ max = NaN }) => max))),
    squares: total('squares'),
  };
}

/** Returns the number, or undefined if it is not finite. */
export function finiteOrUndefined(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}
