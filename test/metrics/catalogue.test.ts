import { describe, expect, it } from 'vitest';
import { BUILT_IN_NAMES, FAMILIES, SECTIONS } from '../../src/metrics/catalogue.ts';
import { EXPORTER_FAMILIES, PROBE_FAMILIES } from '../../src/metrics/catalogueExporter.ts';

const TRAFFIC = ['response_time_seconds', 'requests_per_second', 'error_ratio', 'apdex_score'].map(
  (s) => `rolling_${s}`,
);
const END_USER = ['response_time_seconds', 'page_views_per_second', 'apdex_target_seconds', 'apdex_score'].map(
  (suffix) => `end_user_rolling_${suffix}`,
);
const WINDOW = [
  'response_time_seconds',
  'web_transaction_time_seconds',
  'queue_time_seconds',
  'component_time_seconds{component}',
  'component_calls_per_second{component}',
  'total_time_seconds',
  'web_requests_per_second',
  'non_web_requests_per_second',
  'error_ratio',
  'errors_per_second',
  'apdex_score',
  'apdex_threshold_seconds',
  'apdex_requests{zone}',
  'end_user_response_time_seconds',
  'end_user_page_views_per_second',
  'end_user_apdex_score',
  'end_user_apdex_threshold_seconds',
  'end_user_apdex_requests{zone}',
  'memory_used_bytes',
  'cpu_usage_ratio',
];

