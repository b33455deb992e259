import type { Application, Host, Instance, KeyTransaction, RollingSummary, RollingValues, Tag } from '../api/types.ts';
import {
  createRow,
  calculateSamples,
  type FamilyRow,
  type RowSpec,
  type Labels,
  type Sample,
  tagLabel,
  tagValues,
} from './family.ts';

interface ListedInput {
  readonly entry: Partial<Application & Instance & KeyTransaction>;
  readonly rolling: RollingValues;
  readonly tags: readonly string[];
}

type Spec = Omit<RowSpec<ListedInput>, 'suffix'>;
type Specs = Readonly<Record<string, Spec>>;

function createRows(
  group: 'applications' | 'hosts' | 'instances' | 'key_transactions',
  rolling: 'rolling' | 'rolling10',
  specs: Specs,
): readonly FamilyRow<ListedInput>[] {
  const prefix = `newrelic_${group.slice(0, -1)}`;
  return Object.entries(specs).map(([suffix, spec]) =>
    createRow(prefix, group, suffix.includes('rolling') ? rolling : 'state', { suffix, ...spec }),
  );
}

const KNOWN_STATUSES = ['green', 'orange', 'red', 'gray', 'unknown'];

export const ALERT_SEVERITY =
  'alertSeverity (CRITICAL red, WARNING orange, NOT_ALERTING green, NOT_CONFIGURED unknown), gray while it does not report';

/** Only REST has the health of hosts and instances. */
function healthStatus(listed: string, inNerdgraph: boolean): Spec {
  return {
    meaning: `Health of the ${listed}: 1 for the current status, 0 for the other known ones`,
    source: 'health_status',
    nerdgraph: inNerdgraph && ALERT_SEVERITY,
    labelNames: ['status'],
    calculate: ({ entry }) => listStatuses(entry.healthStatus),
  };
}

function languageInfo(listed: string, nerdgraph: string | false): Spec {
  return {
    meaning: `1, with what is known about the ${listed}`,
    source: `language of the ${listed} list`,
    nerdgraph,
    labelNames: ['language'],
    calculate: ({ entry: { language = '' } }) => [{ labels: { language }, value: 1 }],
  };
}

function reporting(listed: string): Specs {
  return {
    reporting: {
      meaning: `1 while the ${listed} reports data, else 0`,
      source: 'reporting',
      calculate: ({ entry }) => entry.reporting,
    },
    last_reported_timestamp_seconds: {
      meaning: `Unix time at which the ${listed} last reported data`,
      source: 'last_reported_at',
      nerdgraph: false,
      calculate: ({ entry }) => entry.lastReportedAt,
    },
  };
}

/** Returns a series for each known status, and another for an unknown current status. */
export function listStatuses(current: string | undefined) {
  if (current === undefined) return undefined;
  const statuses = [...new Set([...KNOWN_STATUSES, current])];
  return statuses.map((status) => ({ labels: { status }, value: Number(status === current) }));
}

/** Returns the labels of published tags. Keys match in any case; a missing tag gives an empty label. */
export function tagLabels(tags: readonly Tag[], keys: readonly string[]): Labels {
  return Object.fromEntries(keys.map((key) => [tagLabel(key), [...new Set(tagValues(tags, key))].sort().join(',')]));
}

const IDLE = 'absent where it is 0 while throughput is 0';

type Traffic = 'responseTime' | 'requestRate' | 'errorRate' | 'apdexScore';

/** A rolling value: the suffix after `rolling_`, the meaning, the value, and the source in REST. */
type RollingRow<Value extends keyof RollingSummary> = readonly [string, string, Value, string];

const TRAFFIC: readonly RollingRow<Traffic>[] = [
  ['response_time_seconds', 'Response time of web transactions', 'responseTime', `response_time / 1000, ${IDLE}`],
  ['requests_per_second', 'Requests per second', 'requestRate', 'throughput (per minute) / 60'],
  ['error_ratio', 'Errors per request', 'errorRate', `error_rate, ${IDLE}`],
  ['apdex_score', 'Apdex score, from 0 to 1', 'apdexScore', `apdex_score, ${IDLE}`],
];

const END_USER: readonly RollingRow<Exclude<Traffic, 'errorRate'> | 'apdexTarget'>[] = [
  ['response_time_seconds', 'Page load time in the browser', 'responseTime', `response_time (seconds), ${IDLE}`],
  ['page_views_per_second', 'Page views per second', 'requestRate', 'throughput (per minute) / 60'],
  ['apdex_target_seconds', 'Apdex threshold T of page loads', 'apdexTarget', 'apdex_target'],
  ['apdex_score', 'Apdex score of page loads, from 0 to 1', 'apdexScore', `apdex_score, ${IDLE}`],
];

