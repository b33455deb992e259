import type { Application, Host, Instance, KeyTransaction, RollingValues } from '../api/types.ts';
import { rowMaker, samplesOf } from './family.ts';
import {
  apdexTargetRow,
  endUserRows,
  trafficRows,
  type WithRolling,
  flag,
  healthStatusRow,
  info,
  reportingRows,
  rollingOf,
} from './rollingRows.ts';
import { tagLabel } from './labelNames.ts';
import type { Labels, Sample } from './sample.ts';

/** An application's entry in the list, and its rolling values. */
interface ApplicationInput extends WithRolling {
  readonly entry: Application;
  /** Keys of the tags that the configuration publishes. */
  readonly tags: readonly string[];
}

const PREFIX = { prefix: 'newrelic_application', group: 'applications' } as const;
const state = rowMaker<ApplicationInput>({ ...PREFIX, timeBase: 'state' });
const rolling = rowMaker<ApplicationInput>({ ...PREFIX, timeBase: 'rolling' });

/** Families of applications: state and rolling values. */
export const APPLICATION = {
  info: state({
    suffix: 'info',
    meaning: '1, with what is known about the application',
    source: 'language, links.alert_policy',
    nerdgraph: 'language; alert_policy_id is empty',
    labelNames: ['language', 'alert_policy_id'],
    calculate: ({ entry: { language = '', alertPolicyId } }) =>
      info({ language, alert_policy_id: alertPolicyId === undefined ? '' : String(alertPolicyId) }),
  }),
  tags: state({
    suffix: 'tags',
    meaning:
      '1, with a label tag_<key> for each tag that applications.tags names: its values, sorted, with commas between them',
    source: 'tags',
    rest: false,
    calculate: ({ entry, tags }) => (tags.length === 0 ? undefined : info(tagLabels(entry, tags))),
  }),
  ...reportingRows(state, 'application'),
  healthStatus: healthStatusRow(state, 'application', true),
  hosts: state({
    suffix: 'hosts',
    meaning: 'Hosts of the application',
    source: 'length of links.application_hosts',
    nerdgraph: 'apmSummary.hostCount',
    calculate: ({ entry }) => entry.hosts,
  }),
  instances: state({
    suffix: 'instances',
    meaning: 'Instances of the application',
    source: 'length of links.application_instances',
    nerdgraph: 'apmSummary.instanceCount',
    calculate: ({ entry }) => entry.instances,
  }),
  apdexThreshold: state({
    suffix: 'settings_apdex_threshold_seconds',
    meaning: 'Apdex threshold T of web transactions in the settings',
    source: 'settings.app_apdex_threshold',
    nerdgraph: 'settings.apdexTarget',
    calculate: ({ entry }) => entry.settings?.apdexThreshold,
  }),
  endUserApdexThreshold: state({
    suffix: 'settings_end_user_apdex_threshold_seconds',
    meaning: 'Apdex threshold T of page loads in the settings',
    source: 'settings.end_user_apdex_threshold',
    nerdgraph: false,
    calculate: ({ entry }) => entry.settings?.endUserApdexThreshold,
  }),
  realUserMonitoring: state({
    suffix: 'real_user_monitoring_enabled',
    meaning: '1 when browser monitoring is on in the settings, else 0',
    source: 'settings.enable_real_user_monitoring',
    nerdgraph: false,
    calculate: ({ entry }) => flag(entry.settings?.realUserMonitoring),
  }),
  serverSideConfig: state({
    suffix: 'server_side_config_enabled',
    meaning: '1 when the agent is configured from the service, else 0',
    source: 'settings.use_server_side_config',
    nerdgraph: 'settings.serverSideConfig',
    calculate: ({ entry }) => flag(entry.settings?.serverSideConfig),
  }),
  ...trafficRows(rolling, {
    responseTime: 'HttpDispatcher of the last 4 minutes',
    requests: 'HttpDispatcher of the last 4 minutes',
    errorRatio: 'Errors/all / (HttpDispatcher + OtherTransaction/all) of the last 4 minutes',
    apdexScore: 'Apdex of the last 4 minutes',
  }),
  rollingApdexTarget: apdexTargetRow(rolling),
  rollingHosts: rolling({
    suffix: 'rolling_hosts',
    meaning: 'Hosts that report',
    source: 'application_summary.host_count',
    nerdgraph: 'apmSummary.hostCount',
    calculate: ({ entry }) => entry.summary?.hostCount,
  }),
  rollingInstances: rolling({
    suffix: 'rolling_instances',
    meaning: 'Instances that report',
    source: 'application_summary.instance_count',
    nerdgraph: 'apmSummary.instanceCount',
    calculate: ({ entry }) => entry.summary?.instanceCount,
  }),
  rollingConcurrentInstances: rolling({
    suffix: 'rolling_concurrent_instances',
    meaning: 'Instances that report at the same time',
    source: 'application_summary.concurrent_instance_count',
    nerdgraph: false,
    calculate: ({ entry }) => entry.summary?.concurrentInstanceCount,
  }),
  ...endUserRows(rolling, true),
};

/** A host's entry in the list of its application, and its rolling values. */
interface HostInput extends WithRolling {
  readonly entry: Host;
}

/** An instance's entry in the list of its application, and its rolling values. */
interface InstanceInput extends WithRolling {
  readonly entry: Instance;
}

const HOSTS = { prefix: 'newrelic_host', group: 'hosts' } as const;
const hostState = rowMaker<HostInput>({ ...HOSTS, timeBase: 'state' });
const hostRolling = rowMaker<HostInput>({ ...HOSTS, timeBase: 'rolling' });

