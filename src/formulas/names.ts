/** Upstream's metric names that the derived calculations read (specification, "Metric names and value names"). */
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

const TIMED_CALLS = ['call_count', 'average_response_time'];
const APDEX = ['score', 's', 't', 'f', 'count', 'threshold'];

const USED_VALUES: Readonly<Record<(typeof METRIC)[keyof typeof METRIC], readonly string[]>> = {
  Apdex: APDEX,
  'EndUser/Apdex': APDEX,
  EndUser: TIMED_CALLS,
  HttpDispatcher: [...TIMED_CALLS, 'average_call_time', 'requests_per_minute'],
  'OtherTransaction/all': ['call_count', 'requests_per_minute'],
  'Errors/all': ['error_count'],
  WebTransactionTotalTime: TIMED_CALLS,
  'WebFrontend/QueueTime': TIMED_CALLS,
  'Database/allWeb': TIMED_CALLS,
  'ActiveRecord/all': TIMED_CALLS,
  'Memcache/allWeb': TIMED_CALLS,
  'External/allWeb': TIMED_CALLS,
  'Memory/Physical': ['total_used_mb', 'used_mb_by_host'],
  'CPU/User Time': ['percent'],
};

/** One database kind by its type, such as `Datastore/MySQL/allWeb`; `Datastore/allWeb` is the sum of all and is none. */
const DATASTORE = /^Datastore\/[^/]+\/allWeb$/;

/** Whether this is the metric of one datastore type. */
export function isDatastore(metricName: string): boolean {
  return DATASTORE.test(metricName);
}

/** The datastore types among the metric names of an application, sorted, each once (contract 4, point 6). */
export function datastoreNames(metricNames: readonly string[]): string[] {
  return [...new Set(metricNames.filter(isDatastore))].sort();
}

/** Every metric name of one metric data call for an application or a host (contract 4, point 5; 5.4). */
export function queryNames(datastores: readonly string[]): string[] {
  return [...Object.values(METRIC), ...datastores];
}

/** The value names of a metric that the calculations read, of a metric that they do not read none. */
export function usedValues(metricName: string): readonly string[] {
  if (Object.hasOwn(USED_VALUES, metricName)) return USED_VALUES[metricName as keyof typeof USED_VALUES];
  return isDatastore(metricName) ? TIMED_CALLS : [];
}
