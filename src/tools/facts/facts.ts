import { METRIC } from '../../formulas/metricInputs.ts';
import { DAY_S, HOUR_S } from '../../formulas/units.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';

/** A statement about New Relic that the exporter relies on and no document settles, and its source. */
interface FactRow {
  readonly relies: string;
  readonly source: string;
  /** The method by which an account is checked, where it takes more than one query. */
  readonly checkedBy?: string;
  /** The query that decides it: `{app}` is the id of the largest application, `{apps}` of the five largest. */
  readonly nrql?: string;
  /** The name of the judge of its result, or of its refusal (queryProbes.ts). */
  readonly judge?: string;
  /** The length of the range in seconds; ten minutes by default. */
  readonly over?: number;
  /** Seconds by which the range ends before the newest complete minute. */
  readonly delay?: number;
  /** For `window`: the most seconds by which New Relic may move the ends of the range, which is off every step. */
  readonly maxShift?: number;
  /** The account to name in place of the configured one. */
  readonly account?: number;
  /** The timeouts to send, in seconds: the query is sent once with each. */
  readonly timeouts?: readonly number[];
  /** Each of them should be on at least one event, of `minEvents`: fewer may lack it by chance. */
  readonly fields?: readonly string[];
  readonly minEvents?: number;
  /** The parts of the exporter that are wrong when the fact differs: families (`*`: any part of a name), or settings. */
  readonly wrong: readonly string[];
  /** Ids of facts that may differ with this one, because their checks rely on it. */
  readonly follows?: readonly string[];
}

const SUMMARIES = 'published lists of applications';
/** A metric name that no agent sends. */
export const NO_METRIC = 'Exporter/Facts/NoSuchMetric';
/** An account that cannot exist: the largest number that NerdGraph accepts. */
const FOREIGN_ACCOUNT = 2_147_483_647;
const WINDOW = ['newrelic_application_*', 'newrelic_host_*'] as const;
const QUERIES = 'queries';
const LONG_RANGES = ['collection.window', QUERIES, 'backfill'];
const REFERENCE = "New Relic's NRQL reference";
const ENTITIES = 'newrelic_<domain>_<type>_<metric> (entities)';

/** The calls of metrics, as the column `c`. */
export const COUNT = 'SELECT count(newrelic.timeslice.value) AS c FROM Metric WHERE';
const OF_LARGEST = `${COUNT} appId = {app} AND`;
const ALIVE = `metricTimesliceName = '${SIGN_OF_LIFE}'`;
const ALL_METRICS = `${COUNT} appId IN ({apps}) FACET appId, host, metricTimesliceName {time} LIMIT MAX`;
const FIVE_METRICS = `${OF_LARGEST} newrelic.timeslice.value IS NOT NULL FACET metricTimesliceName {time} LIMIT 5`;
/** Sums over a whole application: none of their rows should have a scope, which is a single transaction. */
const SUMS = [METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex, METRIC.memory, METRIC.cpu];
/** Names that fill a query to the length of the longest one that the exporter writes. */
const MANY_NAMES = Array.from({ length: 220 }, (_, index) => `'${NO_METRIC}/${index}'`);

const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

function window(over: number, maxShift: number, relies: string, wrong: readonly string[]) {
  const source = "New Relic's page on time ranges has no figure";
  return { relies, source, nrql: `${OF_LARGEST} ${ALIVE} {time}`, judge: 'window', over, maxShift, wrong } as const;
}

const MONTH = 30 * DAY_S;
const CONSUMPTION = 'newrelic.resourceConsumption';
const DEFINITIONS = "New Relic's entity definitions";

/** The row of a pack: its fields should be on events of the hour, of which those with the attribute `counted` count. */
function pack({
  from,
  where,
  counted = '*',
  ...row
}: Omit<FactRow, 'relies' | 'follows'> & {
  fields: readonly string[];
  from: string;
  where?: string;
  counted?: string;
}) {
  const columns = row.fields.map((field, index) => `count(${field}) AS f${index}`).join(', ');
  const condition = where === undefined ? '' : ` WHERE ${where}`;
  return {
    over: HOUR_S,
    ...row,
    relies: `${from.replace(/, (?=\w+$)/, ' and ')} ${from.includes(',') ? 'have' : 'has'} the fields that the pack reads`,
    nrql: `SELECT count(${counted}) AS n, ${columns} FROM ${from}${condition} {time}`,
    judge: 'fields',
  } as const;
}

