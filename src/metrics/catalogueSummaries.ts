import { familyMaker } from './family.ts';
import type { CatalogueFamily, FamilyMaker, TimeBase } from './family.ts';

const NO_VERDICT = 'absent where it is 0 while throughput is 0';

/** The families of `application_summary` that applications, hosts, instances and key transactions share. */
function traffic(make: FamilyMaker, base: TimeBase) {
  return {
    rollingResponseTime: make(
      'rolling_response_time_seconds',
      base,
      'Response time of web transactions',
      `application_summary.response_time / 1000, ${NO_VERDICT}`,
    ),
    rollingRequests: make(
      'rolling_requests_per_second',
      base,
      'Requests per second',
      'application_summary.throughput (per minute) / 60',
    ),
    rollingErrorRatio: make(
      'rolling_error_ratio',
      base,
      'Share of requests with an error, from 0 to 1',
      `application_summary.error_rate, ${NO_VERDICT}`,
    ),
    rollingApdexScore: make(
      'rolling_apdex_score',
      base,
      'Apdex score, from 0 to 1',
      `application_summary.apdex_score, ${NO_VERDICT}`,
    ),
  };
}

/** The families of `end_user_summary`. */
function endUser(make: FamilyMaker, base: TimeBase) {
  return {
    endUserResponseTime: make(
      'end_user_rolling_response_time_seconds',
      base,
      'Page load time in the browser',
      `end_user_summary.response_time (seconds), ${NO_VERDICT}`,
    ),
    endUserPageViews: make(
      'end_user_rolling_page_views_per_second',
      base,
      'Page views per second',
      'end_user_summary.throughput (per minute) / 60',
    ),
    endUserApdexTarget: make(
      'end_user_rolling_apdex_target_seconds',
      base,
      'Apdex threshold T of page loads',
      'end_user_summary.apdex_target',
    ),
    endUserApdexScore: make(
      'end_user_rolling_apdex_score',
      base,
      'Apdex score of page loads, from 0 to 1',
      `end_user_summary.apdex_score, ${NO_VERDICT}`,
    ),
  };
}

function apdexTarget(make: FamilyMaker, base: TimeBase): CatalogueFamily {
  return make(
    'rolling_apdex_target_seconds',
    base,
    'Apdex threshold T of web transactions',
    'application_summary.apdex_target',
  );
}

function healthStatus(make: FamilyMaker, entity: string): CatalogueFamily {
  return make(
    'health_status',
    'state',
    `Health of the ${entity}: 1 for the current status, 0 for the other known ones`,
    'health_status',
    ['status'],
  );
}

function reporting(make: FamilyMaker, entity: string): CatalogueFamily {
  return make('reporting', 'state', `1 while the ${entity} reports data, else 0`, 'reporting');
}

function lastReported(make: FamilyMaker, entity: string): CatalogueFamily {
  return make(
    'last_reported_timestamp_seconds',
    'state',
    `Unix time at which the ${entity} last reported data`,
    'last_reported_at',
  );
}

const application = familyMaker('newrelic_application', 'applications');

/** Families of applications (contract 5.1). */
export const APPLICATION = {
  info: application('info', 'state', '1, with what is known about the application', 'language, links.alert_policy', [
    'language',
    'alert_policy_id',
  ]),
  reporting: reporting(application, 'application'),
  healthStatus: healthStatus(application, 'application'),
  lastReported: lastReported(application, 'application'),
  hosts: application('hosts', 'state', 'Hosts of the application', 'length of links.application_hosts'),
  instances: application('instances', 'state', 'Instances of the application', 'length of links.application_instances'),
  apdexThreshold: application(
    'settings_apdex_threshold_seconds',
    'state',
    'Apdex threshold T of web transactions in the settings',
    'settings.app_apdex_threshold',
  ),
  endUserApdexThreshold: application(
    'settings_end_user_apdex_threshold_seconds',
    'state',
    'Apdex threshold T of page loads in the settings',
    'settings.end_user_apdex_threshold',
  ),
  realUserMonitoring: application(
    'real_user_monitoring_enabled',
    'state',
    '1 when browser monitoring is on in the settings, else 0',
    'settings.enable_real_user_monitoring',
  ),
  serverSideConfig: application(
    'server_side_config_enabled',
    'state',
    '1 when the agent is configured from the service, else 0',
    'settings.use_server_side_config',
  ),
  ...traffic(application, 'rolling'),
  rollingApdexTarget: apdexTarget(application, 'rolling'),
  rollingHosts: application('rolling_hosts', 'rolling', 'Hosts that report', 'application_summary.host_count'),
  rollingInstances: application(
    'rolling_instances',
    'rolling',
    'Instances that report',
    'application_summary.instance_count',
  ),
  rollingConcurrentInstances: application(
    'rolling_concurrent_instances',
    'rolling',
    'Instances that report at the same time',
    'application_summary.concurrent_instance_count',
  ),
  ...endUser(application, 'rolling'),
};

const host = familyMaker('newrelic_host', 'hosts');

/** Families of hosts (contract 5.2). */
export const HOST = {
  info: host('info', 'state', '1, with what is known about the host', 'language of the host list', ['language']),
  healthStatus: healthStatus(host, 'host'),
  ...traffic(host, 'rolling'),
  rollingInstances: host('rolling_instances', 'rolling', 'Instances that report', 'application_summary.instance_count'),
};

const instance = familyMaker('newrelic_instance', 'instances');

/** Families of instances (contract 5.2). */
export const INSTANCE = {
  info: instance('info', 'state', '1, with what is known about the instance', 'language of the instance list', [
    'language',
  ]),
  healthStatus: healthStatus(instance, 'instance'),
  ...traffic(instance, 'rolling'),
};

const keyTransaction = familyMaker('newrelic_key_transaction', 'key_transactions');

/** Families of key transactions (contract 5.3). */
export const KEY_TRANSACTION = {
  info: keyTransaction('info', 'state', '1, with what is known about the key transaction', 'transaction_name', [
    'transaction_name',
  ]),
  reporting: reporting(keyTransaction, 'key transaction'),
  healthStatus: healthStatus(keyTransaction, 'key transaction'),
  lastReported: lastReported(keyTransaction, 'key transaction'),
  ...traffic(keyTransaction, 'rolling10'),
  rollingApdexTarget: apdexTarget(keyTransaction, 'rolling10'),
  ...endUser(keyTransaction, 'rolling10'),
};
