import { FAMILIES } from '../../../src/metrics/catalogue.ts';
import type { Line } from '../support/realPrograms.ts';

/** The interface of New Relic through which the exporter reads the account. */
export type Interface = 'rest' | 'nerdgraph';
/** Each line of programs is tried with one of them: what a server makes of an exposition does not depend on the interface. */
export const INTERFACE_OF: Readonly<Record<Line, Interface>> = { stable: 'rest', newest: 'nerdgraph' };

/** The value of a series at each minute; undefined where a scrape does not have it. */
export type Course = (minute: number) => number | undefined;

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly course: Course;
}

/** The value of a series during an incident: `minute` counts from its begin, `now` like that of a course. */
export type Altered = (minute: number, now: number) => number | undefined;

/** What an incident changes: gives other values for a series, or undefined to leave it as it is. */
export type Change = (series: Series, by: Interface) => Altered | undefined;

const DAY = 1440;
const TARGET = { job: 'newrelic-apm-exporter', instance: 'exporter:9126' };
const ACCOUNT = { ...TARGET, account: 'production' };
const GROUPS = ['applications', 'key_transactions', 'application_metrics', 'hosts', 'host_metrics'];

/** Families that an account read through NerdGraph does not have. */
export const REST_ONLY: ReadonlySet<string> = new Set([
  ...FAMILIES.filter(({ interfaces }) => !interfaces.includes('nerdgraph')).map(({ name }) => name),
  'newrelic_exporter_api_end_of_life_timestamp_seconds',
]);

/** Traffic of a day as a share of its peak: nearly nothing at midnight, the peak at noon. */
const daily: Course = (minute) => 0.5 - 0.5 * Math.cos((2 * Math.PI * minute) / DAY);
const constantly =
  (value: number): Course =>
  () =>
    value;

/**
 * The series of an account on which nothing is wrong: a shop with even traffic, a catalogue that sleeps at night, a batch
 * program without web requests, an application that was switched off long ago, and one without an Apdex threshold.
 */
export function quietFleet(by: Interface): Series[] {
  const applications = [
    application('checkout', '101', { requests: (minute) => 10 + 5 * (daily(minute) ?? 0) }),
    application('catalogue', '102', { requests: (minute) => Math.floor(600 * (daily(minute) ?? 0)) / 60 }),
    application('batch', '103', { requests: constantly(0) }),
    state('retired', '104', 0),
    application('report', '105', { requests: constantly(2), threshold: 0 }),
  ];
  const hosts = [host('checkout', '101', 'web-1', by), host('checkout', '101', 'web-2', by)];
  return [...applications, ...hosts, keyTransaction(), exporter()]
    .flat()
    .filter(({ name }) => by === 'rest' || !REST_ONLY.has(name));
}

function state(app: string, id: string, reporting: number): Series[] {
  const labels = { ...ACCOUNT, app, app_id: id };
  const metric = (name: string, course: Course): Series => ({ name: `newrelic_application_${name}`, labels, course });
  return [
    metric('reporting', constantly(reporting)),
    metric('settings_apdex_threshold_seconds', constantly(0.5)),
    metric('settings_end_user_apdex_threshold_seconds', constantly(7)),
    metric('real_user_monitoring_enabled', constantly(1)),
    ...(reporting === 1 ? [metric('last_reported_timestamp_seconds', (minute) => minute * 60 - 60)] : []),
  ];
}

function application(app: string, id: string, traffic: { requests: Course; threshold?: number }): Series[] {
  const labels = { ...ACCOUNT, app, app_id: id };
  const { requests, threshold = 0.5 } = traffic;
  const metric = (name: string, course: Course, more = {}): Series => ({
    name: `newrelic_application_${name}`,
    labels: { ...labels, ...more },
    course,
  });
  const whileBusy =
    (value: number): Course =>
    (minute) =>
      (requests(minute) ?? 0) > 0 ? value : undefined;
  const zone =
    (share: number): Course =>
    (minute) =>
      Math.round((requests(minute) ?? 0) * 300 * share);
  return [
    ...state(app, id, 1),
    metric('rolling_requests_per_second', requests),
    metric('rolling_concurrent_instances', constantly(4)),
    metric('web_requests_per_second', requests),
    metric('response_time_seconds', whileBusy(0.4)),
    metric('apdex_threshold_seconds', constantly(threshold)),
    metric('apdex_score', whileBusy(0.94)),
    metric('apdex_requests', zone(0.9), { zone: 'satisfied' }),
    metric('apdex_requests', zone(0.08), { zone: 'tolerating' }),
    metric('apdex_requests', zone(0.02), { zone: 'frustrated' }),
    metric('error_ratio', whileBusy(0.01)),
    metric('errors_per_second', (minute) => (requests(minute) ?? 0) * 0.01),
    metric('transactions_total', (minute) => 600 * minute, { kind: 'web' }),
  ];
}