/** Specifies the values of a summary, with their sources in NerdGraph; false if it does not have them. */
function listSummary<Value extends keyof RollingSummary>(
  member: 'summary' | 'endUserSummary',
  rows: readonly RollingRow<Value>[],
  nerdgraph: Readonly<Record<Value, string>> | false,
): Specs {
  const [prefix, summary] = member === 'summary' ? ['', 'application_summary'] : ['end_user_', 'end_user_summary'];
  const specs = rows.map(([suffix, meaning, value, source]): [string, Spec] => {
    const calculate: Spec['calculate'] = ({ rolling }) => rolling[member]?.[value];
    const sources = { source: `${summary}.${source}`, nerdgraph: nerdgraph && nerdgraph[value] };
    return [`${prefix}rolling_${suffix}`, { meaning, ...sources, calculate }];
  });
  return Object.fromEntries(specs);
}

const APDEX_TARGET: Spec = {
  meaning: 'Apdex threshold T of web transactions',
  source: 'application_summary.apdex_target',
  nerdgraph: 'the Apdex target in the settings',
  calculate: ({ entry }) => entry.summary?.apdexTarget,
};

const END_USER_SOURCES = {
  responseTime: 'EndUser of the last 4 minutes',
  requestRate: 'EndUser of the last 4 minutes',
  apdexTarget: 'EndUser/Apdex of the last 4 minutes',
  apdexScore: 'EndUser/Apdex of the last 4 minutes',
};

const TIMESLICE_SOURCES = {
  responseTime: 'HttpDispatcher of the last 4 minutes',
  requestRate: 'HttpDispatcher of the last 4 minutes',
  errorRate: 'Errors/all / (HttpDispatcher + OtherTransaction/all) of the last 4 minutes',
  apdexScore: 'Apdex of the last 4 minutes',
};

function removeEmptyAverages(summary: RollingSummary | undefined): RollingSummary | undefined {
  if (summary?.requestRate !== 0) return summary;
  return {
    ...summary,
    responseTime: summary.responseTime || undefined,
    errorRate: summary.errorRate || undefined,
    apdexScore: summary.apdexScore || undefined,
  };
}

