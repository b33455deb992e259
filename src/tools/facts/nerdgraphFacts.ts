/** A statement about New Relic that the exporter relies on and no document settles. */
export interface FactRow {
  /** The assumption of the exporter. */
  readonly relies: string;
  /** The source of the assumption: a page, public code, or our inference. */
  readonly source: string;
  /** The method by which an account is checked. */
  readonly checkedBy: string;
  /** The parts of the exporter that are wrong when the fact differs: families (`*`: any part of a name), or settings. */
  readonly wrong: readonly string[];
  /** Ids of facts that may differ with this one, because their checks rely on it. */
  readonly follows?: readonly string[];
}

/** The facts of one table. Their ids have a prefix of their own, so no id stands in two tables. */
export type FactTable<Id extends string> = { readonly [id in Id]: FactRow };

const WINDOW = ['newrelic_application_*', 'newrelic_host_*'] as const;
const QUERIES = 'queries';
const REFERENCE = "New Relic's NRQL reference";

/** The assumptions about NerdGraph. */
export const NERDGRAPH_FACTS = {
  nerdgraph_app_id: {
    relies: 'appId in a condition is a number, without quotes',
    source: 'both forms stand in pages of New Relic',
    checkedBy: 'the largest application by its number, and by its number in quotes where that finds nothing',
    wrong: WINDOW,
  },
  nerdgraph_limit_max: {
    relies: 'LIMIT MAX gives 5,000 rows',
    source: `${REFERENCE}; one public project was cut at 4,899`,
    checkedBy: 'all metrics of the five largest applications by host, over ten minutes',
    wrong: WINDOW,
  },
  nerdgraph_other_result: {
    relies: 'what a LIMIT leaves out is summed up in otherResult',
    source: `${REFERENCE}; public code`,
    checkedBy: 'the metrics of the largest application with LIMIT 5',
    wrong: [...WINDOW, QUERIES],
  },
  nerdgraph_first_function: {
    relies: 'a LIMIT keeps the facets with the most of the first function',
    source: REFERENCE,
    checkedBy: 'the order of the rows of the same query',
    wrong: [QUERIES],
  },
  nerdgraph_facets: {
    relies: 'the values of several facets are a list of texts, in the order of metadata.facets',
    source: 'a published body',
    checkedBy: 'the rows of the query of nerdgraph_limit_max',
    wrong: WINDOW,
  },
  nerdgraph_no_row: {
    relies: 'a metric without data has no row',
    source: 'inferred',
    checkedBy: 'HttpDispatcher and a name that no agent sends, by metric',
    wrong: ['newrelic_*_component_time_seconds', 'newrelic_*_apdex_requests'],
  },
  nerdgraph_half_hour: {
    relies: 'a range of 30 minutes is answered to the minute',
    source: "New Relic's page on time ranges has no figure",
    checkedBy: 'metadata.timeWindow of a range that ends off the hour',
    wrong: WINDOW,
  },
  nerdgraph_hour: {
    relies: 'a range of an hour is cut by at most 5 minutes',
    source: "New Relic's page on time ranges has no figure",
    checkedBy: 'metadata.timeWindow of a range that ends off the hour',
    wrong: ['collection.window', QUERIES, 'backfill'],
  },
  nerdgraph_day: {
    relies: 'a range of a day is cut by at most 10 minutes',
    source: "New Relic's page on time ranges has no figure",
    checkedBy: 'metadata.timeWindow of a day of the largest application that ends off the hour',
    wrong: [QUERIES],
  },
  nerdgraph_timeout: {
    relies: 'the argument timeout takes 5 to 30 seconds',
    source: "New Relic's client library",
    checkedBy: 'the same small query with both',
    wrong: ['limits.request_timeout'],
  },
  nerdgraph_hosts: {
    relies: 'rows of an application have its hosts, as many as apmSummary.hostCount',
    source: "New Relic's page on timeslice data; the equality is inferred",
    checkedBy: 'the hosts of the five largest applications, as the exporter reads them',
    wrong: ['newrelic_host_*', 'newrelic_application_hosts'],
  },
  nerdgraph_host_query: {
    relies: "sum of value['totalExclusive'] by application, host and metric is legal",
    source: 'each part is documented, the whole was never seen',
    checkedBy: 'the metric data of up to three hosts, as the exporter reads them',
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
    checkedBy: 'HttpDispatcher, written in small letters',
    wrong: ['custom_metrics'],
  },
  nerdgraph_in_list: {
    relies: 'a list of numbers and texts is legal in IN',
    source: 'inferred',
    checkedBy: 'the number of the largest application with and without quotes',
    wrong: ['newrelic_<domain>_<type>_<metric> (entities)'],
  },
  nerdgraph_unmatched: {
    relies: 'an application without data does not spoil a query of several',
    source: "New Relic's page on chart errors does not say; queries are halved where it does",
    checkedBy: 'the largest application, and the number 1',
    wrong: ['the calls that plan counts for application_metrics'],
  },
  nerdgraph_query_length: {
    relies: 'a query may have 8,000 characters',
    source: 'inferred: a limit exists, its figure is not documented',
    checkedBy: 'a query of that length, made of metric names',
    wrong: WINDOW,
  },
  nerdgraph_names: {
    relies: 'uniques() gives up to 10,000 metric names',
    source: REFERENCE,
    checkedBy: 'the names of a day of the largest application, as the exporter reads them',
    wrong: ['custom_metrics'],
    follows: ['nerdgraph_query_length'],
  },
  nerdgraph_rollup_scope: {
    relies: 'sums such as HttpDispatcher are not stored again for single transactions',
    source: 'inferred',
    checkedBy: 'the sums of the largest application that have a scope',
    wrong: WINDOW,
    follows: ['same_call_count', 'same_key_transactions'],
  },
  nerdgraph_series: {
    relies: 'TIMESERIES 1 minute gives whole minutes',
    source: "New Relic's page on time ranges",
    checkedBy: 'the minutes of the largest application, as backfill and counters read them',
    wrong: ['counters', 'backfill'],
    follows: ['same_minutes'],
  },
  nerdgraph_syntax_error: {
    relies: 'a syntax error is told from a failure of New Relic',
    source: "New Relic's IDE extension: errorClass INVALID_INPUT",
    checkedBy: 'a query that ends with FACET',
    wrong: ['newrelic_exporter_api_failures_total', QUERIES],
  },
  nerdgraph_foreign_account: {
    relies: 'an account that the key does not see is told as forbidden',
    source: "New Relic's IDE extension: SERVER_ERROR with DataFetchingException",
    checkedBy: 'account 2147483647, once',
    wrong: ['newrelic_exporter_api_failures_total'],
  },
  nerdgraph_percentile: {
    relies: 'percentile(x, 75) is an object with the key "75" or "75.0"',
    source: 'both were seen in public code',
    checkedBy: 'transactions of the largest application in the last hour',
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
    follows: ['same_key_transactions'],
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
    checkedBy: 'the largest application',
    wrong: ['newrelic_<domain>_<type>_<metric> (entities)'],
  },
} as const satisfies FactTable<`nerdgraph_${string}`>;

