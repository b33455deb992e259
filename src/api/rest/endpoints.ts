import type { MetricDataQuery, MetricNameQuery } from '../reader.ts';
import { formatTime } from '../timestamps.ts';

/** What a call asks for: the address under the base address, and the path template it is counted under. */
export interface Target {
  /** As in api-facts 3, such as `/applications/{id}/hosts.json`: a label of bounded values (contract 5.5). */
  readonly endpoint: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
}

type Parameter = readonly [name: string, value: string];

function target(template: string, ids: Readonly<Record<string, number>>, query = ''): Target {
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

export function applicationList(ids: readonly number[] | undefined, links: boolean): Target {
  const parameters: Parameter[] = [...idFilter(ids), ...(links ? [] : [['exclude_links', 'true'] as const])];
  return target('/applications.json', {}, queryOf(parameters));
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

export function metricNames({ applicationId, hostId, name }: MetricNameQuery): Target {
  return metricTarget('metrics.json', applicationId, hostId, name === undefined ? '' : queryOf([['name', name]]));
}

/** @param raw asks for values that are not rounded to three digits (`raw=true`) */
export function metricData({ applicationId, hostId, ...query }: MetricDataQuery, raw: boolean): Target {
  const rest = queryOf([
    ['from', formatTime(query.from)],
    ['to', formatTime(query.to)],
    ...(query.summarize ? [['summarize', 'true'] as const] : []),
    ...(query.period === undefined ? [] : [['period', String(query.period)] as const]),
    ...(raw ? [['raw', 'true'] as const] : []),
  ]);
  return metricTarget('metrics/data.json', applicationId, hostId, `${namesQuery(query.names)}&${rest}`);
}

/** Metric data and names of a host differ from those of its application only by a path segment. */
function metricTarget(file: string, id: number, hostId: number | undefined, query: string): Target {
  return hostId === undefined
    ? target(`/applications/{id}/${file}`, { id }, query)
    : target(`/applications/{id}/hosts/{host_id}/${file}`, { id, host_id: hostId }, query);
}
