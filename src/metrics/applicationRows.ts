import type { Application } from '../api/types.ts';
import { rowMaker } from './family.ts';
import { apdexTargetRow, endUserRows, trafficRows } from './rollingRows.ts';
import type { WithRolling } from './rollingRows.ts';
import { flag, healthStatusRow, info, reportingRows } from './stateRows.ts';

/** An application's entry in the list, and its rolling values. */
export interface ApplicationInput extends WithRolling {
  readonly entry: Application;
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
