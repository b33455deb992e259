import type { FactTable } from './factRow.ts';

const ROLLING = ['newrelic_application_rolling_*'] as const;
const SUMMARIES = 'lists of applications published by public clients';

/** The assumptions about the REST interface, about the names that both interfaces share, and about the delay of data. */
export const REST_FACTS = {
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
} as const satisfies FactTable<`rest_${string}` | 'same_database_types' | 'late_minutes'>;
