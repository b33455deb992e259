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

/** The datastore types among the metric names of an application, sorted, each once. */
export function datastoreNames(metricNames: readonly string[]): string[] {
  return [...new Set(metricNames.filter(isDatastore))].sort();
}

/**
 * Some values of one metric, in New Relic's names and units; only finite numbers. A missing value was in the response but could
 * not be read (null, text): it is unknown, not absent.
 */
export type Values<Value extends string> = Readonly<Partial<Record<Value, number>>>;

/** The metric data of one application or host over one window. */
export interface WindowValues {
  /** Length of the window of the response, in whole minutes. */
  readonly seconds: number;
  /** By metric name. A metric that was not in the response has no entry. */
  readonly metrics: ReadonlyMap<string, Values<string>>;
}

/** The values of a metric that counts calls and measures their time; the average is in milliseconds. */
export type TimedCalls = Values<'call_count' | 'average_response_time'>;

/** The number, or undefined where the result is not finite: such a result is published as absent. */
export function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** The first value, or the second where the first is absent or 0; 0 is impossible while there are requests. */
export function fallbackIfZero(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined || first === 0 ? second : first;
}