/** The assumptions about the REST interface, about what both interfaces share, about NerdGraph, and about the events of packs. */
const TABLE = {
  rest_summary_window: {
    relies: 'application_summary is over the last 3 or 4 minutes',
    source: "New Relic's API description; in 2018 it said 10 minutes",
    checkedBy:
      'the summaries of the three largest applications, against windows of 3, 4, 10 and 30 minutes of their minutes',
    wrong: ['newrelic_application_rolling_*'],
  },
  rest_response_time_unit: {
    relies: 'application_summary.response_time is in milliseconds',
    source: `inferred from ${SUMMARIES}`,
    checkedBy: 'the same summaries, against the response times of HttpDispatcher',
    wrong: ['newrelic_*_rolling_response_time_seconds'],
  },
  rest_throughput_unit: {
    relies: 'application_summary.throughput is per minute',
    source: `inferred from ${SUMMARIES}`,
    checkedBy: 'the same summaries, against the calls of HttpDispatcher',
    wrong: ['newrelic_*_rolling_requests_per_second'],
  },
  rest_error_rate_scale: {
    relies: 'application_summary.error_rate is a fraction, not a percentage',
    source: `inferred from ${SUMMARIES}; several tools print it with a percent sign`,
    checkedBy: 'the same summaries, against Errors/all by HttpDispatcher',
    wrong: ['newrelic_*_rolling_error_ratio'],
  },
  rest_end_user_unit: {
    relies: 'end_user_summary.response_time is in seconds',
    source: `inferred from ${SUMMARIES}`,
    checkedBy: 'the same summaries, against EndUser in milliseconds',
    wrong: ['newrelic_application_end_user_rolling_response_time_seconds'],
  },
  rest_raw: {
    relies: 'raw=true gives values without rounding to three digits',
    source: 'inferred; the API description says "unformatted"',
    checkedBy: 'the digits of HttpDispatcher of the largest application over half an hour',
    wrong: ['collection.raw_values', 'counters'],
  },
  rest_next_keeps_filters: {
    relies: 'the link to the next page keeps the filter of the list',
    source: 'not documented; filters that the link lacks are added, so nothing is wrong where it differs',
    checkedBy: 'the first page of metric names, narrowed with name=/, of the five largest applications',
    wrong: [],
  },
  rest_names_most: {
    relies: '30 metric names can be requested in one call',
    source: 'not documented; exporters send 9 or 10',
    checkedBy: 'at most three calls, with 30, 60 and 120 names of the largest application',
    wrong: ['the calls that plan counts for application_metrics and host_metrics'],
  },
  rest_unknown_name: {
    relies: 'a metric name that the application lacks is left out of a good response',
    source: "New Relic's page on extracting timeslices",
    checkedBy: 'HttpDispatcher and a name that no agent sends',
    wrong: ['newrelic_application_*', 'newrelic_host_*'],
  },
  rest_errors_absent: {
    relies: 'Errors/all without errors is absent, or zero',
    source: 'inferred from the page on extracting timeslices',
    checkedBy: 'Errors/all of applications whose summary has traffic and no errors',
    wrong: ['newrelic_application_error_ratio', 'newrelic_application_errors_per_second'],
  },
  rest_memory_minutes: {
    relies: 'total_used_mb over several minutes is the mean of its minutes, not their sum',
    source: 'not documented; the table of NRQL equivalents has sum()',
    checkedBy: 'ten minutes of an application as one value and as ten',
    wrong: ['newrelic_application_memory_used_bytes'],
    follows: ['rest_memory_hosts'],
  },
  rest_memory_hosts: {
    relies: 'total_used_mb is used_mb_by_host times the processes of each host, over all hosts',
    source: 'not documented; used_mb_by_host is the mean of a process',
    checkedBy: 'the same ten minutes of the application and of each of its hosts',
    wrong: ['newrelic_application_memory_used_bytes', 'newrelic_host_memory_used_bytes'],
  },
  rest_key_transaction_window: {
    relies: 'the summary of a key transaction is over the last 10 minutes',
    source: "New Relic's API description",
    checkedBy: 'the summaries of three key transactions, against windows of the minutes of their transactions',
    wrong: ['newrelic_key_transaction_rolling_*'],
  },
  same_database_types: {
    relies: 'the types of databases have the same names in both interfaces',
    source: 'inferred',
    checkedBy: 'the Datastore metrics of the three largest applications',
    wrong: ['newrelic_*_component_time_seconds', 'newrelic_*_component_calls_per_second'],
  },
  late_minutes: {
    relies: 'a minute is complete after collection.delay',
    source: "New Relic's alerting waits for 2 minutes",
    checkedBy: 'with --wait: the calls of a minute 2, 3, 5 and 10 minutes after its end',
    wrong: ['collection.delay', 'newrelic_application_*', 'newrelic_host_*'],
    follows: ['rest_memory_minutes', 'rest_memory_hosts'],
  },
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
  nerdgraph_hour: window(HOUR_S, 300, 'a range of an hour is cut by at most 5 minutes', LONG_RANGES),
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
    checkedBy: 'a query of the golden metrics of the same entities for each type',
    wrong: [ENTITIES],
  },
  pack_alert_events: pack({
    source: 'public queries',
    wrong: ['newrelic_alert_events_*'],
    from: 'NrAiIncident',
    fields: ['event', 'incidentId', 'openTime', 'policyName', 'conditionName', 'priority', 'entity.name', 'muted'],
    over: MONTH,
  }),
  pack_service_levels: pack({
    source: DEFINITIONS,
    wrong: ['newrelic_service_level_*'],
    from: 'ServiceLevelSnapshot',
    fields: ['sliCompliance', 'remainingErrorBudget', 'entity.guid', 'entity.name'],
  }),
  pack_deployments: pack({
    source: "New Relic's migration guide",
    wrong: ['newrelic_deployment_timestamp_seconds'],
    from: 'ChangeTrackingEvent, Deployment',
    fields: ['timestamp', 'version', 'entity.guid', 'entity.name'],
    over: MONTH,
  }),
  pack_transactions: pack({
    source: "New Relic's data dictionary",
    wrong: ['newrelic_transaction_*'],
    from: 'Transaction',
    fields: ['duration', 'transactionType', 'appName', 'appId'],
    where: 'appId = {app}',
    over: DAY_S,
  }),
  pack_browser: pack({
    source: DEFINITIONS,
    wrong: ['newrelic_browser_*'],
    from: 'PageView, PageViewTiming, JavaScriptError',
    fields: ['appName', 'largestContentfulPaint', 'interactionToNextPaint', 'cumulativeLayoutShift'],
  }),
  pack_synthetics: pack({
    source: DEFINITIONS,
    wrong: ['newrelic_synthetics_*'],
    from: 'SyntheticCheck',
    fields: ['result', 'duration', 'monitorName', 'locationLabel'],
  }),
  pack_limits: pack({
    source: "New Relic's page on limits",
    wrong: ['newrelic_limit_used_per_minute', 'newrelic_limit_allowed_per_minute'],
    from: 'Metric',
    fields: [`${CONSUMPTION}.limitValue`, 'limitName', 'limitTimeInterval'],
    where: `${CONSUMPTION}.currentValue IS NOT NULL OR ${CONSUMPTION}.limitValue IS NOT NULL`,
    counted: `${CONSUMPTION}.currentValue`,
  }),
  pack_limits_reached: pack({
    source: "New Relic's page on limits",
    wrong: ['newrelic_limit_incidents'],
    from: 'NrIntegrationError',
    fields: ['limitName'],
    where: "category IN ('RateLimit', 'ResourceLimit')",
    minEvents: 1,
  }),
  pack_usage: pack({
    source: "New Relic's page on usage queries",
    wrong: ['newrelic_usage_*'],
    from: 'NrConsumption, NrMTDConsumption',
    fields: [
      ...['GigabytesIngested', 'productLine', 'usageMetric', 'metric', 'consumption'],
      ...['FullPlatformUsersBillable', 'CoreUsersBillable'],
    ],
    // New Relic notes usage about three hours late.
    delay: 4 * HOUR_S,
    minEvents: 1,
  }),
} as const satisfies Readonly<Record<string, FactRow>>;

export type FactId = keyof typeof TABLE;
export type JudgeName = Extract<(typeof TABLE)[FactId], { readonly judge: string }>['judge'];

/** A row of the table, with its id. */
export interface Fact extends FactRow {
  readonly id: FactId;
  readonly judge?: JudgeName;
  readonly follows?: readonly FactId[];
}

/** All facts, in the order of the output. The simulator can contradict each of them. */
export const FACTS: readonly Fact[] = (Object.keys(TABLE) as FactId[]).map((id) => ({ id, ...TABLE[id] }));
