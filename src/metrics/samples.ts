import type { Application, Host, Instance, KeyTransaction, RollingSummary } from '../api/types.ts';
import { APPLICATION, HOST, INSTANCE, KEY_TRANSACTION } from './catalogueSummaries.ts';
import type { Family, Labels, Sample } from './sample.ts';
import { SampleList } from './sampleList.ts';

/** The statuses upstream is known to use (api-facts 3.1), each with its labels. */
const KNOWN_STATUSES: ReadonlyMap<string, Labels> = new Map(
  ['green', 'orange', 'red', 'gray', 'unknown'].map((status) => [status, { status }]),
);

/** State and rolling summary of an application (contract 5.1), in base units. */
export function applicationSamples(application: Application): Sample[] {
  const samples = new SampleList();
  const { settings, summary } = application;
  samples.add(APPLICATION.info, 1, {
    language: application.language ?? '',
    alert_policy_id: application.alertPolicyId === undefined ? '' : String(application.alertPolicyId),
  });
  samples.add(APPLICATION.reporting, flag(application.reporting));
  addHealthStatus(samples, APPLICATION.healthStatus, application.healthStatus);
  samples.add(APPLICATION.lastReported, application.lastReportedAt);
  samples.add(APPLICATION.hosts, application.hosts);
  samples.add(APPLICATION.instances, application.instances);
  samples.add(APPLICATION.apdexThreshold, settings?.apdexThreshold);
  samples.add(APPLICATION.endUserApdexThreshold, settings?.endUserApdexThreshold);
  samples.add(APPLICATION.realUserMonitoring, flag(settings?.realUserMonitoring));
  samples.add(APPLICATION.serverSideConfig, flag(settings?.serverSideConfig));
  addTraffic(samples, APPLICATION, summary);
  samples.add(APPLICATION.rollingApdexTarget, summary?.apdexTarget);
  samples.add(APPLICATION.rollingHosts, summary?.hostCount);
  samples.add(APPLICATION.rollingInstances, summary?.instanceCount);
  samples.add(APPLICATION.rollingConcurrentInstances, summary?.concurrentInstanceCount);
  addEndUser(samples, APPLICATION, application.endUserSummary);
  return samples.list;
}

/** State and rolling summary of a host (contract 5.2), in base units. */
export function hostSamples(host: Host): Sample[] {
  const samples = new SampleList();
  samples.add(HOST.info, 1, { language: host.language ?? '' });
  addHealthStatus(samples, HOST.healthStatus, host.healthStatus);
  addTraffic(samples, HOST, host.summary);
  samples.add(HOST.rollingInstances, host.summary?.instanceCount);
  return samples.list;
}

/** State and rolling summary of an instance (contract 5.2), in base units. */
export function instanceSamples(instance: Instance): Sample[] {
  const samples = new SampleList();
  samples.add(INSTANCE.info, 1, { language: instance.language ?? '' });
  addHealthStatus(samples, INSTANCE.healthStatus, instance.healthStatus);
  addTraffic(samples, INSTANCE, instance.summary);
  return samples.list;
}

/** State and rolling summary of a key transaction (contract 5.3), in base units. */
export function keyTransactionSamples(keyTransaction: KeyTransaction): Sample[] {
  const samples = new SampleList();
  samples.add(KEY_TRANSACTION.info, 1, { transaction_name: keyTransaction.transactionName ?? '' });
  samples.add(KEY_TRANSACTION.reporting, flag(keyTransaction.reporting));
  addHealthStatus(samples, KEY_TRANSACTION.healthStatus, keyTransaction.healthStatus);
  samples.add(KEY_TRANSACTION.lastReported, keyTransaction.lastReportedAt);
  addTraffic(samples, KEY_TRANSACTION, keyTransaction.summary);
  samples.add(KEY_TRANSACTION.rollingApdexTarget, keyTransaction.summary?.apdexTarget);
  addEndUser(samples, KEY_TRANSACTION, keyTransaction.endUserSummary);
  return samples.list;
}

interface TrafficFamilies {
  readonly rollingResponseTime: Family;
  readonly rollingRequests: Family;
  readonly rollingErrorRatio: Family;
  readonly rollingApdexScore: Family;
}

/** `application_summary`: response time in milliseconds, throughput per minute (api-facts 3.5). */
function addTraffic(samples: SampleList, families: TrafficFamilies, summary: RollingSummary | undefined): void {
  if (summary === undefined) return;
  samples.add(families.rollingResponseTime, verdict(summary, divided(summary.responseTime, 1000)));
  samples.add(families.rollingRequests, divided(summary.throughput, 60));
  samples.add(families.rollingErrorRatio, verdict(summary, summary.errorRate));
  samples.add(families.rollingApdexScore, verdict(summary, summary.apdexScore));
}

interface EndUserFamilies {
  readonly endUserResponseTime: Family;
  readonly endUserPageViews: Family;
  readonly endUserApdexTarget: Family;
  readonly endUserApdexScore: Family;
}

/** `end_user_summary`: response time already in seconds, throughput per minute (api-facts 3.5). */
function addEndUser(samples: SampleList, families: EndUserFamilies, summary: RollingSummary | undefined): void {
  if (summary === undefined) return;
  samples.add(families.endUserResponseTime, verdict(summary, summary.responseTime));
  samples.add(families.endUserPageViews, divided(summary.throughput, 60));
  samples.add(families.endUserApdexTarget, summary.apdexTarget);
  samples.add(families.endUserApdexScore, verdict(summary, summary.apdexScore));
}

/** Drops an average or a score of 0 over no traffic: it is no verdict (contract 5.4, of 5.1 to 5.3). */
function verdict(summary: RollingSummary, value: number | undefined): number | undefined {
  return value === 0 && summary.throughput === 0 ? undefined : value;
}

function addHealthStatus(samples: SampleList, family: Family, current: string | undefined): void {
  if (current === undefined) return;
  for (const [status, labels] of KNOWN_STATUSES) samples.add(family, flag(status === current), labels);
  if (!KNOWN_STATUSES.has(current)) samples.add(family, 1, { status: current });
}

function divided(value: number | undefined, divisor: number): number | undefined {
  return value === undefined ? undefined : value / divisor;
}

function flag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}
