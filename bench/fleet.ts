/** The size of a canned account. */
export interface FleetSize {
  readonly applications: number;
  readonly hostsPerApplication: number;
}

/** The number of the canned account, for NerdGraph. */
export const ACCOUNT_ID = 1_234_567;

/** The number of accounts that the key sees. All have the same applications. */
export const ACCOUNTS_OF_KEY = 50;

/** The number of rows in the result of each configured query. */
export const ROWS_OF_A_QUERY = 200;

/** The columns of the golden metrics of each entity. */
export const GOLDEN_SELECTS = [
  'rate(count(duration), 1 minute)',
  'sum(errors) * 100 / count(duration)',
  'average(duration)',
];

/** Returns the guid of the service for an application. Ids of services have 19 digits. */
export function serviceGuid(application: number): string {
  return Buffer.from(`${ACCOUNT_ID}|EXT|SERVICE|${8_000_000_000_000_000_000n + BigInt(application)}`).toString(
    'base64',
  );
}

/** Metrics with the values of an Apdex. */
export const APDEX_METRICS = ['EndUser/Apdex', 'Apdex'];

export const DATASTORE = 'Datastore/MySQL/allWeb';

/** The other metrics of every application and host. */
export const TIMED_METRICS = [
  'HttpDispatcher',
  'EndUser',
  'OtherTransaction/all',
  'WebTransactionTotalTime',
  'WebFrontend/QueueTime',
  'Database/allWeb',
  'ActiveRecord/all',
  'Memcache/allWeb',
  'External/allWeb',
  DATASTORE,
  'Errors/all',
  'Memory/Physical',
  'CPU/User Time',
];

/** Records on a page of a list, as at New Relic. */
const PAGE_SIZE = 200;

/** Returns the number of pages for a list with this many records. */
export function pagesOf(records: number): number {
  return Math.max(1, Math.ceil(records / PAGE_SIZE));
}

/** Returns the ids of the applications on a page, counted from 0. */
export function idsOnPage({ applications }: FleetSize, page: number): number[] {
  const first = page * PAGE_SIZE + 1;
  return Array.from({ length: Math.min(PAGE_SIZE, applications - page * PAGE_SIZE) }, (_, index) => first + index);
}

export function applicationName(id: number): string {
  return `checkout-service-${id}`;
}

export function hostIds(application: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => application * 1000 + index);
}

export function hostName(id: number): string {
  return `node-${id}.example`;
}
