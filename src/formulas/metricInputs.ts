/** Upstream's names of the metrics that the derived calculations read. */
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

/** Whether a metric is of one datastore type, such as `Datastore/MySQL/allWeb`; `Datastore/allWeb`, the sum of all, is none. */
export function isDatastore(metricName: string): boolean {
  // Asked of every row of an answer: most names are told by their beginning.
  return metricName.startsWith('Datastore/') && DATASTORE.test(metricName);
}

/** The datastore types among the metric names of an application, sorted, each once. */
export function datastoreNames(metricNames: readonly string[]): string[] {
  return [...new Set(metricNames.filter(isDatastore))].sort();
}

/**
 * Some of these values of one metric, in upstream's names and units; only finite numbers. A value that is missing here was
 * answered, but cannot be read (null, text): nobody knows what it is.
 */
export type Values<Value extends string> = Readonly<Partial<Record<Value, number>>>;

/** What upstream answered about one application or host over one window. */
export interface WindowValues {
  /** Length of the window that was answered, in whole minutes. */
  readonly seconds: number;
  /** By metric name. A metric that upstream did not answer has no entry: it is absent. */
  readonly metrics: ReadonlyMap<string, Values<string>>;
}

/** The values of a metric that counts calls and measures their time; the average is in milliseconds. */
export type TimedCalls = Values<'call_count' | 'average_response_time'>;

/** The number, or undefined where the calculation left the finite numbers: such a result is published as absent. */
export function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** The first value, or the second where the first is absent or 0, which it cannot be while there are requests. */
export function fallbackIfZero(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined || first === 0 ? second : first;
}
