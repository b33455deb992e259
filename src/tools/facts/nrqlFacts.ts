import { METRIC } from '../../formulas/metricInputs.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import { type FactTable } from './factRow.ts';
import { DAY_S, HOUR_S } from '../../formulas/units.ts';

/** A metric name that no agent sends. */
export const NO_METRIC = 'Exporter/Facts/NoSuchMetric';
/** An account that cannot exist: the largest number that NerdGraph accepts. */
const FOREIGN_ACCOUNT = 2_147_483_647;
const WINDOW = ['newrelic_application_*', 'newrelic_host_*'] as const;
const QUERIES = 'queries';
const REFERENCE = "New Relic's NRQL reference";
const ENTITIES = 'newrelic_<domain>_<type>_<metric> (entities)';

const COUNT = 'SELECT count(newrelic.timeslice.value) AS c FROM Metric WHERE';
const OF_LARGEST = `${COUNT} appId = {app} AND`;
const ALIVE = `metricTimesliceName = '${SIGN_OF_LIFE}'`;
const ALL_METRICS = `${COUNT} appId IN ({apps}) FACET appId, host, metricTimesliceName {time} LIMIT MAX`;
const FIVE_METRICS = `${OF_LARGEST} newrelic.timeslice.value IS NOT NULL FACET metricTimesliceName {time} LIMIT 5`;
/** Sums over a whole application: none of their rows should have a scope, which is a single transaction. */
const SUMS = [METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex, METRIC.memory, METRIC.cpu];
/** Names that fill a query to the length of the longest one that the exporter writes. */
const MANY_NAMES = Array.from({ length: 220 }, (_, index) => `'${NO_METRIC}/${index}'`);

const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

/** The row about a range of this length, which New Relic may cut to its steps. */
function window(over: number, maxShift: number, relies: string, wrong: readonly string[]) {
  const source = "New Relic's page on time ranges has no figure";
  return { relies, source, nrql: `${OF_LARGEST} ${ALIVE} {time}`, judge: 'window', over, maxShift, wrong } as const;
}