/** The public names. A change here breaks somebody's dashboard. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  applications: [
    'info{language,alert_policy_id}',
    'tags',
    'reporting',
    'health_status{status}',
    'last_reported_timestamp_seconds',
    'hosts',
    'instances',
    'settings_apdex_threshold_seconds',
    'settings_end_user_apdex_threshold_seconds',
    'real_user_monitoring_enabled',
    'server_side_config_enabled',
    ...TRAFFIC,
    'rolling_apdex_target_seconds',
    'rolling_hosts',
    'rolling_instances',
    'rolling_concurrent_instances',
    ...END_USER,
  ].map((name) => `newrelic_application_${name}`),
  hosts: ['info{language}', 'health_status{status}', ...TRAFFIC, 'rolling_instances'].map(
    (name) => `newrelic_host_${name}`,
  ),
  instances: ['info{language}', 'health_status{status}', ...TRAFFIC].map((name) => `newrelic_instance_${name}`),
  key_transactions: [
    'info{transaction_name}',
    'reporting',
    'health_status{status}',
    'last_reported_timestamp_seconds',
    ...TRAFFIC,
    'rolling_apdex_target_seconds',
    ...END_USER,
  ].map((name) => `newrelic_key_transaction_${name}`),
  application_metrics: WINDOW.map((name) => `newrelic_application_${name}`),
  counters: [
    'transactions_total{kind}',
    'transaction_errors_total',
    'web_transaction_seconds_total',
    'apdex_transactions_total{zone}',
  ].map((name) => `newrelic_application_${name}`),
  host_metrics: WINDOW.map((name) => `newrelic_host_${name}`),
  entities: ['info', 'reporting', 'health_status{status}'].map((name) => `newrelic_entity_${name}`),
};

const EXPORTER = [
  'gauge newrelic_up{account}',
  'gauge newrelic_exporter_build_info{version,revision,node_version}',
  'gauge newrelic_exporter_collection_success{account,group}',
  'gauge newrelic_exporter_collection_last_success_timestamp_seconds{account,group}',
  'gauge newrelic_exporter_collection_duration_seconds{account,group}',
  'gauge newrelic_exporter_collection_entities{account,group,state}',
  'gauge newrelic_exporter_window_end_timestamp_seconds{account}',
  'gauge newrelic_exporter_oldest_window_end_timestamp_seconds{account,group}',
  'gauge newrelic_exporter_effective_interval_seconds{account,group}',
  'counter newrelic_exporter_api_requests_total{account,endpoint,code}',
  'histogram newrelic_exporter_api_request_duration_seconds{account,endpoint}',
  'counter newrelic_exporter_api_failures_total{account,endpoint,reason}',
  'counter newrelic_exporter_api_retries_total{account}',
  'gauge newrelic_exporter_api_requests_in_flight{account}',
  'gauge newrelic_exporter_api_budget_requests_per_minute{account}',
  'gauge newrelic_exporter_api_paused_until_timestamp_seconds{account}',
  'counter newrelic_exporter_scrapes_total{result}',
  'gauge newrelic_exporter_series{family}',
  'counter newrelic_exporter_lost_seconds_total{account}',
  'counter newrelic_exporter_late_transactions_total{account}',
  'counter newrelic_exporter_series_dropped_total{family}',
  'gauge newrelic_exporter_account_info{account,api,region,account_id}',
  'gauge newrelic_exporter_account_list_success{entry}',
  'gauge newrelic_exporter_accounts{entry,state}',
  'gauge newrelic_exporter_accounts_left_out{entry}',
  'gauge newrelic_exporter_api_end_of_life_timestamp_seconds{account}',
  'counter newrelic_exporter_api_batches_split_total{account,reason}',
  'gauge newrelic_exporter_applications{account,state}',
  'counter newrelic_exporter_web_refused_logins_total',
  'counter newrelic_exporter_log_lines_dropped_total',
  'gauge newrelic_exporter_query_success{account,query}',
  'gauge newrelic_exporter_query_duration_seconds{account,query}',
  'gauge newrelic_exporter_query_series{account,query}',
  'counter newrelic_exporter_query_rows_dropped_total{account,query,reason}',
  'gauge newrelic_exporter_entities_left_out{account,entity_type}',
  'gauge newrelic_exporter_config_last_reload_successful',
  'gauge newrelic_exporter_config_last_reload_success_timestamp_seconds',
];

const withLabels = ({ name, labelNames }: { name: string; labelNames: readonly string[] }): string =>
  labelNames.length === 0 ? name : `${name}{${labelNames.join(',')}}`;

const EVERY = [...FAMILIES, ...EXPORTER_FAMILIES, ...PROBE_FAMILIES];

describe('the catalogue', () => {
  it.each(Object.entries(EXPECTED))('has the families of docs/metrics.md for the group %s', (group, names) => {
    const found = FAMILIES.filter((family) => family.group === group).map(withLabels);
    expect(found.sort()).toEqual([...names].sort());
  });

  it('has no other groups', () => {
    expect(new Set(FAMILIES.map(({ group }) => group))).toEqual(new Set(Object.keys(EXPECTED)));
  });

  it("has the exporter's own families, by name", () => {
    expect(EXPORTER_FAMILIES.map((family) => `${family.type} ${withLabels(family)}`)).toEqual(EXPORTER);
    expect(PROBE_FAMILIES.map(withLabels)).toEqual(['probe_success', 'probe_duration_seconds']);
  });

  it('never uses a name twice', () => {
    expect(new Set(EVERY.map(({ name }) => name)).size).toBe(EVERY.length);
  });

  it('keeps family labels apart from entity labels', () => {
    for (const { carried, families } of SECTIONS) {
      for (const { labelNames } of families) {
        expect(labelNames.filter((name) => carried.includes(name))).toEqual([]);
      }
    }
  });
});

describe('a family', () => {
  const REST_ONLY = [
    'newrelic_application_last_reported_timestamp_seconds',
    'newrelic_application_settings_end_user_apdex_threshold_seconds',
    'newrelic_application_real_user_monitoring_enabled',
    'newrelic_application_rolling_concurrent_instances',
    'newrelic_host_health_status',
    'newrelic_host_rolling_instances',
    ...['info', 'health_status', ...TRAFFIC].map((name) => `newrelic_instance_${name}`),
    'newrelic_key_transaction_last_reported_timestamp_seconds',
    ...END_USER.map((name) => `newrelic_key_transaction_${name}`),
    ...WINDOW.filter((name) => name.startsWith('end_user_')).map((name) => `newrelic_host_${name.replace(/\{.*/, '')}`),
  ];

  it('exists with both interfaces, unless NerdGraph or REST lacks its data', () => {
    const restOnly = FAMILIES.filter(({ interfaces }) => !interfaces.includes('nerdgraph')).map(({ name }) => name);
    expect(restOnly.sort()).toEqual(REST_ONLY.toSorted());
    const nerdGraphOnly = FAMILIES.filter(({ interfaces }) => !interfaces.includes('rest')).map(({ name }) => name);
    expect(nerdGraphOnly).toEqual(['newrelic_application_tags']);
  });

  it('names its interface in HELP where it is REST only or has another source with NerdGraph', () => {
    for (const { help, interfaces } of FAMILIES) {
      expect(help.includes('(REST only)')).toBe(!interfaces.includes('nerdgraph'));
    }
    const help = (name: string) => FAMILIES.find((family) => family.name === name)?.help;
    expect(help('newrelic_application_rolling_error_ratio')).toContain('with NerdGraph Errors/all / (HttpDispatcher');
    expect(help('newrelic_application_memory_used_bytes')).toContain('with NerdGraph average memory of a process');
    expect(help('newrelic_application_apdex_score')).not.toContain('NerdGraph');
  });
});

describe('HELP of the catalogue', () => {
  const LISTED = /rolling average of 3 to 4 minutes|state when the list was read/;
  const TIME_BASE: Readonly<Record<string, RegExp>> = {
    ...{ applications: LISTED, hosts: LISTED, instances: LISTED },
    key_transactions: /rolling average of 10 minutes|state when the list was read/,
    application_metrics: /collection window/,
    host_metrics: /collection window/,
    entities: /state when the list was read/,
  };

  it.each(FAMILIES.map((family) => [family.name, family] as const))(
    'of %s names source, time base and refresh',
    (_, family) => {
      expect(family.help).toMatch(/Source: \S/);
      expect(family.help).toMatch(TIME_BASE[family.group]!);
      expect(family.help).toMatch(/refreshed at most once a minute\.$/);
      expect(family.name.includes('_rolling_')).toBe(family.help.includes('rolling average'));
    },
  );

  it('is one line of text for every family', () => {
    for (const { help } of EVERY) expect(help).toMatch(/^[^\n\\]{15,}\.$/);
  });

  it('warns of the memory value whose meaning over several minutes is not verified', () => {
    const memory = (name: string) => FAMILIES.find((family) => family.name === name)?.help;
    expect(memory('newrelic_application_memory_used_bytes')).toContain('unverified');
    expect(memory('newrelic_host_memory_used_bytes')).not.toContain('unverified');
  });
});

/** The naming rules of `promtool check metrics`, and more. */
describe('the name of a family', () => {
  it.each(EVERY.map((family) => [family.name, family] as const))(
    'follows the naming rules: %s',
    (name, { type, labelNames }) => {
      expect(name).toMatch(/^(newrelic|probe)_[a-z0-9_]*[a-z0-9]$/);
      expect(name.endsWith('_total')).toBe(type === 'counter');
      expect(name).not.toMatch(/_(bucket|count|sum)$/);
      expect(name.split('_')).not.toEqual(expect.arrayContaining([expect.stringMatching(UNWANTED)]));
      for (const label of labelNames) expect(label).toMatch(/^(?!type$|environment$)[a-z][a-z0-9_]*$/);
    },
  );

  const UNWANTED =
    /^(gauge|counter|histogram|summary|s|ms|us|ns|sec|b|kb|mb|gb|tb|pb|m|h|d|milliseconds|minutes|hours|days|bits|megabytes|percent)$/;

  it.each(FAMILIES.map((family) => [family.name, family] as const))('ends in the unit: %s', (name, { unit }) => {
    const ending = /_(seconds|bytes|ratio)(?:_total)?$/.exec(name)?.[1];
    const perSecond = name.endsWith('_per_second');
    expect(unit).toBe(perSecond ? undefined : ending);
  });
});

describe('BUILT_IN_NAMES', () => {
  it('holds every built-in name that a page can have', () => {
    for (const { name } of EVERY) expect(BUILT_IN_NAMES).toContain(name);
    for (const part of ['bucket', 'sum', 'count']) {
      expect(BUILT_IN_NAMES).toContain(`newrelic_exporter_api_request_duration_seconds_${part}`);
    }
    expect(BUILT_IN_NAMES.size).toBe(EVERY.length + 3);
  });
});
