import {
  ACCOUNT_ID,
  ACCOUNTS_OF_KEY,
  APDEX_METRICS,
  applicationName,
  DATASTORE,
  GOLDEN_SELECTS,
  hostIds,
  hostName,
  idsOnPage,
  pagesOf,
  ROWS_OF_A_QUERY,
  serviceGuid,
  TIMED_METRICS,
  type FleetSize,
} from './fleet.ts';

/** The parts of a NerdGraph request that determine the response. */
export interface GraphqlRequest {
  readonly query: string;
  readonly variables?: {
    readonly search?: string;
    readonly cursor?: string | null;
    readonly nrql?: string;
  };
}

const KNOWN = new Set(['Agent/MetricsReported/count', ...APDEX_METRICS, ...TIMED_METRICS]);

/** Returns a response with the same metrics as the REST upstream. `variant` changes all figures. */
export function graphqlBody(size: FleetSize, { query, variables }: GraphqlRequest, variant: number): Buffer {
  return Buffer.from(JSON.stringify({ data: { actor: actorOf(size, query, variables ?? {}, variant) } }), 'utf8');
}

function actorOf(
  size: FleetSize,
  query: string,
  { search, cursor, nrql }: NonNullable<GraphqlRequest['variables']>,
  variant: number,
): object {
  if (nrql?.includes('FACET entity.guid') === true) return { account: { nrql: goldenResult(nrql, variant) } };
  if (nrql?.includes('FROM Transaction') === true) return { account: { nrql: queryResult(nrql, variant) } };
  if (nrql !== undefined) return { account: { nrql: nrqlResult(size, nrql, variant) } };
  if (search === undefined) {
    if (query.includes('IN_REGION')) return { accounts: accountsOfKey() };
    return query.includes('accounts') ? { accounts: [{ id: ACCOUNT_ID, name: 'production' }] } : { entities: [] };
  }
  const listed = [applicationsOf, servicesOf].find((_, index) =>
    search.includes(["'APPLICATION'", "'SERVICE'"][index] ?? ''),
  );
  if (listed === undefined) return { entitySearch: { count: 0, results: { nextCursor: null, entities: [] } } };
  const page = Number(cursor ?? 0);
  const nextCursor = page + 1 < pagesOf(size.applications) ? String(page + 1) : null;
  return {
    entitySearch: {
      count: size.applications,
      results: { nextCursor, entities: listed(size, page, accountOf(search)) },
    },
  };
}

function accountsOfKey(): object[] {
  return Array.from({ length: ACCOUNTS_OF_KEY }, (_, index) => ({
    id: ACCOUNT_ID + index,
    name: `account ${index + 1}`,
  }));
}

function accountOf(search: string): number {
  return Number(/accountId = (\d+)/.exec(search)?.[1] ?? ACCOUNT_ID);
}

function applicationsOf(size: FleetSize, page: number, account: number): object[] {
  const { hostsPerApplication: hosts } = size;
  return idsOnPage(size, page).map((id) => ({
    guid: Buffer.from(`${account}|APM|APPLICATION|${id}`).toString('base64'),
    name: applicationName(id),
    accountId: account,
    reporting: true,
    alertSeverity: 'NOT_ALERTING',
    applicationId: id,
    language: 'java',
    apmSummary: { hostCount: hosts, instanceCount: hosts },
    settings: { apdexTarget: 0.5, serverSideConfig: true },
  }));
}

/** Lists a service for each application, which reports through OpenTelemetry. */
function servicesOf(size: FleetSize, page: number): object[] {
  const definition = { from: 'Metric', where: null, eventId: 'entity.guid', eventObjectId: 'ENTITY_GUIDS' };
  const metrics = GOLDEN_SELECTS.map((select, index) => ({
    ...{ name: `metric${index}`, title: `Metric ${index}`, unit: 'COUNT' },
    definition: { ...definition, select },
  }));
  return idsOnPage(size, page).map((id) => ({
    ...{ guid: serviceGuid(id), name: applicationName(id), accountId: ACCOUNT_ID, reporting: true },
    ...{ alertSeverity: 'NOT_ALERTING', tags: [{ key: 'team', values: ['payments'] }], goldenMetrics: { metrics } },
  }));
}

/**
 * Returns a row for each application, perhaps host, and metric in the query; with TIMESERIES, for each minute, too. All
 * applications have all metrics.
 */