export const LISTED_FAMILIES = {
  applications: createRows('applications', 'rolling', {
    info: {
      meaning: '1, with what is known about the application',
      source: 'language, links.alert_policy',
      nerdgraph: 'language; alert_policy_id is empty',
      labelNames: ['language', 'alert_policy_id'],
      calculate: ({ entry: { language = '', alertPolicyId } }) => [
        { labels: { language, alert_policy_id: String(alertPolicyId ?? '') }, value: 1 },
      ],
    },
    tags: {
      meaning:
        '1, with a label tag_<key> for each tag of applications.tags: its values, sorted and separated by commas',
      source: 'tags',
      rest: false,
      // Unreadable tags are unknown, which differs from none.
      calculate: ({ entry, tags: keys }) =>
        keys.length === 0 || entry.tags === undefined ? [] : [{ labels: tagLabels(entry.tags, keys), value: 1 }],
    },
    ...reporting('application'),
    health_status: healthStatus('application', true),
    hosts: {
      meaning: 'Hosts of the application',
      source: 'length of links.application_hosts',
      nerdgraph: 'apmSummary.hostCount',
      calculate: ({ entry }) => entry.hosts,
    },
    instances: {
      meaning: 'Instances of the application',
      source: 'length of links.application_instances',
      nerdgraph: 'apmSummary.instanceCount',
      calculate: ({ entry }) => entry.instances,
    },
    settings_apdex_threshold_seconds: {
      meaning: 'Apdex threshold T of web transactions in the settings',
      source: 'settings.app_apdex_threshold',
      nerdgraph: 'settings.apdexTarget',
      calculate: ({ entry }) => entry.apdexThreshold,
    },
    settings_end_user_apdex_threshold_seconds: {
      meaning: 'Apdex threshold T of page loads in the settings',
      source: 'settings.end_user_apdex_threshold',
      nerdgraph: false,
      calculate: ({ entry }) => entry.endUserApdexThreshold,
    },
    real_user_monitoring_enabled: {
      meaning: '1 when browser monitoring is on in the settings, else 0',
      source: 'settings.enable_real_user_monitoring',
      nerdgraph: false,
      calculate: ({ entry }) => entry.realUserMonitoring,
    },
    server_side_config_enabled: {
      meaning: '1 when the agent is configured by New Relic, else 0',
      source: 'settings.use_server_side_config',
      nerdgraph: 'settings.serverSideConfig',
      calculate: ({ entry }) => entry.serverSideConfig,
    },
    ...listSummary('summary', TRAFFIC, TIMESLICE_SOURCES),
    rolling_apdex_target_seconds: APDEX_TARGET,
    rolling_hosts: {
      meaning: 'Hosts that report',
      source: 'application_summary.host_count',
      nerdgraph: 'apmSummary.hostCount',
      calculate: ({ entry }) => entry.summary?.hostCount,
    },
    rolling_instances: {
      meaning: 'Instances that report',
      source: 'application_summary.instance_count',
      nerdgraph: 'apmSummary.instanceCount',
      calculate: ({ entry }) => entry.summary?.instanceCount,
    },
    rolling_concurrent_instances: {
      meaning: 'Instances that report at the same time',
      source: 'application_summary.concurrent_instance_count',
      nerdgraph: false,
      calculate: ({ entry }) => entry.summary?.concurrentInstanceCount,
    },
    ...listSummary('endUserSummary', END_USER, END_USER_SOURCES),
  }),
  hosts: createRows('hosts', 'rolling', {
    info: languageInfo('host', 'the language of the application'),
    health_status: healthStatus('host', false),
    ...listSummary('summary', TRAFFIC, TIMESLICE_SOURCES),
    rolling_instances: {
      meaning: 'Instances that report',
      source: 'application_summary.instance_count',
      nerdgraph: false,
      calculate: ({ entry }) => entry.summary?.instanceCount,
    },
  }),
  instances: createRows('instances', 'rolling', {
    info: languageInfo('instance', false),
    health_status: healthStatus('instance', false),
    ...listSummary('summary', TRAFFIC, false),
  }),
  key_transactions: createRows('key_transactions', 'rolling10', {
    info: {
      meaning: '1, with what is known about the key transaction',
      source: 'transaction_name',
      nerdgraph: 'metricName',
      labelNames: ['transaction_name'],
      calculate: ({ entry: { transactionName = '' } }) => [{ labels: { transaction_name: transactionName }, value: 1 }],
    },
    ...reporting('key transaction'),
    health_status: healthStatus('key transaction', true),
    ...listSummary('summary', TRAFFIC, {
      responseTime: 'apm.key.transaction.duration of the last 10 minutes',
      requestRate: 'apm.key.transaction.duration of the last 10 minutes',
      errorRate: 'apm.key.transaction.error.count / apm.key.transaction.duration of the last 10 minutes',
      apdexScore: "the application's metric Apdex/<transaction> of the last 10 minutes",
    }),
    rolling_apdex_target_seconds: APDEX_TARGET,
    ...listSummary('endUserSummary', END_USER, false),
  }),
};

/**
 * Returns state and rolling values of a list entry; none of a key transaction that has no labels. Without rolling
 * values from a separate read, those of the list count, except for averages that are 0 because there is no traffic.
 */
export function listedFamilySamples(
  group: keyof typeof LISTED_FAMILIES,
  entry: ListedInput['entry'],
  separate?: RollingValues,
  tags: readonly string[] = [],
): Sample[] {
  const { summary, endUserSummary, unread } = entry;
  if (unread !== undefined) return [];
  const rolling = separate ?? {
    summary: removeEmptyAverages(summary),
    endUserSummary: removeEmptyAverages(endUserSummary),
  };
  return calculateSamples(LISTED_FAMILIES[group], { entry, rolling, tags });
}

export interface LabelledAccount {
  readonly name: string;
  readonly labels: Labels;
}

export function applicationLabels(account: LabelledAccount, { id, name }: Application): Labels {
  return { account: account.name, app: name, app_id: String(id), ...account.labels };
}

export function hostLabels(account: LabelledAccount, { id, name }: Application, { host, key }: Host): Labels {
  return { account: account.name, app: name, app_id: String(id), host, host_id: key, ...account.labels };
}

/** Returns the labels of an instance. A host id or port that New Relic does not give is empty. */
export function instanceLabels(account: LabelledAccount, app: Application, instance: Instance): Labels {
  const { id, host, hostId, port } = instance;
  const parents = { account: account.name, app: app.name, app_id: String(app.id), host, host_id: String(hostId ?? '') };
  return { ...parents, instance_id: String(id), port: String(port ?? ''), ...account.labels };
}

/** Returns the labels of a key transaction. `app` is the name of its application; empty if the key cannot see it. */
export function keyTransactionLabels(
  account: LabelledAccount,
  app: string | undefined,
  { id, name, applicationId }: KeyTransaction,
): Labels {
  const labelsOfApplication = { account: account.name, app: app ?? '', app_id: String(applicationId ?? '') };
  return { ...labelsOfApplication, key_transaction: name, key_transaction_id: String(id), ...account.labels };
}
