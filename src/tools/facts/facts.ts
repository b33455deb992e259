import { NERDGRAPH_FACTS, PACK_FACTS, type FactRow, type FactTable } from './nerdgraphFacts.ts';

/** A row of the tables, with its id. */
export interface Fact extends FactRow {
  readonly id: FactId;
  readonly follows?: readonly FactId[];
}

const ROLLING = ['newrelic_application_rolling_*'] as const;
const SUMMARIES = 'lists of applications published by public clients';

/** The assumptions about the REST interface. */
const REST_FACTS = {
  rest_summary_window: {
    relies: 'application_summary is over the last 3 or 4 minutes',
    source: "New Relic's API description; in 2018 it said 10 minutes",
    checkedBy:
      'the summaries of the three largest applications, against windows of 3, 4, 10 and 30 minutes of their minutes',
    wrong: ROLLING,
  },
  rest_response_time_unit: {
    relies: 'application_summary.response_time is in milliseconds',
    source: `inferred from ${SUMMARIES}`,
    checkedBy: 'the same summaries, against the response times of HttpDispatcher',
    wrong: ['newrelic_*_rolling_response_time_seconds'],
    follows: ['same_key_transactions'],
  },
  rest_throughput_unit: {
    relies: 'application_summary.throughput is per minute',
    source: `inferred from ${SUMMARIES}`,
    checkedBy: 'the same summaries, against the calls of HttpDispatcher',
    wrong: ['newrelic_*_rolling_requests_per_second'],
    follows: ['same_key_transactions'],
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
    relies: 'raw=true gives the same values without rounding to three digits',
    source: 'inferred; the API description says "unformatted"',
    checkedBy: 'HttpDispatcher of the largest application with and without it',
    wrong: ['collection.raw_values', 'counters'],
  },
  rest_window_as_asked: {
    relies: 'a range in whole minutes is answered as requested',
    source: 'inferred from published bodies',
    checkedBy: 'from and to of the timeslice of the same reading',
    wrong: ['newrelic_application_*', 'newrelic_host_*'],
  },
  rest_next_keeps_filters: {
    relies: 'the link to the next page keeps the filter of the list',
    source: 'not documented; filters that the link lacks are added, so nothing is wrong where it differs',
    checkedBy: 'the first page of metric names, narrowed with name=/, of the five largest applications',
    wrong: [],
  },
  rest_names_page: {
    relies: 'a page of metric names holds 1,000',
    source: 'an older page of New Relic; the current one has no number',
    checkedBy: 'the same pages',
    wrong: ['the calls that plan counts for custom metrics'],
  },
  rest_names_most: {
    relies: '30 metric names can be requested in one call',
    source: 'not documented; exporters send 9 or 10',
    checkedBy: 'at most three calls, with 30, 60 and 120 names of the largest application',
    wrong: ['the calls that plan counts for application_metrics and host_metrics'],
  },
  rest_name_filter: {
    relies: 'name= gives the metric names that contain the text',
    source: 'the API description; "contain" is inferred',
    checkedBy: 'the names with /allWeb, against the list of the same application',
    wrong: [
      'newrelic_*_component_time_seconds',
      'newrelic_*_component_calls_per_second',
      'newrelic_*_total_time_seconds',
    ],
    follows: ['rest_next_keeps_filters', 'rest_names_page', 'same_database_types'],
  },
  rest_unknown_name: {
    relies: 'a metric name that the application lacks is left out of a good answer',
    source: "New Relic's page on extracting timeslices",
    checkedBy: 'HttpDispatcher and a name that no agent sends',
    wrong: ['newrelic_application_*', 'newrelic_host_*'],
  },
  rest_errors_absent: {
    relies: 'Errors/all without errors is absent, or zero',
    source: 'inferred from the page on extracting timeslices',
    checkedBy: 'Errors/all of applications whose summary has traffic and no errors',
    wrong: ['newrelic_application_error_ratio', 'newrelic_application_errors_per_second'],
    follows: ['same_errors'],
  },
  rest_memory_minutes: {
    relies: 'total_used_mb over several minutes is the mean of its minutes, not their sum',
    source: 'not documented; the table of NRQL equivalents has sum()',
    checkedBy: 'ten minutes of an application as one value and as ten',
    wrong: ['newrelic_application_memory_used_bytes'],
    follows: ['rest_memory_hosts', 'same_memory'],
  },
  rest_memory_hosts: {
    relies: 'total_used_mb is used_mb_by_host times the processes of each host, over all hosts',
    source: 'not documented; used_mb_by_host is the mean of a process',
    checkedBy: 'the same ten minutes of the application and of each of its hosts',
    wrong: ['newrelic_application_memory_used_bytes', 'newrelic_host_memory_used_bytes'],
    follows: ['same_memory'],
  },
  rest_silent_application: {
    relies: 'an application that does not report has no summary',
    source: 'published bodies',
    checkedBy: 'the list of applications',
    wrong: ROLLING,
  },
  rest_key_transaction_window: {
    relies: 'the summary of a key transaction is over the last 10 minutes',
    source: "New Relic's API description",
    checkedBy: 'the summaries of three key transactions, against windows of the minutes of their transactions',
    wrong: ['newrelic_key_transaction_rolling_*'],
    follows: ['same_key_transactions'],
  },
} as const satisfies FactTable<`rest_${string}`>;

