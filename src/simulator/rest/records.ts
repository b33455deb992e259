import { formatTimestamp } from './timestamp.ts';
import { roundFigures } from './rounding.ts';
import type { ApplicationIdentity, HostIdentity, InstanceIdentity } from '../world/identity.ts';
import type { KeyTransaction } from '../world/keyTransactions.ts';
import type { Scope } from '../world/scope.ts';
import { health } from '../world/health.ts';
import type { RollingFigures } from '../world/summary.ts';
import {
  keyTransactionEndUserSummary,
  keyTransactionReports,
  keyTransactionSummary,
  rollingEndUserSummary,
  rollingSummary,
} from '../world/summary.ts';
import { isReporting, lastReportedAt } from '../world/time.ts';
import type { World } from '../world/world.ts';
import type { JsonObject } from '../wire/json.ts';

/** Writes the entities of a world as the records of the service. */
export interface RecordContext {
  readonly world: World;
  readonly now: number;
  readonly rounding: boolean;
}

function summary(context: RecordContext, figures: Readonly<Record<string, number>>): JsonObject {
  return context.rounding ? roundFigures(figures) : figures;
}

function scopeOf(context: RecordContext, application: number, ids: { host?: number; instance?: number } = {}): Scope {
  const scope = context.world.scope({ application, ...ids });
  if (scope === undefined) throw new Error(`no such entity in application ${application}`);
  return scope;
}

function counts(kind: ApplicationIdentity['archetype'], hosts: number, instances: number): Record<string, number> {
  if (kind.summaryCounts === 'none') return {};
  const both = { host_count: hosts, instance_count: instances };
  return kind.summaryCounts === 'all' ? { ...both, concurrent_instance_count: instances } : both;
}

function endUserSummary(context: RecordContext, browser: RollingFigures | undefined, target: number): JsonObject {
  if (browser === undefined) return {};
  const { response_time, throughput, apdex_score } = browser;
  return { end_user_summary: summary(context, { response_time, throughput, apdex_target: target, apdex_score }) };
}

function applicationSummary(
  context: RecordContext,
  application: ApplicationIdentity,
  figures: RollingFigures | undefined,
): JsonObject {
  if (figures === undefined) return {};
  const { world, now } = context;
  const kind = application.archetype;
  const { response_time, throughput, error_rate, apdex_score } = figures;
  return {
    application_summary: summary(context, {
      response_time,
      throughput,
      error_rate,
      apdex_target: kind.apdexTarget,
      apdex_score,
      ...counts(kind, world.hosts(application, now).length, world.instances(application, now).length),
    }),
  };
}

function applicationLinks({ world, now }: RecordContext, application: ApplicationIdentity): JsonObject {
  return {
    application_instances: world.instances(application, now).map(({ id }) => id),
    servers: [],
    application_hosts: world.hosts(application, now).map(({ id }) => id),
    ...(application.alertPolicyId === undefined ? {} : { alert_policy: application.alertPolicyId }),
  };
}

export function applicationRecord(
  context: RecordContext,
  application: ApplicationIdentity,
  withLinks: boolean,
): JsonObject {
  const { world, now } = context;
  const kind = application.archetype;
  const reporting = isReporting(application, now);
  const reportedAt = lastReportedAt(application, now);
  const scope = scopeOf(context, application.id);
  const figures = rollingSummary(world, scope, now);
  return {
    id: application.id,
    name: application.name,
    language: kind.language,
    health_status: health(reporting, kind.alertPolicy, figures),
    reporting,
    ...(reportedAt === undefined ? {} : { last_reported_at: formatTimestamp(reportedAt) }),
    ...applicationSummary(context, application, figures),
    ...endUserSummary(context, rollingEndUserSummary(world, scope, now), kind.endUserApdexTarget),
    settings: {
      app_apdex_threshold: kind.apdexTarget,
      end_user_apdex_threshold: kind.endUserApdexTarget,
      enable_real_user_monitoring: kind.browserEnabled,
      use_server_side_config: kind.serverSideConfig,
    },
    ...(withLinks ? { links: applicationLinks(context, application) } : {}),
  };
}

/** Host and instance bodies have no `reporting`, `last_reported_at`, `name` or `apdex_target`. */
function partOfApplication(
  context: RecordContext,
  application: ApplicationIdentity,
  scope: Scope,
  instances: number,
): JsonObject {
  const figures = rollingSummary(context.world, scope, context.now);
  const kind = application.archetype;
  return {
    language: kind.language,
    health_status: health(isReporting(application, context.now), kind.alertPolicy, figures),
    ...(figures === undefined
      ? {}
      : {
          application_summary: summary(context, {
            ...figures,
            ...(kind.summaryCounts === 'none' ? {} : { instance_count: instances }),
          }),
        }),
  };
}

export function hostRecord(context: RecordContext, application: ApplicationIdentity, host: HostIdentity): JsonObject {
  const scope = scopeOf(context, application.id, { host: host.id });
  return {
    id: host.id,
    application_name: application.name,
    host: host.host,
    ...partOfApplication(context, application, scope, scope.instances.length),
    links: { application: application.id, application_instances: scope.instances.map(({ id }) => id) },
  };
}

export function instanceRecord(
  context: RecordContext,
  application: ApplicationIdentity,
  instance: InstanceIdentity,
): JsonObject {
  const scope = scopeOf(context, application.id, { instance: instance.id });
  return {
    id: instance.id,
    application_name: application.name,
    host: instance.host,
    ...(instance.port === undefined ? {} : { port: instance.port }),
    ...partOfApplication(context, application, scope, 1),
    links: { application: application.id, application_host: instance.hostId },
  };
}

export function keyTransactionRecord(context: RecordContext, key: KeyTransaction): JsonObject {
  const { world, now } = context;
  const figures = keyTransactionSummary(world, key, now);
  const reporting = keyTransactionReports(world, key, now);
  const application = world.application(key.source.applicationId);
  const reportedAt = application === undefined || !reporting ? undefined : lastReportedAt(application, now);
  const status = {
    health_status: health(reporting, application?.alertPolicyId !== undefined, figures),
    reporting,
    ...(reportedAt === undefined ? {} : { last_reported_at: formatTimestamp(reportedAt) }),
  };
  return {
    id: key.id,
    name: key.name,
    transaction_name: key.transactionName,
    ...(key.state === 'bare' ? {} : status),
    ...(figures === undefined
      ? {}
      : {
          application_summary: summary(context, {
            response_time: figures.response_time,
            throughput: figures.throughput,
            error_rate: figures.error_rate,
            apdex_target: key.apdexTarget,
            apdex_score: figures.apdex_score,
          }),
        }),
    ...endUserSummary(
      context,
      keyTransactionEndUserSummary(world, key, now),
      application?.archetype.endUserApdexTarget ?? 0,
    ),
    links: { application: key.applicationId },
  };
}