/** Families of hosts: state and rolling values. */
export const HOST = {
  info: hostState({
    suffix: 'info',
    meaning: '1, with what is known about the host',
    source: 'language of the host list',
    nerdgraph: 'the language of the application',
    labelNames: ['language'],
    calculate: ({ entry: { language = '' } }) => info({ language }),
  }),
  healthStatus: healthStatusRow(hostState, 'host', false),
  ...trafficRows(hostRolling, {
    responseTime: "the host's HttpDispatcher of the last 4 minutes",
    requests: "the host's HttpDispatcher of the last 4 minutes",
    errorRatio: "the host's Errors/all / (HttpDispatcher + OtherTransaction/all) of the last 4 minutes",
    apdexScore: "the host's Apdex of the last 4 minutes",
  }),
  rollingInstances: hostRolling({
    suffix: 'rolling_instances',
    meaning: 'Instances that report',
    source: 'application_summary.instance_count',
    nerdgraph: false,
    calculate: ({ entry }) => entry.summary?.instanceCount,
  }),
};

const INSTANCES = { prefix: 'newrelic_instance', group: 'instances' } as const;
const instanceState = rowMaker<InstanceInput>({ ...INSTANCES, timeBase: 'state' });

/** Families of instances: state and rolling values. */
export const INSTANCE = {
  info: instanceState({
    suffix: 'info',
    meaning: '1, with what is known about the instance',
    source: 'language of the instance list',
    nerdgraph: false,
    labelNames: ['language'],
    calculate: ({ entry: { language = '' } }) => info({ language }),
  }),
  healthStatus: healthStatusRow(instanceState, 'instance', false),
  ...trafficRows(rowMaker<InstanceInput>({ ...INSTANCES, timeBase: 'rolling' }), false),
};

/** A key transaction's entry in the list, and its rolling values. */
interface KeyTransactionInput extends WithRolling {
  readonly entry: KeyTransaction;
}

const KEY_TRANSACTIONS = { prefix: 'newrelic_key_transaction', group: 'key_transactions' } as const;
const keyTransactionState = rowMaker<KeyTransactionInput>({ ...KEY_TRANSACTIONS, timeBase: 'state' });
const keyTransactionRolling = rowMaker<KeyTransactionInput>({ ...KEY_TRANSACTIONS, timeBase: 'rolling10' });

/** Families of key transactions: state and rolling values. */
export const KEY_TRANSACTION = {
  info: keyTransactionState({
    suffix: 'info',
    meaning: '1, with what is known about the key transaction',
    source: 'transaction_name',
    nerdgraph: 'metricName',
    labelNames: ['transaction_name'],
    calculate: ({ entry: { transactionName = '' } }) => info({ transaction_name: transactionName }),
  }),
  ...reportingRows(keyTransactionState, 'key transaction'),
  healthStatus: healthStatusRow(keyTransactionState, 'key transaction', true),
  ...trafficRows(keyTransactionRolling, {
    responseTime: 'apm.key.transaction.duration of the last 10 minutes',
    requests: 'apm.key.transaction.duration of the last 10 minutes',
    errorRatio: 'apm.key.transaction.error.count / apm.key.transaction.duration of the last 10 minutes',
    apdexScore: "the application's metric Apdex/<transaction> of the last 10 minutes",
  }),
  rollingApdexTarget: apdexTargetRow(keyTransactionRolling),
  ...endUserRows(keyTransactionRolling, false),
};

const APPLICATION_ROWS = Object.values(APPLICATION);
const HOST_ROWS = Object.values(HOST);
const INSTANCE_ROWS = Object.values(INSTANCE);
const KEY_TRANSACTION_ROWS = Object.values(KEY_TRANSACTION);

/**
 * State and rolling values of an application, in base units. `rolling`: its rolling values where they are read apart from
 * the list; settings, Apdex target and numbers of hosts and instances are the list's with either interface. `tags`: the keys
 * of those that are published.
 */
export function applicationSamples(
  application: Application,
  rolling?: RollingValues,
  tags: readonly string[] = [],
): Sample[] {
  return samplesOf(APPLICATION_ROWS, { entry: application, tags, rolling: rollingOf(application, rolling) });
}

/** Keys are compared without case; a tag that the application lacks is an empty label. */
function tagLabels({ tags = [] }: Application, keys: readonly string[]): Labels {
  return Object.fromEntries(
    keys.map((key) => {
      const found = tags.filter((tag) => tag.key.toLowerCase() === key.toLowerCase());
      return [tagLabel(key), [...new Set(found.flatMap(({ values }) => values))].sort().join(',')];
    }),
  );
}

/** State and rolling values of a host, in base units; `rolling` as for applications. */
export function hostSamples(host: Host, rolling?: RollingValues): Sample[] {
  return samplesOf(HOST_ROWS, { entry: host, rolling: rollingOf(host, rolling) });
}

/** State and rolling values of an instance, in base units. */
export function instanceSamples(instance: Instance): Sample[] {
  return samplesOf(INSTANCE_ROWS, { entry: instance, rolling: rollingOf(instance, undefined) });
}

/**
 * State and rolling values of a key transaction, in base units; `rolling` as for applications. None of one whose details
 * could not be read: they could not be labelled.
 */
export function keyTransactionSamples(keyTransaction: KeyTransaction, rolling?: RollingValues): Sample[] {
  if (keyTransaction.unread !== undefined) return [];
  return samplesOf(KEY_TRANSACTION_ROWS, { entry: keyTransaction, rolling: rollingOf(keyTransaction, rolling) });
}
