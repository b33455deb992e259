import { isDatastore } from '../datastores.ts';

/** The names of the REST interface that this reader treats apart. */
export const WEB = 'HttpDispatcher';
export const NON_WEB = 'OtherTransaction/all';
export const ERRORS = 'Errors/all';
export const APDEX = 'Apdex';
export const END_USER = 'EndUser';
export const END_USER_APDEX = 'EndUser/Apdex';
export const MEMORY = 'Memory/Physical';
export const CPU = 'CPU/User Time';

/**
 * Agents report it once a minute: the sign that an application or host lives. That agents of every language send it, and
 * with a host, is our inference.
 */
export const SIGN_OF_LIFE = 'Agent/MetricsReported/count';

/** For what reports, these count 0 where nothing was recorded. */
export const ZERO_WITHOUT_ROW: readonly string[] = [WEB, NON_WEB, ERRORS];

/** Browsers report no host. */
const BROWSER: ReadonlySet<string> = new Set([END_USER, END_USER_APDEX]);

/** Sums that agents keep beside the metrics of single transactions: they are never reported for one transaction only. */
const ROLLUPS: ReadonlySet<string> = new Set([
  ...[WEB, NON_WEB, ERRORS, APDEX, END_USER, END_USER_APDEX, MEMORY, CPU, SIGN_OF_LIFE],
  ...['WebTransactionTotalTime', 'WebFrontend/QueueTime', 'Database/allWeb', 'ActiveRecord/all'],
  ...['Memcache/allWeb', 'External/allWeb'],
]);

/** What finds the metrics of all datastore types, such as `Datastore/MySQL/allWeb`. */
export const DATASTORES_LIKE = 'Datastore/%/allWeb';

export function isBrowser(name: string): boolean {
  return BROWSER.has(name);
}

export function isRollup(name: string): boolean {
  return ROLLUPS.has(name) || isDatastore(name);
}

/** Whether its count, sum and exclusive sum are the satisfied, tolerating and frustrated requests. */
export function isApdex(name: string): boolean {
  return name === APDEX || name.startsWith('Apdex/') || name.startsWith(END_USER_APDEX);
}

/** Only custom metrics may hold negative values. */
export function mayBeNegative(name: string): boolean {
  return name.startsWith('Custom/');
}
