export interface ExporterFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly labelNames: readonly string[];
}

const HISTOGRAM = 'newrelic_exporter_api_request_duration_seconds';

type WithoutLabels<Text extends string> = Text extends `${infer Name}{${string}` ? Name : Text;

/** Creates families from names with labels, such as `newrelic_up{account}`, and their HELP. */
function define<Text extends string>(helps: Readonly<Record<Text, string>>) {
  const families = Object.entries<string>(helps).map(([nameAndLabels, help]): [string, ExporterFamily] => {
    const [name = '', ...labelNames] = nameAndLabels.match(/\w+/g) ?? [];
    const plainType = name.endsWith('_total') ? 'counter' : 'gauge';
    return [name, { name, help, type: name === HISTOGRAM ? 'histogram' : plainType, labelNames }];
  });
  return Object.fromEntries(families) as Readonly<Record<WithoutLabels<Text>, ExporterFamily>>;
}

/** Families of the exporter itself, only on `/metrics`. The client library adds process_* and nodejs_*. */
export const EXPORTER = define({
  'newrelic_up{account}':
    "1 when the last read of the account's application list was complete, else 0; the key must list the account. For an account without applications: 1 while New Relic answers a query or a list of entities. 0 for an entry with account_ids until its list has an account.",
  'newrelic_exporter_build_info{version,revision,node_version}': '1, with the version of the exporter.',
  'newrelic_exporter_collection_success{account,group}': "1 when the group's last refresh had no failure, else 0.",
  'newrelic_exporter_collection_last_success_timestamp_seconds{account,group}':
    'Unix time of the last refresh of the group without a failure.',
  'newrelic_exporter_collection_duration_seconds{account,group}': 'How long the last refresh of the group took.',
  'newrelic_exporter_collection_entities{account,group,state}':
    'Tasks, such as a list or the data of one application, that are fresh (not past due), stale (past due, last good values are served) or missing (nothing to serve).',
  'newrelic_exporter_window_end_timestamp_seconds{account}': 'Unix time of the end of the newest window served.',
  'newrelic_exporter_oldest_window_end_timestamp_seconds{account,group}':
    'Unix time of the end of the oldest window served.',
  'newrelic_exporter_effective_interval_seconds{account,group}':
    'Refresh interval that the call budget allows; the configured interval if the budget is sufficient.',
  'newrelic_exporter_api_requests_total{account,endpoint,code}':
    'Calls to New Relic by path template and status code ("error" without a response).',
  'newrelic_exporter_api_request_duration_seconds{account,endpoint}': 'Duration of calls to New Relic.',
  'newrelic_exporter_api_failures_total{account,endpoint,reason}':
    'Failed calls to New Relic, and parts of responses that were left out, by reason.',
  'newrelic_exporter_api_retries_total{account}': 'Retries of calls to New Relic after a failure.',
  'newrelic_exporter_api_requests_in_flight{account}': 'Calls to New Relic in flight.',
  'newrelic_exporter_api_budget_requests_per_minute{account}':
    'Calls to New Relic per minute that the exporter may make now; lower than configured while it recovers from an overload response.',
  'newrelic_exporter_api_paused_until_timestamp_seconds{account}':
    'Unix time until which the account makes no call; absent when it is not paused.',
  'newrelic_exporter_scrapes_total{result}':
    'Answered scrapes: partial when any due task was not fresh, else complete.',
  'newrelic_exporter_series{family}': 'Series in the last exposition by family.',
  'newrelic_exporter_lost_seconds_total{account}':
    'Seconds that the counters of applications miss: 60 for each minute of an application that was not read in time, or was unreadable.',
  'newrelic_exporter_late_transactions_total{account}':
    'Web and non-web transactions that New Relic added to a minute after the exporter first read it.',
  'newrelic_exporter_series_dropped_total{family}':
    'Series left out by family, because of max_series or because another series has the same labels. A series counts once in each refresh of its values.',
  'newrelic_exporter_account_info{account,api,region,account_id}':
    '1, with the interface (rest or nerdgraph), the region and the number of the account; region is empty with base_url, account_id is empty while unknown.',
  'newrelic_exporter_account_list_success{entry}':
    '1 when the last attempt to read the list of accounts of the entry succeeded, else 0.',
  'newrelic_exporter_accounts{entry,state}':
    'Accounts of an entry with account_ids: listed by its key, and exported. Listed includes exported: never sum over state.',
  'newrelic_exporter_accounts_left_out{entry}':
    'Accounts of an entry with account_ids that max_accounts leaves out, or that are unreadable in its list.',
  'newrelic_exporter_api_end_of_life_timestamp_seconds{account}':
    'Unix time at which New Relic ends the interface that the account uses; absent where no end is announced.',
  'newrelic_exporter_api_batches_split_total{account,reason}':
    'Batches of NerdGraph that the exporter read again in parts, by reason: truncated, timeout or error.',
  'newrelic_exporter_applications{account,state}':
    'Applications of the account: listed, exported and reporting. Each includes the next: never sum over state. Absent for an account of an entry with account_ids that never listed one.',
  newrelic_exporter_web_refused_logins_total:
    'Requests that the exporter refused because of a wrong user name or password.',
  newrelic_exporter_log_lines_dropped_total:
    'Log lines that the exporter dropped, because 1,000 lines or 1 MB already waited for a full disk or a slow reader.',
  'newrelic_exporter_query_success{account,query}': '1 when the last attempt to run the query succeeded, else 0.',
  'newrelic_exporter_query_duration_seconds{account,query}': 'How long the last attempt to run the query took.',
  'newrelic_exporter_query_series{account,query}':
    'Series that the query publishes now; 0 when its last rows are too old.',
  'newrelic_exporter_query_rows_dropped_total{account,query,reason}':
    'Rows of the query that the exporter dropped, by reason: not_a_number, or repeated (the same labels as an earlier row).',
  'newrelic_exporter_entities_left_out{account,entity_type}':
    'Entities of the type that max_entities leaves out, reporting or not; absent until the exporter has read their list.',
  newrelic_exporter_config_last_reload_successful: '1 when the last reload of the configuration succeeded, else 0.',
  newrelic_exporter_config_last_reload_success_timestamp_seconds:
    'Unix time of the last successful reload of the configuration.',
});

/** Families that `/probe` adds to the families of an application. */
export const PROBE = define({
  probe_success: '1 when all reads of the probe succeeded, else 0.',
  probe_duration_seconds: 'How long the probe took.',
});

export const EXPORTER_FAMILIES: readonly ExporterFamily[] = Object.values(EXPORTER);
export const PROBE_FAMILIES: readonly ExporterFamily[] = Object.values(PROBE);
