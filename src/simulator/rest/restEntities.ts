import {
  formatTimestamp,
  roundFigures,
  type RestCall,
  idsFilter,
  isTrue,
  languageFilter,
  nameFilter,
  paginate,
} from './restCall.ts';
import {
  type SimulatedApplication,
  type SimulatedHost,
  type SimulatedInstance,
  type SimulatedKeyTransaction,
  isReporting,
  lastReportedAt,
} from '../world/worldEntities.ts';
import type { WorldScope } from '../world/world.ts';
import {
  health,
  type RollingFigures,
  keyTransactionEndUserSummary,
  keyTransactionReports,
  keyTransactionSummary,
  rollingEndUserSummary,
  rollingSummary,
} from '../world/rollingFigures.ts';
import { type JsonObject, type ServiceAnswer, notFound, ok } from '../simulatorHttp.ts';

/** The `links` objects beside lists and records; the singular of their paths is the service's own. */
const APPLICATION_LINKS = {
  'application.servers': '/v2/servers?ids={server_ids}',
  'application.server': '/v2/servers/{server_id}',
  'application.application_hosts': '/v2/application/{application_id}/hosts?ids={host_ids}',
  'application.application_host': '/v2/application/{application_id}/hosts/{host_id}',
  'application.application_instances': '/v2/application/{application_id}/instances?ids={instance_ids}',
  'application.application_instance': '/v2/application/{application_id}/instances/{instance_id}',
  'application.alert_policy': '/v2/alert_policies/{alert_policy_id}',
};

const HOST_LINKS = {
  'application_host.application': '/v2/applications/{application_id}',
  'application_host.application_instances': '/v2/application/{application_id}/instances?ids={instance_ids}',
  'application_host.application_instance': '/v2/application/{application_id}/instances/{instance_id}',
  'application_host.server': '/v2/servers/{server_id}',
};

const INSTANCE_LINKS = {
  'application_instance.application': '/v2/applications/{application_id}',
  'application_instance.application_host': '/v2/application/{application_id}/hosts/{host_id}',
  'application_instance.server': '/v2/servers/{server_id}',
};

const KEY_TRANSACTION_LINKS = { 'key_transaction.application': '/v2/applications/{application_id}' };

function summary(call: RestCall, figures: Readonly<Record<string, number>>): JsonObject {
  return call.settings.rounding ? roundFigures(figures) : figures;
}

function scopeOf(call: RestCall, application: number, ids: { host?: number; instance?: number } = {}): WorldScope {
  const scope = call.world.scope({ application, ...ids });
  if (scope === undefined) throw new Error(`no such entity in application ${application}`);
  return scope;
}

function counts(kind: SimulatedApplication['archetype'], hosts: number, instances: number): Record<string, number> {
  if (kind.summaryCounts === 'none') return {};
  const both = { host_count: hosts, instance_count: instances };
  return kind.summaryCounts === 'all' ? { ...both, concurrent_instance_count: instances } : both;
}

function endUserSummary(call: RestCall, browser: RollingFigures | undefined, target: number): JsonObject {
  if (browser === undefined) return {};
  const { response_time, throughput, apdex_score } = browser;
  return { end_user_summary: summary(call, { response_time, throughput, apdex_target: target, apdex_score }) };
}

function applicationSummary(
  call: RestCall,
  application: SimulatedApplication,
  figures: RollingFigures | undefined,
): JsonObject {
  if (figures === undefined) return {};
  const { world, now } = call;
  const kind = application.archetype;
  const { response_time, throughput, error_rate, apdex_score } = figures;
  return {
    application_summary: summary(call, {
      response_time,
      throughput,
      error_rate,
      apdex_target: kind.apdexTarget,
      apdex_score,
      ...counts(kind, world.hosts(application, now).length, world.instances(application, now).length),
    }),
  };
}

