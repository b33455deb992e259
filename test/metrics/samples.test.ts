import { describe, expect, it } from 'vitest';
import type { Application, Host, Instance, KeyTransaction, RollingSummary } from '../../src/api/types.ts';
import { FAMILIES } from '../../src/metrics/catalogue.ts';
import { listedFamilySamples } from '../../src/metrics/listedFamilies.ts';

const SUMMARY: RollingSummary = {
  responseTime: 0.441,
  requestRate: 66 / 60,
  errorRate: 0.03,
  apdexTarget: 0.5,
  apdexScore: 0.84,
  hostCount: 2,
  instanceCount: 15,
  concurrentInstanceCount: 7,
};

const END_USER: RollingSummary = {
  responseTime: 4.61,
  requestRate: 5.58 / 60,
  apdexTarget: 7,
  apdexScore: 0.91,
};

const APPLICATION: Application = {
  id: 17,
  name: 'shop',
  language: 'ruby',
  healthStatus: 'orange',
  reporting: true,
  lastReportedAt: 1_433_774_666,
  summary: SUMMARY,
  endUserSummary: END_USER,
  ...{ apdexThreshold: 0.4, endUserApdexThreshold: 6, realUserMonitoring: true, serverSideConfig: false },
  alertPolicyId: 0,
  hosts: 3,
  instances: 0,
};

const HOST: Host = { key: '3', host: 'web-1', language: 'java', healthStatus: 'green', summary: SUMMARY };
const INSTANCE: Instance = {
  id: 4,
  host: 'web-1',
  language: 'java',
  healthStatus: 'green',
  summary: SUMMARY,
  port: 0,
  hostId: 3,
};

const KEY_TRANSACTION: KeyTransaction = {
  id: 9,
  name: 'Pay',
  transactionName: 'WebTransaction/Action/pay',
  healthStatus: 'gray',
  reporting: false,
  lastReportedAt: 1_433_774_667,
  summary: SUMMARY,
  endUserSummary: END_USER,
  applicationId: 17,
};

/** The samples of an entry as `suffix{label=value}` and value; no series may be there twice. */
function written(...entry: Parameters<typeof listedFamilySamples>): Record<string, number> {
  const entries = listedFamilySamples(...entry).map(({ family, labels, value }): [string, number] => {
    const suffix = Object.entries(labels ?? {}).map(([name, text]) => `{${name}=${text}}`);
    return [family.name.replace(`newrelic_${entry[0].slice(0, -1)}_`, '') + suffix.join(''), value];
  });
  expect(new Set(entries.map(([key]) => key)).size).toBe(entries.length);
  return Object.fromEntries(entries);
}

const ofApplication = (changes: Partial<Application>) => written('applications', { ...APPLICATION, ...changes });

function statuses(current: string): Record<string, number> {
  const all = ['green', 'orange', 'red', 'gray', 'unknown'];
  return Object.fromEntries(all.map((status) => [`health_status{status=${status}}`, Number(status === current)]));
}

function expectSame(actual: Record<string, number>, wanted: Record<string, number>): void {
  expect(Object.keys(actual).sort()).toEqual(Object.keys(wanted).sort());
  for (const [key, value] of Object.entries(wanted)) expect(actual[key], key).toBeCloseTo(value, 12);
}

const TRAFFIC = {
  rolling_response_time_seconds: 0.441,
  rolling_requests_per_second: 1.1,
  rolling_error_ratio: 0.03,
  rolling_apdex_score: 0.84,
};

const BROWSER = {
  end_user_rolling_response_time_seconds: 4.61,
  end_user_rolling_page_views_per_second: 0.093,
  end_user_rolling_apdex_target_seconds: 7,
  end_user_rolling_apdex_score: 0.91,
};

const ALL = [
  [
    'applications',
    APPLICATION,
    {
      'info{language=ruby}{alert_policy_id=0}': 1,
      reporting: 1,
      ...statuses('orange'),
      last_reported_timestamp_seconds: 1_433_774_666,
      hosts: 3,
      instances: 0,
      settings_apdex_threshold_seconds: 0.4,
      settings_end_user_apdex_threshold_seconds: 6,
      real_user_monitoring_enabled: 1,
      server_side_config_enabled: 0,
      ...TRAFFIC,
      rolling_apdex_target_seconds: 0.5,
      rolling_hosts: 2,
      rolling_instances: 15,
      rolling_concurrent_instances: 7,
      ...BROWSER,
    },
    'info{language=}{alert_policy_id=}',
  ],
  [
    'hosts',
    HOST,
    { 'info{language=java}': 1, ...statuses('green'), ...TRAFFIC, rolling_instances: 15 },
    'info{language=}',
  ],
  ['instances', INSTANCE, { 'info{language=java}': 1, ...statuses('green'), ...TRAFFIC }, 'info{language=}'],
  [
    'key_transactions',
    KEY_TRANSACTION,
    {
      'info{transaction_name=WebTransaction/Action/pay}': 1,
      reporting: 0,
      ...statuses('gray'),
      last_reported_timestamp_seconds: 1_433_774_667,
      ...TRAFFIC,
      rolling_apdex_target_seconds: 0.5,
      ...BROWSER,
    },
    'info{transaction_name=}',
  ],
] as const;