function nrqlResult({ hostsPerApplication }: FleetSize, nrql: string, variant: number): object {
  const facets = /FACET (.+?) SINCE/.exec(nrql)?.[1]?.split(', ') ?? [];
  const ids = literals(nrql, 'appId').map(Number);
  const names = [...new Set(literals(nrql, 'metricTimesliceName'))].filter((name) => KNOWN.has(name));
  if (nrql.includes("LIKE 'Datastore/")) names.push(DATASTORE);
  const asked = new Set(literals(nrql, 'host'));
  const columns = [...nrql.matchAll(/(\w+)\(([^)]*)\) AS (\w+)/g)].map(([, name = '', argument = '', as = '']) => {
    return { as, value: columnValue(name, argument) };
  });
  const buckets = nrql.includes(' TIMESERIES 1 minute') ? minutesOf(nrql) : [{}];
  const results: object[] = [];
  for (const id of new Set(ids)) {
    const hosts = facets.includes('host') ? hostIds(id, hostsPerApplication).map(hostName) : [undefined];
    for (const host of hosts) {
      if (host !== undefined && asked.size > 0 && !asked.has(host)) continue;
      for (const name of names) {
        const facet = facets.map((attribute) =>
          attribute === 'appId' ? String(id) : attribute === 'host' ? host : name,
        );
        const x = variant + (id % 50) / 8;
        const values = Object.fromEntries(columns.map(({ as, value }) => [as, value(name, x)]));
        for (const bucket of buckets) results.push({ facet, ...bucket, ...values });
      }
    }
  }
  return { results, otherResult: null, metadata: { facets, messages: [], timeWindow: timeWindowOf(nrql) } };
}

/** Returns the rows of a query from `rowsOfQueries.ts`: two facets and two figures each. */
function queryResult(nrql: string, variant: number): object {
  const facets = ['region', 'plan'];
  const results = Array.from({ length: ROWS_OF_A_QUERY }, (_, row) => {
    const facet = [`region-${row % 20}`, `plan-${Math.floor(row / 20)}`];
    return { facet, region: facet[0], plan: facet[1], orders: 1800 + row + variant, took: 0.1 + row / 3000 + variant };
  });
  return { results, otherResult: null, metadata: { facets, messages: [], timeWindow: timeWindowOf(nrql) } };
}

/** Returns a row for each entity in the query. */
function goldenResult(nrql: string, variant: number): object {
  const columns = [...nrql.matchAll(/ AS (\w+)/g)].map(([, name = '']) => name);
  const results = literals(nrql, 'entity.guid').map((guid, row) => {
    const values = columns.map((name, index): [string, number] => [name, 1800 + row / 7 + index + variant]);
    return { facet: guid, 'entity.guid': guid, ...Object.fromEntries(values) };
  });
  return {
    results,
    otherResult: null,
    metadata: { facets: ['entity.guid'], messages: [], timeWindow: timeWindowOf(nrql) },
  };
}

function timeWindowOf(nrql: string): object {
  const [begin, end] = [/SINCE (\d+)/, /UNTIL (\d+)/].map((clause) => Number(clause.exec(nrql)?.[1]));
  return { begin, end };
}

function minutesOf(nrql: string): object[] {
  const [from = 0, to = 0] = [/SINCE (\d+)/, /UNTIL (\d+)/].map((clause) => Number(clause.exec(nrql)?.[1]) / 1000);
  return Array.from({ length: (to - from) / 60 }, (_, index) => {
    const beginTimeSeconds = from + 60 * index;
    return { beginTimeSeconds, endTimeSeconds: beginTimeSeconds + 60 };
  });
}

/** Returns the values after `attribute =` and `attribute IN`. */
function literals(nrql: string, attribute: string): string[] {
  const lists = nrql.matchAll(new RegExp(`\\b${attribute} (?:IN \\(([^)]*)\\)|= ('[^']*'|\\d+))`, 'g'));
  return [...lists].flatMap(([, list, one]) =>
    (list ?? one ?? '').split(',').map((each) => each.trim().replace(/^'|'$/g, '')),
  );
}

/** Returns the calculation of a column. Apdex has its three zones in count, total and totalExclusive. */
function columnValue(functionName: string, argument: string): (name: string, x: number) => number {
  const isApdex = (name: string): boolean => name.endsWith('Apdex');
  const calls = (x: number): number => 1800 + Math.floor(x * 10);
  if (functionName === 'min') return (name) => (isApdex(name) ? 0.5 : 0.0015);
  if (functionName === 'max') return (name, x) => (isApdex(name) ? 0.5 : 0.9 + x / 1000);
  if (argument.includes('totalExclusive')) return (name, x) => (isApdex(name) ? 50 : calls(x) * 0.04);
  if (functionName === 'count' || argument.includes("'count'"))
    return (name, x) => calls(name === 'Errors/all' ? 0 : x);
  return (name, x) => (isApdex(name) ? 250 : calls(x) * (0.1 + x / 3000));
}