function applicationLinks({ world, now }: RestCall, application: SimulatedApplication): JsonObject {
  return {
    application_instances: world.instances(application, now).map(({ id }) => id),
    servers: [],
    application_hosts: world.hosts(application, now).map(({ id }) => id),
    ...(application.alertPolicyId === undefined ? {} : { alert_policy: application.alertPolicyId }),
  };
}

function applicationRecord(call: RestCall, application: SimulatedApplication, withLinks: boolean): JsonObject {
  const { world, now } = call;
  const kind = application.archetype;
  const reporting = isReporting(application, now);
  const reportedAt = lastReportedAt(application, now);
  const scope = scopeOf(call, application.id);
  const figures = rollingSummary(world, scope, now);
  return {
    id: application.id,
    name: application.name,
    language: kind.language,
    health_status: health(reporting, kind.alertPolicy, figures),
    reporting,
    ...(reportedAt === undefined ? {} : { last_reported_at: formatTimestamp(reportedAt) }),
    ...applicationSummary(call, application, figures),
    ...endUserSummary(call, rollingEndUserSummary(world, scope, now), kind.endUserApdexTarget),
    settings:
      application.amendment.hasNoSettings === true
        ? null
        : {
            app_apdex_threshold: kind.apdexTarget,
            end_user_apdex_threshold: kind.endUserApdexTarget,
            enable_real_user_monitoring: kind.browserEnabled,
            use_server_side_config: kind.serverSideConfig,
          },
    ...(withLinks ? { links: applicationLinks(call, application) } : {}),
  };
}

/** Host and instance bodies have no `reporting`, `last_reported_at`, `name` or `apdex_target`. */
function partOfApplication(
  call: RestCall,
  application: SimulatedApplication,
  scope: WorldScope,
  instances: number,
): JsonObject {
  const figures = rollingSummary(call.world, scope, call.now);
  const kind = application.archetype;
  return {
    language: kind.language,
    health_status: health(isReporting(application, call.now), kind.alertPolicy, figures),
    ...(figures === undefined
      ? {}
      : {
          application_summary: summary(call, {
            ...figures,
            ...(kind.summaryCounts === 'none' ? {} : { instance_count: instances }),
          }),
        }),
  };
}

function hostRecord(call: RestCall, application: SimulatedApplication, host: SimulatedHost): JsonObject {
  const scope = scopeOf(call, application.id, { host: host.id });
  return {
    id: host.id,
    application_name: application.name,
    host: host.host,
    ...partOfApplication(call, application, scope, scope.instances.length),
    links: { application: application.id, application_instances: scope.instances.map(({ id }) => id) },
  };
}

function instanceRecord(call: RestCall, application: SimulatedApplication, instance: SimulatedInstance): JsonObject {
  const scope = scopeOf(call, application.id, { instance: instance.id });
  return {
    id: instance.id,
    application_name: application.name,
    host: instance.host,
    ...(instance.port === undefined ? {} : { port: instance.port }),
    ...partOfApplication(call, application, scope, 1),
    links: { application: application.id, application_host: instance.hostId },
  };
}

function keyTransactionRecord(call: RestCall, key: SimulatedKeyTransaction): JsonObject {
  const { world, now } = call;
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
          application_summary: summary(call, {
            response_time: figures.response_time,
            throughput: figures.throughput,
            error_rate: figures.error_rate,
            apdex_target: key.apdexTarget,
            apdex_score: figures.apdex_score,
          }),
        }),
    ...endUserSummary(
      call,
      keyTransactionEndUserSummary(world, key, now),
      application?.archetype.endUserApdexTarget ?? 0,
    ),
    links: { application: key.applicationId },
  };
}

const OBJECTS_PER_PAGE = 200;

/** A list of records; only those of the page are worked out. */
function list<Entity>(
  call: RestCall,
  envelope: string,
  entities: readonly Entity[],
  record: (entity: Entity) => JsonObject,
  links: JsonObject,
): ServiceAnswer {
  const page = paginate(entities, call, OBJECTS_PER_PAGE);
  return ok({ [envelope]: page.items.map(record), links }, page.link);
}