const PAGE = 'the table of NRQL equivalents of New Relic';
const ASKED = 'the same ten minutes of the three largest applications through both interfaces';

/** The assumptions about both interfaces together, and about the delay of data. */
const SHARED_FACTS = {
  same_call_count: {
    relies: 'HttpDispatcher has the same calls in both interfaces',
    source: PAGE,
    checkedBy: ASKED,
    wrong: ['newrelic_*_web_requests_per_second', 'counters'],
  },
  same_response_time: {
    relies: 'HttpDispatcher has the same response time in both interfaces',
    source: PAGE,
    checkedBy: ASKED,
    wrong: ['newrelic_*_response_time_seconds', 'newrelic_*_web_transaction_time_seconds'],
  },
  same_apdex: {
    relies: 'Apdex has the same satisfied, tolerating and frustrated requests in both interfaces',
    source: PAGE,
    checkedBy: ASKED,
    wrong: ['newrelic_*_apdex_score', 'newrelic_*_apdex_requests'],
  },
  same_cpu: {
    relies: 'CPU/User Time is summed over hosts in both interfaces',
    source: 'inferred',
    checkedBy: ASKED,
    wrong: ['newrelic_*_cpu_usage_ratio'],
  },
  same_memory: {
    relies: 'total_used_mb is the mean of a process times the processes',
    source: "queries of New Relic's own pages; the table of equivalents has sum()",
    checkedBy: ASKED,
    wrong: ['newrelic_application_memory_used_bytes'],
  },
  same_errors: {
    relies: 'Errors/all has the same count in both interfaces',
    source: PAGE,
    checkedBy: ASKED,
    wrong: ['newrelic_*_error_ratio', 'newrelic_*_errors_per_second'],
  },
  same_minutes: {
    relies: 'a minute has the same beginning in both interfaces',
    source: 'inferred',
    checkedBy: 'the calls of the largest application in each of twenty minutes through both interfaces',
    wrong: ['newrelic_application_*', 'newrelic_host_*'],
    follows: ['same_call_count', 'same_response_time', 'same_apdex', 'same_cpu', 'same_memory', 'same_errors'],
  },
  same_database_types: {
    relies: 'the types of databases have the same names in both interfaces',
    source: 'inferred',
    checkedBy: 'the Datastore metrics of the three largest applications',
    wrong: ['newrelic_*_component_time_seconds', 'newrelic_*_component_calls_per_second'],
  },
  same_key_transactions: {
    relies: 'apm.key.transaction.duration over 10 minutes is what the summary of a key transaction says',
    source: "New Relic's golden metrics",
    checkedBy: 'up to five key transactions through both interfaces',
    wrong: ['newrelic_key_transaction_rolling_*'],
  },
  late_minutes: {
    relies: 'a minute is complete after collection.delay',
    source: "New Relic's alerting waits for 2 minutes",
    checkedBy: 'with --wait: the calls of a minute 2, 3, 5 and 10 minutes after its end',
    wrong: ['collection.delay', 'newrelic_application_*', 'newrelic_host_*'],
    follows: ['rest_memory_minutes', 'rest_memory_hosts', 'same_memory', 'same_minutes', 'same_key_transactions'],
  },
} as const satisfies FactTable<`same_${string}` | 'late_minutes'>;

const TABLE = { ...REST_FACTS, ...NERDGRAPH_FACTS, ...PACK_FACTS, ...SHARED_FACTS } as const;

export type FactId = keyof typeof TABLE;

/** All facts, in the order of the checks and of the output. */
export const FACTS: readonly Fact[] = (Object.keys(TABLE) as FactId[]).map((id) => ({ id, ...TABLE[id] }));

/** Assumptions that no call to an account can decide, with the reason. */
export const UNDECIDABLE: readonly (readonly [what: string, why: string])[] = [
  ['The bodies of 403, 404, 422 and 5xx answers', 'a harmless call does not cause them; bodies of any form are read'],
  [
    'The headers of a 429 answer of NerdGraph, and how NRQL reports its limit',
    'it takes an overload; pauses do without',
  ],
  ['Null among the values of metric data', 'it cannot be caused; a null is left out and counted'],
  ['Zeros of metrics that were collected once', 'when a metric ended is not known; zeros and absences are both read'],
  ['Metric data as XML', 'never requested'],
  ['The header X-Account-ID with REST', 'never sent'],
  [
    'Whether Api-Key works for every user key with REST',
    'X-Api-Key is sent, and `check --live` shows whether it works',
  ],
  ['A period finer than the granule', 'never requested'],
  ['The window and the units of apmSummary', 'its times and rates are not read, only its counts'],
  ['Whether realAgentId is the REST instance id', 'it is not read: NerdGraph has no instances here'],
  ['Timeslices over NRQL in the regions jp and gov', 'only an account there shows it: `check --live` warns of no rows'],
  ['Whether a role hides data as empty rows or by an error', 'the key of one user cannot tell; both are warned of'],
  ['A batch whose rows are cut although otherResult is empty', 'what is missing in silence cannot be counted'],
  ['How long lists keep applications that no longer report', 'it takes weeks'],
];