/** The assumptions about NerdGraph. */
export const NRQL_FACTS = {
  nerdgraph_app_id: {
    relies: 'appId in a condition is a number, without quotes',
    source: 'both forms stand in pages of New Relic',
    checkedBy: 'the largest application by its number, and by its number in quotes where that finds nothing',
    wrong: WINDOW,
  },
  nerdgraph_limit_max: {
    relies: 'LIMIT MAX gives 5,000 rows',
    source: `${REFERENCE}; one public project was cut at 4,899`,
    nrql: ALL_METRICS,
    judge: 'LIMIT MAX',
    wrong: WINDOW,
  },
  nerdgraph_facets: {
    relies: 'the values of several facets are a list of texts, in the order of metadata.facets',
    source: 'a published body',
    nrql: ALL_METRICS,
    judge: 'facets',
    wrong: WINDOW,
  },
  nerdgraph_other_result: {
    relies: 'what a LIMIT leaves out is summed up in otherResult',
    source: `${REFERENCE}; public code`,
    nrql: FIVE_METRICS,
    judge: 'otherResult',
    wrong: [...WINDOW, QUERIES],
  },
  nerdgraph_first_function: {
    relies: 'a LIMIT keeps the facets with the most of the first function',
    source: REFERENCE,
    nrql: FIVE_METRICS,
    judge: 'order',
    wrong: [QUERIES],
  },
  nerdgraph_no_row: {
    relies: 'a metric without data has no row',
    source: 'inferred',
    nrql: `${OF_LARGEST} metricTimesliceName IN (${quoted([METRIC.web, SIGN_OF_LIFE, NO_METRIC])}) FACET metricTimesliceName {time} LIMIT MAX`,
    judge: 'no row of an unknown name',
    wrong: ['newrelic_*_component_time_seconds', 'newrelic_*_apdex_requests'],
  },
  nerdgraph_half_hour: window(HOUR_S / 2, 0, 'a range of 30 minutes is answered to the minute', WINDOW),
  nerdgraph_hour: window(HOUR_S, 300, 'a range of an hour is cut by at most 5 minutes', [
    ...['collection.window', QUERIES, 'backfill'],
  ]),
  nerdgraph_day: window(DAY_S, 600, 'a range of a day is cut by at most 10 minutes', [QUERIES]),
  nerdgraph_timeout: {
    relies: 'the argument timeout takes 5 to 30 seconds',
    source: "New Relic's client library",
    nrql: `${OF_LARGEST} ${ALIVE} {time}`,
    judge: 'accepted',
    timeouts: [5, 30],
    wrong: ['limits.request_timeout'],
  },
  nerdgraph_hosts: {
    relies: 'rows of an application have its hosts, as many as apmSummary.hostCount',
    source: "New Relic's page on timeslice data; the equality is inferred",
    nrql: `${COUNT} appId IN ({apps}) AND host IS NOT NULL FACET appId, host {time} LIMIT MAX`,
    judge: 'hosts',
    over: HOUR_S,
    wrong: ['newrelic_host_*', 'newrelic_application_hosts'],
  },
  nerdgraph_host_query: {
    relies: "sum of value['totalExclusive'] by application, host and metric is legal",
    source: 'each part is documented, the whole was never seen',
    nrql: `SELECT sum(newrelic.timeslice.value['totalExclusive']) AS e FROM Metric WHERE appId = {app} AND ${ALIVE} FACET appId, host, metricTimesliceName {time} LIMIT MAX`,
    judge: 'accepted',
    wrong: ['newrelic_host_*'],
  },
  nerdgraph_sign_of_life: {
    relies: 'agents of every language send Agent/MetricsReported/count',
    source: "queries that New Relic's alerting generates; every language is inferred",
    checkedBy: 'up to three applications of each language that have other data',
    wrong: ['newrelic_application_memory_used_bytes', ...WINDOW],
  },
  nerdgraph_like: {
    relies: 'LIKE ignores case',
    source: REFERENCE,
    nrql: `${OF_LARGEST} (metricTimesliceName LIKE '${SIGN_OF_LIFE.toLowerCase()}' OR metricTimesliceName LIKE '${METRIC.web.toLowerCase()}') {time}`,
    judge: 'data',
    wrong: ['custom_metrics'],
  },
  nerdgraph_in_list: {
    relies: 'a list of numbers and texts is legal in IN',
    source: 'inferred',
    nrql: `${COUNT} appId IN ({app}, '{app}') AND ${ALIVE} {time}`,
    judge: 'accepted',
    wrong: [ENTITIES],
  },
  nerdgraph_unmatched: {
    relies: 'an application without data does not spoil a query of several',
    source: "New Relic's page on chart errors does not say; queries are halved where it does",
    nrql: `${COUNT} appId IN ({app}, 1) AND ${ALIVE} FACET appId {time} LIMIT MAX`,
    judge: 'accepted',
    wrong: ['the calls that plan counts for application_metrics'],
  },
  nerdgraph_query_length: {
    relies: 'a query may have 8,000 characters',
    source: 'inferred: a limit exists, its figure is not documented',
    checkedBy: 'a query of that length, made of metric names',
    nrql: `${OF_LARGEST} metricTimesliceName IN ('${METRIC.web}', ${MANY_NAMES.join(', ')}) {time}`,
    judge: 'accepted',
    wrong: WINDOW,
  },
  nerdgraph_names: {
    relies: 'uniques() gives up to 10,000 metric names',
    source: REFERENCE,
    nrql: 'SELECT uniques(metricTimesliceName, 10000) AS names FROM Metric WHERE appId = {app} {time}',
    judge: 'accepted',
    over: DAY_S,
    wrong: ['custom_metrics'],
  },
  nerdgraph_rollup_scope: {
    relies: 'sums such as HttpDispatcher are not stored again for single transactions',
    source: 'inferred',
    nrql: `${OF_LARGEST} metricTimesliceName IN (${quoted(SUMS)}) AND scope IS NOT NULL FACET metricTimesliceName {time} LIMIT MAX`,
    judge: 'no data',
    wrong: WINDOW,
  },
  nerdgraph_series: {
    relies: 'TIMESERIES 1 minute gives whole minutes',
    source: "New Relic's page on time ranges",
    nrql: `${OF_LARGEST} metricTimesliceName = '${METRIC.web}' {time} TIMESERIES 1 minute`,
    judge: 'whole minutes',
    wrong: ['counters', 'backfill'],
  },
  nerdgraph_syntax_error: {
    relies: 'a syntax error is told from a failure of New Relic',
    source: "New Relic's IDE extension: errorClass INVALID_INPUT",
    nrql: `${OF_LARGEST} metricTimesliceName = '${METRIC.web}' FACET`,
    judge: 'refused as our mistake',
    wrong: ['newrelic_exporter_api_failures_total', QUERIES],
  },
  nerdgraph_foreign_account: {
    relies: 'an account that the key does not see is told as forbidden',
    source: "New Relic's IDE extension: SERVER_ERROR with DataFetchingException",
    checkedBy: `account ${FOREIGN_ACCOUNT}, once`,
    nrql: `${COUNT} appId = 1 AND ${ALIVE} {time}`,
    judge: 'refused as forbidden',
    over: 60,
    account: FOREIGN_ACCOUNT,
    wrong: ['newrelic_exporter_api_failures_total'],
  },
  nerdgraph_percentile: {
    relies: 'percentile(x, 75) is an object with the key "75" or "75.0"',
    source: 'both were seen in public code',
    nrql: 'SELECT count(*) AS n, percentile(duration, 75) AS p FROM Transaction WHERE appId = {app} {time}',
    judge: 'percentile',
    over: HOUR_S,
    wrong: ['newrelic_transaction_duration_seconds', 'newrelic_browser_*', QUERIES],
  },
  nerdgraph_entity_page: {
    relies: 'a page of entitySearch has 200 entities, and nextCursor leads to others',
    source: "New Relic's client library and command line",
    checkedBy: 'two pages of all entities of the account',
    wrong: ['newrelic_up', 'newrelic_application_*'],
  },
  nerdgraph_key_transaction_id: {
    relies: 'the tag keyTransactionId has the id that REST gives a key transaction',
    source: "New Relic's Terraform provider",
    checkedBy: 'the first page of key transactions',
    wrong: ['newrelic_key_transaction_*'],
  },
  nerdgraph_application_guid: {
    relies: 'the guid of the owning application holds its id',
    source: 'inferred from published guids',
    checkedBy: 'the details of 25 key transactions',
    wrong: ['newrelic_key_transaction_*'],
  },
  nerdgraph_user: {
    relies: 'actor { user { id } } says whose key it is',
    source: "New Relic's schema",
    checkedBy: 'that document',
    wrong: ['limits.max_concurrent_requests'],
  },
  nerdgraph_golden_metrics: {
    relies: 'an entity lists its golden metrics with select, from, where, eventId and eventObjectId',
    source: "New Relic's schema; that they are filled is inferred",
    checkedBy: 'five entities that report of each of up to five types, those of APM first',
    wrong: [ENTITIES],
    follows: ['nerdgraph_golden_query'],
  },
  nerdgraph_golden_query: {
    relies: 'the golden metrics of a type are read by one query, and have values',
    source: 'inferred from the definitions; timeslice data do not mix with others',
    checkedBy: 'the golden metrics of the same entities, as the exporter reads them',
    wrong: [ENTITIES],
  },
} as const satisfies FactTable<`nerdgraph_${string}`>;