function host(app: string, id: string, name: string, by: Interface): Series[] {
  const labels = { ...ACCOUNT, app, app_id: id, host: name, host_id: by === 'rest' ? `7${name.at(-1) ?? ''}` : name };
  const metric = (family: string, course: Course, more = {}): Series => ({
    name: `newrelic_host_${family}`,
    labels: { ...labels, ...more },
    course,
  });
  return [
    metric('memory_used_bytes', (minute) => 1_073_741_824 + 1_000_000 * (minute % 60)),
    metric('cpu_usage_ratio', (minute) => 0.3 + 2 * (daily(minute) ?? 0)),
    metric('rolling_instances', constantly(2)),
    metric('health_status', constantly(1), { status: 'green' }),
  ];
}

function keyTransaction(): Series[] {
  const labels = { ...ACCOUNT, app: 'checkout', app_id: '101', key_transaction: 'Pay', key_transaction_id: '9' };
  const metric = (family: string, course: Course): Series => ({
    name: `newrelic_key_transaction_${family}`,
    labels,
    course,
  });
  return [
    metric('rolling_apdex_score', constantly(0.93)),
    metric('rolling_requests_per_second', constantly(2)),
    metric('last_reported_timestamp_seconds', (minute) => minute * 60),
  ];
}

function exporter(): Series[] {
  const perMinute = 200;
  const endpoint = '/applications/{id}/metrics/data.json';
  const accountMetric = (name: string, course: Course, more = {}): Series => ({
    name: `newrelic_${name}`,
    labels: { ...ACCOUNT, ...more },
    course,
  });
  const exporterMetric = (name: string, course: Course, more = {}): Series => ({
    name,
    labels: { ...TARGET, ...more },
    course,
  });
  return [
    exporterMetric('up', constantly(1)),
    exporterMetric('newrelic_exporter_build_info', constantly(1), { version: '1.0.0' }),
    exporterMetric('newrelic_exporter_config_last_reload_successful', constantly(1)),
    exporterMetric('newrelic_exporter_config_last_reload_success_timestamp_seconds', constantly(-2 * DAY * 60)),
    exporterMetric('newrelic_exporter_account_list_success', constantly(1), { entry: 'organisation' }),
    exporterMetric('newrelic_exporter_series_dropped_total', constantly(0), {
      family: 'newrelic_host_cpu_usage_ratio',
    }),
    accountMetric('up', constantly(1)),
    accountMetric('exporter_applications', constantly(5), { state: 'listed' }),
    accountMetric('exporter_applications', constantly(5), { state: 'exported' }),
    accountMetric('exporter_applications', constantly(4), { state: 'reporting' }),
    accountMetric('exporter_api_end_of_life_timestamp_seconds', constantly(200 * DAY * 60)),
    accountMetric('exporter_api_budget_requests_per_minute', constantly(600)),
    accountMetric('exporter_late_transactions_total', constantly(0)),
    accountMetric('exporter_api_requests_total', (minute) => perMinute * minute, { endpoint, code: '200' }),
    accountMetric('exporter_api_request_duration_seconds_sum', (minute) => 0.5 * perMinute * minute, { endpoint }),
    accountMetric('exporter_api_request_duration_seconds_count', (minute) => perMinute * minute, { endpoint }),
    ...GROUPS.flatMap((group) => [
      accountMetric('exporter_collection_success', constantly(1), { group }),
      accountMetric('exporter_effective_interval_seconds', constantly(group === 'hosts' ? 300 : 60), { group }),
      accountMetric('exporter_collection_entities', constantly(5), { group, state: 'fresh' }),
      accountMetric('exporter_collection_entities', constantly(0), { group, state: 'stale' }),
      accountMetric('exporter_collection_entities', constantly(0), { group, state: 'missing' }),
    ]),
    ...['application_metrics', 'host_metrics'].map((group) =>
      accountMetric('exporter_oldest_window_end_timestamp_seconds', (minute) => minute * 60 - 180, { group }),
    ),
  ];
}
