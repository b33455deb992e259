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

/** One datastore type, such as `Datastore/MySQL/allWeb`; `Datastore/allWeb` is the sum of all types and is none. */
const DATASTORE = /^Datastore\/[^/]+\/allWeb$/;

/** Whether this is the metric of one datastore type. */
export function isDatastore(metricName: string): boolean {
  return DATASTORE.test(metricName);
}

/** The datastore types among the metric names of an application, sorted, each once. */
export function datastoreNames(metricNames: readonly string[]): string[] {
  return [...new Set(metricNames.filter(isDatastore))].sort();
}