export const HOUR = 3_600;
export const DAY = 24 * HOUR;
const MONTH = 30 * DAY;
const CONSUMPTION = 'newrelic.resourceConsumption';

/** The events that a pack reads, and the fields of them that it names. */
export interface PackFact extends FactRow {
  readonly from: string;
  readonly fields: readonly string[];
  /** The range of the query, in seconds. */
  readonly over: number;
  /** True to read only the largest application; other events are rare, or read for only an hour. */
  readonly ofApplication?: boolean;
  /** A condition; not with `ofApplication`. */
  readonly where?: string;
  /** Only events with this attribute are counted; all of them by default. */
  readonly counted?: string;
  /** The least number of events that can show a missing field, because few may lack it by chance. */
  readonly minEvents?: number;
}

const LAST_HOUR = { checkedBy: 'the last hour', over: HOUR } as const;

/** The assumptions about the events that packs read, with the fields that they name. */
export const PACK_FACTS = {
  pack_alert_events: {
    relies: 'NrAiIncident has the fields that the pack reads',
    source: 'public queries',
    checkedBy: 'the incidents of the last 30 days',
    wrong: ['newrelic_alert_events_*'],
    from: 'NrAiIncident',
    fields: ['event', 'incidentId', 'openTime', 'policyName', 'conditionName', 'priority', 'entity.name', 'muted'],
    over: MONTH,
  },
  pack_service_levels: {
    relies: 'ServiceLevelSnapshot has the fields that the pack reads',
    source: "New Relic's entity definitions",
    ...LAST_HOUR,
    wrong: ['newrelic_service_level_*'],
    from: 'ServiceLevelSnapshot',
    fields: ['sliCompliance', 'remainingErrorBudget', 'entity.guid', 'entity.name'],
  },
  pack_deployments: {
    relies: 'ChangeTrackingEvent and Deployment have the fields that the pack reads',
    source: "New Relic's migration guide",
    checkedBy: 'the deployments of the last 30 days',
    wrong: ['newrelic_deployment_timestamp_seconds'],
    from: 'ChangeTrackingEvent, Deployment',
    fields: ['timestamp', 'version', 'entity.guid', 'entity.name'],
    over: MONTH,
  },
  pack_transactions: {
    relies: 'Transaction has the fields that the pack reads',
    source: "New Relic's data dictionary",
    checkedBy: 'the last day of the largest application',
    wrong: ['newrelic_transaction_*'],
    from: 'Transaction',
    fields: ['duration', 'transactionType', 'appName', 'appId'],
    over: DAY,
    ofApplication: true,
  },
  pack_browser: {
    relies: 'PageView, PageViewTiming and JavaScriptError have the fields that the pack reads',
    source: "New Relic's entity definitions",
    ...LAST_HOUR,
    wrong: ['newrelic_browser_*'],
    from: 'PageView, PageViewTiming, JavaScriptError',
    fields: ['appName', 'largestContentfulPaint', 'interactionToNextPaint', 'cumulativeLayoutShift'],
  },
  pack_synthetics: {
    relies: 'SyntheticCheck has the fields that the pack reads',
    source: "New Relic's entity definitions",
    ...LAST_HOUR,
    wrong: ['newrelic_synthetics_*'],
    from: 'SyntheticCheck',
    fields: ['result', 'duration', 'monitorName', 'locationLabel'],
  },
  pack_limits: {
    relies: 'newrelic.resourceConsumption has the fields that the pack reads',
    source: "New Relic's page on limits",
    ...LAST_HOUR,
    wrong: ['newrelic_limit_*'],
    from: 'Metric',
    fields: [`${CONSUMPTION}.limitValue`, 'limitName', 'limitTimeInterval'],
    where: `${CONSUMPTION}.currentValue IS NOT NULL OR ${CONSUMPTION}.limitValue IS NOT NULL`,
    counted: `${CONSUMPTION}.currentValue`,
  },
  pack_usage: {
    relies: 'NrConsumption and NrMTDConsumption have the fields that the pack reads',
    source: "New Relic's page on usage queries",
    // Usage is known about three hours late, so the last hour has none.
    checkedBy: 'the last day',
    over: DAY,
    wrong: ['newrelic_usage_*'],
    from: 'NrConsumption, NrMTDConsumption',
    fields: [
      ...['GigabytesIngested', 'productLine', 'usageMetric', 'metric', 'consumption'],
      ...['FullPlatformUsersBillable', 'CoreUsersBillable'],
    ],
    minEvents: 1,
  },
} as const satisfies { readonly [id in `pack_${string}`]: PackFact };