describe('a listed entity', () => {
  it.each(ALL)('%s gives every family in base units', (group, entry, expected) => {
    expectSame(written(group, entry), expected);
    const samples = listedFamilySamples(group, entry);
    // Tags have samples only where the configuration names some.
    const families = FAMILIES.filter((family) => family.group === group && family.name !== 'newrelic_application_tags');
    expect(new Set(samples.map(({ family }) => family))).toEqual(new Set(families));
    for (const { family, labels } of samples) expect(Object.keys(labels ?? {})).toEqual(family.labelNames);
  });

  it.each(ALL)('%s gives only the info series without further data', (group, _entry, _expected, info) => {
    expect(written(group, { id: 1, name: 'known' })).toEqual({ [info]: 1 });
  });
});

describe('entitySamples', () => {
  it('gives no samples for a key transaction whose details could not be read', () => {
    expect(written('key_transactions', { ...KEY_TRANSACTION, unread: new Error('gone') as never })).toEqual({});
  });

  it('gives no samples for summaries and settings without any field', () => {
    const thresholds = { apdexThreshold: undefined, endUserApdexThreshold: undefined };
    const settings = { ...thresholds, realUserMonitoring: undefined, serverSideConfig: undefined };
    const names = Object.keys(ofApplication({ summary: {}, endUserSummary: {}, ...settings }));
    expect(names.filter((name) => /rolling|settings|enabled/.test(name))).toEqual([]);
  });

  it('leaves out averages and scores of 0 without traffic', () => {
    const summary = { ...SUMMARY, responseTime: 0, requestRate: 0, errorRate: 0, apdexScore: 0 };
    const endUserSummary = { ...END_USER, responseTime: 0, requestRate: 0, apdexScore: 0 };
    const found = ofApplication({ summary, endUserSummary });
    expect(Object.keys(found).join(' ')).not.toMatch(/rolling_(response_time|error_ratio|apdex_score)/);
    expect(found).toMatchObject({
      rolling_requests_per_second: 0,
      rolling_apdex_target_seconds: 0.5,
      rolling_hosts: 2,
      end_user_rolling_page_views_per_second: 0,
      end_user_rolling_apdex_target_seconds: 7,
    });
  });

  it('keeps averages and scores of 0 with traffic, and other values without traffic', () => {
    const bad = { ...SUMMARY, responseTime: 0, requestRate: 0.2 / 60, errorRate: 0, apdexScore: 0 };
    expect(ofApplication({ summary: bad })).toMatchObject({
      rolling_response_time_seconds: 0,
      rolling_error_ratio: 0,
      rolling_apdex_score: 0,
    });
    const resting = ofApplication({ summary: { ...SUMMARY, requestRate: 0 } });
    expect(resting).toMatchObject({ ...TRAFFIC, rolling_requests_per_second: 0 });
    expect(ofApplication({ summary: { ...bad, requestRate: undefined } })).toMatchObject({ rolling_apdex_score: 0 });
  });

  it('gives an unknown health status one more series', () => {
    const found = Object.entries(ofApplication({ healthStatus: 'purple' }));
    const ofHealth = Object.fromEntries(found.filter(([name]) => name.startsWith('health_status')));
    expect(ofHealth).toEqual({ ...statuses('purple'), 'health_status{status=purple}': 1 });
  });
});

describe('rolling values with queries of their own', () => {
  const listed = { apdexTarget: 0.5, hostCount: 2, instanceCount: 15 };
  const { responseTime, requestRate, errorRate, apdexScore } = SUMMARY;
  const apart = { summary: { responseTime, requestRate, errorRate, apdexScore }, endUserSummary: END_USER };
  const rollingOnly = (...entry: Parameters<typeof listedFamilySamples>): Record<string, number> =>
    Object.fromEntries(Object.entries(written(...entry)).filter(([name]) => name.includes('rolling')));

  it('complement the target and the numbers of hosts and instances from the list of applications', () => {
    const application = { ...APPLICATION, summary: listed, endUserSummary: undefined };
    const ofList = { rolling_apdex_target_seconds: 0.5, rolling_hosts: 2, rolling_instances: 15 };
    expectSame(rollingOnly('applications', application, apart), { ...TRAFFIC, ...ofList, ...BROWSER });
    expect(rollingOnly('applications', application)).toEqual(ofList);
  });

  it('replace the listed rolling values of hosts and key transactions', () => {
    expectSame(rollingOnly('hosts', { ...HOST, summary: undefined }, apart), TRAFFIC);
    const listedTransaction = { ...KEY_TRANSACTION, summary: listed, endUserSummary: undefined };
    const ofTransaction = rollingOnly('key_transactions', listedTransaction, { ...apart, endUserSummary: undefined });
    expectSame(ofTransaction, { ...TRAFFIC, rolling_apdex_target_seconds: 0.5 });
  });

  it('keep a 0 with a denominator of its own although there are no web requests', () => {
    const summary = { requestRate: 0, errorRate: 0 };
    expect(rollingOnly('hosts', HOST, { summary, endUserSummary: undefined })).toEqual({
      rolling_requests_per_second: 0,
      rolling_error_ratio: 0,
      rolling_instances: 15,
    });
  });
});
