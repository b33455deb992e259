import { describe, expect, it } from 'vitest';
import type { Application, Host, Instance, KeyTransaction, RollingSummary } from '../../src/api/types.ts';
import { FAMILIES } from '../../src/metrics/catalogue.ts';
import type { Group, Sample } from '../../src/metrics/sample.ts';
import {
  applicationSamples,
  hostSamples,
  instanceSamples,
  keyTransactionSamples,
} from '../../src/metrics/entityFamilies.ts';

const NO_SUMMARY: RollingSummary = {
  responseTime: undefined,
  throughput: undefined,
  errorRate: undefined,
  apdexTarget: undefined,
  apdexScore: undefined,
  hostCount: undefined,
  instanceCount: undefined,
  concurrentInstanceCount: undefined,
};

const SUMMARY: RollingSummary = {
  responseTime: 441,
  throughput: 66,
  errorRate: 0.03,
  apdexTarget: 0.5,
  apdexScore: 0.84,
  hostCount: 2,
  instanceCount: 15,
  concurrentInstanceCount: 7,
};

const END_USER: RollingSummary = {
  ...NO_SUMMARY,
  responseTime: 4.61,
  throughput: 5.58,
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
  settings: { apdexThreshold: 0.4, endUserApdexThreshold: 6, realUserMonitoring: true, serverSideConfig: false },
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

/** Samples as `suffix{label=value}` and value; no series may be there twice. */
function written(samples: readonly Sample[], prefix: string): Record<string, number> {
  const entries = samples.map(({ family, labels, value }): [string, number] => {
    const suffix = Object.entries(labels ?? {}).map(([name, text]) => `{${name}=${text}}`);
    return [family.name.replace(`newrelic_${prefix}_`, '') + suffix.join(''), value];
  });
  expect(new Set(entries.map(([key]) => key)).size).toBe(entries.length);
  return Object.fromEntries(entries);
}

const statuses = (current: string): Record<string, number> =>
  Object.fromEntries(
    ['green', 'orange', 'red', 'gray', 'unknown'].map((status) => [
      `health_status{status=${status}}`,
      Number(status === current),
    ]),
  );

function expectSame(actual: Record<string, number>, wanted: Record<string, number>): void {
  expect(Object.keys(actual).sort()).toEqual(Object.keys(wanted).sort());
  for (const [key, value] of Object.entries(wanted)) expect(actual[key], key).toBeCloseTo(value, 12);
}

function expectEveryFamily(samples: readonly Sample[], group: Group): void {
  // Tags are there only where some are asked for.
  const families = FAMILIES.filter((family) => family.group === group && family.name !== 'newrelic_application_tags');
  expect(new Set(samples.map(({ family }) => family))).toEqual(new Set(families));
  for (const { family, labels } of samples) expect(Object.keys(labels ?? {})).toEqual(family.labelNames);
}

describe('applicationSamples', () => {
  it('gives every family in base units', () => {
    const samples = applicationSamples(APPLICATION);
    expectEveryFamily(samples, 'applications');
    expectSame(written(samples, 'application'), {
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
      rolling_response_time_seconds: 0.441,
      rolling_requests_per_second: 1.1,
      rolling_error_ratio: 0.03,
      rolling_apdex_target_seconds: 0.5,
      rolling_apdex_score: 0.84,
      rolling_hosts: 2,
      rolling_instances: 15,
      rolling_concurrent_instances: 7,
      end_user_rolling_response_time_seconds: 4.61,
      end_user_rolling_page_views_per_second: 0.093,
      end_user_rolling_apdex_target_seconds: 7,
      end_user_rolling_apdex_score: 0.91,
    });
  });

  it('gives only the info of an application of which nothing else is known', () => {
    const samples = applicationSamples({
      ...APPLICATION,
      language: undefined,
      healthStatus: undefined,
      reporting: undefined,
      lastReportedAt: undefined,
      summary: undefined,
      endUserSummary: undefined,
      settings: undefined,
      alertPolicyId: undefined,
      hosts: undefined,
      instances: undefined,
    });
    expect(written(samples, 'application')).toEqual({ 'info{language=}{alert_policy_id=}': 1 });
  });

  it('gives nothing of summaries and settings whose fields are all absent', () => {
    const settings = {
      apdexThreshold: undefined,
      endUserApdexThreshold: undefined,
      realUserMonitoring: undefined,
      serverSideConfig: undefined,
    };
    const samples = applicationSamples({ ...APPLICATION, summary: NO_SUMMARY, endUserSummary: NO_SUMMARY, settings });
    const names = Object.keys(written(samples, 'application'));
    expect(names.filter((name) => /rolling|settings|enabled/.test(name))).toEqual([]);
  });

  it('leaves averages and scores of 0 out while there is no traffic', () => {
    const idle = { ...SUMMARY, responseTime: 0, throughput: 0, errorRate: 0, apdexScore: 0 };
    const endUserSummary = { ...END_USER, responseTime: 0, throughput: 0, apdexScore: 0 };
    const found = written(applicationSamples({ ...APPLICATION, summary: idle, endUserSummary }), 'application');
    expect(Object.keys(found).filter((name) => /rolling_(response_time|error_ratio|apdex_score)/.test(name))).toEqual(
      [],
    );
    expect(found).toMatchObject({
      rolling_requests_per_second: 0,
      rolling_apdex_target_seconds: 0.5,
      rolling_hosts: 2,
      end_user_rolling_page_views_per_second: 0,
      end_user_rolling_apdex_target_seconds: 7,
    });
  });

  it('keeps averages and scores of 0 while there is traffic, and others while there is none', () => {
    const bad = { ...SUMMARY, responseTime: 0, throughput: 0.2, errorRate: 0, apdexScore: 0 };
    expect(written(applicationSamples({ ...APPLICATION, summary: bad }), 'application')).toMatchObject({
      rolling_response_time_seconds: 0,
      rolling_error_ratio: 0,
      rolling_apdex_score: 0,
    });
    const fading = { ...SUMMARY, throughput: 0 };
    expect(written(applicationSamples({ ...APPLICATION, summary: fading }), 'application')).toMatchObject({
      rolling_response_time_seconds: 0.441,
      rolling_error_ratio: 0.03,
      rolling_apdex_score: 0.84,
    });
    const unknown = { ...bad, throughput: undefined };
    expect(written(applicationSamples({ ...APPLICATION, summary: unknown }), 'application')).toMatchObject({
      rolling_apdex_score: 0,
    });
  });

  it('gives an unknown health status one more series', () => {
    const found = written(applicationSamples({ ...APPLICATION, healthStatus: 'purple' }), 'application');
    expect(Object.fromEntries(Object.entries(found).filter(([name]) => name.startsWith('health_status')))).toEqual({
      ...statuses('purple'),
      'health_status{status=purple}': 1,
    });
  });

  it('says 0 for an application that does not report', () => {
    expect(written(applicationSamples({ ...APPLICATION, reporting: false }), 'application')).toMatchObject({
      reporting: 0,
    });
  });
});

const TRAFFIC = {
  rolling_response_time_seconds: 0.441,
  rolling_requests_per_second: 1.1,
  rolling_error_ratio: 0.03,
  rolling_apdex_score: 0.84,
};

describe('rolling values that were read apart from the list', () => {
  const listed = { ...NO_SUMMARY, apdexTarget: 0.5, hostCount: 2, instanceCount: 15 };
  const apart = {
    summary: { ...NO_SUMMARY, responseTime: 120, throughput: 30, errorRate: 0.01, apdexScore: 0.97 },
    endUserSummary: { ...NO_SUMMARY, responseTime: 2.5, throughput: 6, apdexTarget: 7, apdexScore: 0.9 },
  };
  const rollingOnly = (samples: readonly Sample[], prefix: string): Record<string, number> =>
    Object.fromEntries(Object.entries(written(samples, prefix)).filter(([name]) => name.includes('rolling')));

  it("join an application's target and numbers of hosts and instances of the list", () => {
    const application = { ...APPLICATION, summary: listed, endUserSummary: undefined };
    expectSame(rollingOnly(applicationSamples(application, apart), 'application'), {
      rolling_response_time_seconds: 0.12,
      rolling_requests_per_second: 0.5,
      rolling_error_ratio: 0.01,
      rolling_apdex_score: 0.97,
      rolling_apdex_target_seconds: 0.5,
      rolling_hosts: 2,
      rolling_instances: 15,
      end_user_rolling_response_time_seconds: 2.5,
      end_user_rolling_page_views_per_second: 0.1,
      end_user_rolling_apdex_target_seconds: 7,
      end_user_rolling_apdex_score: 0.9,
    });
    expect(rollingOnly(applicationSamples(application), 'application')).toEqual({
      rolling_apdex_target_seconds: 0.5,
      rolling_hosts: 2,
      rolling_instances: 15,
    });
  });

  it('replace those of hosts and key transactions', () => {
    const host = rollingOnly(hostSamples({ ...HOST, summary: undefined }, apart), 'host');
    expect(host).toMatchObject({ rolling_response_time_seconds: 0.12, rolling_requests_per_second: 0.5 });
    const listedTransaction = { ...KEY_TRANSACTION, summary: listed, endUserSummary: undefined };
    const samples = keyTransactionSamples(listedTransaction, { ...apart, endUserSummary: undefined });
    expectSame(rollingOnly(samples, 'key_transaction'), {
      rolling_response_time_seconds: 0.12,
      rolling_requests_per_second: 0.5,
      rolling_error_ratio: 0.01,
      rolling_apdex_score: 0.97,
      rolling_apdex_target_seconds: 0.5,
    });
  });

  it('keep a 0 that has a denominator of its own, though there are no web requests', () => {
    const summary = { ...NO_SUMMARY, throughput: 0, errorRate: 0 };
    expect(rollingOnly(hostSamples(HOST, { summary, endUserSummary: undefined }), 'host')).toEqual({
      rolling_requests_per_second: 0,
      rolling_error_ratio: 0,
      rolling_instances: 15,
    });
  });
});

describe('hostSamples', () => {
  it('gives every family in base units', () => {
    const samples = hostSamples(HOST);
    expectEveryFamily(samples, 'hosts');
    expectSame(written(samples, 'host'), {
      'info{language=java}': 1,
      ...statuses('green'),
      ...TRAFFIC,
      rolling_instances: 15,
    });
  });

  it('gives only the info of a host of which nothing else is known', () => {
    const samples = hostSamples({ ...HOST, language: undefined, healthStatus: undefined, summary: undefined });
    expect(written(samples, 'host')).toEqual({ 'info{language=}': 1 });
  });
});

describe('instanceSamples', () => {
  it('gives every family in base units', () => {
    const samples = instanceSamples(INSTANCE);
    expectEveryFamily(samples, 'instances');
    expectSame(written(samples, 'instance'), { 'info{language=java}': 1, ...statuses('green'), ...TRAFFIC });
  });

  it('gives only the info of an instance of which nothing else is known', () => {
    const samples = instanceSamples({ ...INSTANCE, language: undefined, healthStatus: undefined, summary: undefined });
    expect(written(samples, 'instance')).toEqual({ 'info{language=}': 1 });
  });
});

describe('keyTransactionSamples', () => {
  it('gives every family in base units', () => {
    const samples = keyTransactionSamples(KEY_TRANSACTION);
    expectEveryFamily(samples, 'key_transactions');
    expectSame(written(samples, 'key_transaction'), {
      'info{transaction_name=WebTransaction/Action/pay}': 1,
      reporting: 0,
      ...statuses('gray'),
      last_reported_timestamp_seconds: 1_433_774_667,
      ...TRAFFIC,
      rolling_apdex_target_seconds: 0.5,
      end_user_rolling_response_time_seconds: 4.61,
      end_user_rolling_page_views_per_second: 0.093,
      end_user_rolling_apdex_target_seconds: 7,
      end_user_rolling_apdex_score: 0.91,
    });
  });

  it('gives an idle key transaction no verdict', () => {
    const zeros = { ...NO_SUMMARY, responseTime: 0, throughput: 0, errorRate: 0, apdexTarget: 0.5, apdexScore: 0 };
    const idle = {
      ...KEY_TRANSACTION,
      transactionName: undefined,
      healthStatus: undefined,
      reporting: undefined,
      lastReportedAt: undefined,
      summary: zeros,
      endUserSummary: undefined,
    };
    expect(written(keyTransactionSamples(idle), 'key_transaction')).toEqual({
      'info{transaction_name=}': 1,
      rolling_requests_per_second: 0,
      rolling_apdex_target_seconds: 0.5,
    });
  });
});