/** One record, or that there is none. */
function single<Entity>(
  envelope: string,
  entity: Entity | undefined,
  record: (entity: Entity) => JsonObject,
  links: JsonObject,
): ServiceAnswer {
  return entity === undefined ? notFound() : ok({ [envelope]: record(entity), links });
}

/** The application of the path, when there is one. */
function ownApplication({ world, route }: RestCall): SimulatedApplication | undefined {
  return route.applicationId === undefined ? undefined : world.application(route.applicationId);
}

export function applications(call: RestCall): ServiceAnswer {
  const { world, now, query } = call;
  const hasName = nameFilter(query, 'name');
  const hasHost = nameFilter(query, 'host');
  const hasId = idsFilter(query);
  const hasLanguage = languageFilter(query);
  const found = world
    .applications()
    .filter(
      (application) =>
        hasId(application.id) &&
        hasName([application.name]) &&
        hasLanguage(application.archetype.language) &&
        (!query.has('filter[host]') || hasHost(world.hosts(application, now).map(({ host }) => host))),
    );
  const withLinks = !isTrue(query, 'exclude_links');
  return list(call, 'applications', found, (one) => applicationRecord(call, one, withLinks), APPLICATION_LINKS);
}

export function application(call: RestCall): ServiceAnswer {
  return single('application', ownApplication(call), (one) => applicationRecord(call, one, true), APPLICATION_LINKS);
}

export function hosts(call: RestCall): ServiceAnswer {
  const owner = ownApplication(call);
  if (owner === undefined) return notFound();
  const hasName = nameFilter(call.query, 'hostname');
  const hasId = idsFilter(call.query);
  const found = call.world.hosts(owner, call.now).filter(({ id, host }) => hasId(id) && hasName([host]));
  return list(call, 'application_hosts', found, (one) => hostRecord(call, owner, one), HOST_LINKS);
}

export function host(call: RestCall): ServiceAnswer {
  const owner = ownApplication(call);
  if (owner === undefined) return notFound();
  const found = call.world.hosts(owner, call.now).find(({ id }) => id === call.route.hostId);
  return single('application_host', found, (one) => hostRecord(call, owner, one), HOST_LINKS);
}

export function instances(call: RestCall): ServiceAnswer {
  const owner = ownApplication(call);
  if (owner === undefined) return notFound();
  const hasName = nameFilter(call.query, 'hostname');
  const hasId = idsFilter(call.query);
  const found = call.world.instances(owner, call.now).filter(({ id, host: name }) => hasId(id) && hasName([name]));
  return list(call, 'application_instances', found, (one) => instanceRecord(call, owner, one), INSTANCE_LINKS);
}

export function instance(call: RestCall): ServiceAnswer {
  const owner = ownApplication(call);
  if (owner === undefined) return notFound();
  const found = call.world.instances(owner, call.now).find(({ id }) => id === call.route.instanceId);
  return single('application_instance', found, (one) => instanceRecord(call, owner, one), INSTANCE_LINKS);
}

export function keyTransactions(call: RestCall): ServiceAnswer {
  const hasName = nameFilter(call.query, 'name');
  const hasId = idsFilter(call.query);
  const found = call.world.keyTransactions().filter(({ id, name }) => hasId(id) && hasName([name]));
  return list(call, 'key_transactions', found, (one) => keyTransactionRecord(call, one), KEY_TRANSACTION_LINKS);
}

export function keyTransaction(call: RestCall): ServiceAnswer {
  const found = call.world.keyTransactions().find(({ id }) => id === call.route.keyTransactionId);
  return single('key_transaction', found, (one) => keyTransactionRecord(call, one), KEY_TRANSACTION_LINKS);
}
