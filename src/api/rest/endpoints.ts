import type { MetricNameQuery, TimeRange } from '../reader.ts';
import { formatTime } from '../records/fields.ts';

/** What a call asks for: the address under the base address, and the path template it is counted under. */
export interface Target {
  /** Such as `/applications/{id}/hosts.json`: a label of bounded values. */
  readonly endpoint: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
}

type Parameter = readonly [name: string, value: string];

function target(template: string, ids: Readonly<Record<string, number | string>>, query = ''): Target {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name]));
  return { endpoint: template, path: query === '' ? path : `${path}?${query}` };
}

/**
 * The names of a metric data query as they travel, for each list of names that is still in use: making them costs more than
 * all else of an address.
 */
const namesQueries = new WeakMap<readonly string[], string>();

function namesQuery(names: readonly string[]): string {
  let query = namesQueries.get(names);
  if (query === undefined) {
    query = queryOf(names.map((name) => ['names[]', name]));
    namesQueries.set(names, query);
  }
  return query;
}

function queryOf(parameters: readonly Parameter[]): string {
  return parameters.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
}

/** Names come from outside and may hold half a surrogate pair, which `encodeURIComponent` refuses. */
function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
  }
}

const idFilter = (ids: readonly number[] | undefined): Parameter[] =>
  ids === undefined ? [] : [['filter[ids]', ids.join(',')]];

export function applicationList(ids: readonly number[] | undefined): Target {
  return target('/applications.json', {}, queryOf(idFilter(ids)));
}

export function application(id: number): Target {
  return target('/applications/{id}.json', { id });
}

export function keyTransactionList(ids: readonly number[] | undefined): Target {
  return target('/key_transactions.json', {}, queryOf(idFilter(ids)));
}

export function keyTransaction(id: number): Target {
  return target('/key_transactions/{id}.json', { id });
}

export function hostList(applicationId: number): Target {
  return target('/applications/{id}/hosts.json', { id: applicationId });
}

export function instanceList(applicationId: number): Target {
  return target('/applications/{id}/instances.json', { id: applicationId });
}

export function metricNames({ applicationId, hostKey, name }: MetricNameQuery): Target {
  return metricTarget('metrics.json', applicationId, hostKey, name === undefined ? '' : queryOf([['name', name]]));
}

/** What a metric data call asks for. */
export interface MetricDataQuery {
  readonly applicationId: number;
  readonly hostKey: string | undefined;
  readonly names: readonly string[];
  readonly range: TimeRange;
  /** True: one timeslice over the whole range. */
  readonly summarize: boolean;
  /** True: values that are not rounded to three digits. */
  readonly raw: boolean;
}

export function metricData({ applicationId, hostKey, names, range, summarize, raw }: MetricDataQuery): Target {
  const rest = queryOf([
    ['from', formatTime(range.from)],
    ['to', formatTime(range.to)],
    ...(summarize ? [['summarize', 'true'] as const] : []),
    ...(raw ? [['raw', 'true'] as const] : []),
  ]);
  return metricTarget('metrics/data.json', applicationId, hostKey, `${namesQuery(names)}&${rest}`);
}

/** Metric data and names of a host differ from those of its application only by a path segment. */
function metricTarget(file: string, id: number, hostKey: string | undefined, query: string): Target {
  return hostKey === undefined
    ? target(`/applications/{id}/${file}`, { id }, query)
    : target(`/applications/{id}/hosts/{host_id}/${file}`, { id, host_id: encoded(hostKey) }, query);
}
