import {
  formatTimestamp,
  roundFigures,
  type Call,
  idsFilter,
  isTrue,
  languageFilter,
  nameFilter,
  paginate,
} from './restCall.ts';
import {
  type ApplicationIdentity,
  type HostIdentity,
  type InstanceIdentity,
  type KeyTransaction,
  isReporting,
  lastReportedAt,
} from '../world/worldEntities.ts';
import type { Scope, World } from '../world/world.ts';
import {
  health,
  type RollingFigures,
  keyTransactionEndUserSummary,
  keyTransactionReports,
  keyTransactionSummary,
  rollingEndUserSummary,
  rollingSummary,
} from '../world/rollingFigures.ts';
import { type JsonObject, type Answer, notFound, ok } from '../wire/httpAnswer.ts';

/** The `links` objects beside lists and records; the singular of their paths is the service's own. */
export const APPLICATION_LINKS = {
  'application.servers': '/v2/servers?ids={server_ids}',
  'application.server': '/v2/servers/{server_id}',
  'application.application_hosts': '/v2/application/{application_id}/hosts?ids={host_ids}',
  'application.application_host': '/v2/application/{application_id}/hosts/{host_id}',
  'application.application_instances': '/v2/application/{application_id}/instances?ids={instance_ids}',
  'application.application_instance': '/v2/application/{application_id}/instances/{instance_id}',
  'application.alert_policy': '/v2/alert_policies/{alert_policy_id}',
};

export const HOST_LINKS = {
  'application_host.application': '/v2/applications/{application_id}',
  'application_host.application_instances': '/v2/application/{application_id}/instances?ids={instance_ids}',
  'application_host.application_instance': '/v2/application/{application_id}/instances/{instance_id}',
  'application_host.server': '/v2/servers/{server_id}',
};

export const INSTANCE_LINKS = {
  'application_instance.application': '/v2/applications/{application_id}',
  'application_instance.application_host': '/v2/application/{application_id}/hosts/{host_id}',
  'application_instance.server': '/v2/servers/{server_id}',
};

export const KEY_TRANSACTION_LINKS = { 'key_transaction.application': '/v2/applications/{application_id}' };

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
    settings:
      application.amendment.hasNoSettings === true
        ? null
        : {
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

const OBJECTS_PER_PAGE = 200;

const context = ({ world, now, settings }: Call): RecordContext => ({ world, now, rounding: settings.rounding });

/** A list of records; only those of the page are worked out. */
function list<Entity>(
  call: Call,
  envelope: string,
  entities: readonly Entity[],
  record: (entity: Entity) => JsonObject,
  links: JsonObject,
): Answer {
  const { origin, path, query, settings, pageFault } = call;
  const keepFilters = settings.linksKeepFilters;
  const page = paginate(entities, {
    origin,
    path,
    query,
    size: OBJECTS_PER_PAGE,
    keepFilters,
    cursor: undefined,
    fault: pageFault,
  });
  return ok({ [envelope]: page.items.map(record), links }, page.link);
}

/** The application of the path, when there is one. */
function ownApplication({ world, route }: Call): ApplicationIdentity | undefined {
  return route.applicationId === undefined ? undefined : world.application(route.applicationId);
}

export function applications(call: Call): Answer {
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
  const record = (application: ApplicationIdentity) => applicationRecord(context(call), application, withLinks);
  return list(call, 'applications', found, record, APPLICATION_LINKS);
}

export function application(call: Call): Answer {
  const found = ownApplication(call);
  if (found === undefined) return notFound();
  return ok({ application: applicationRecord(context(call), found, true), links: APPLICATION_LINKS });
}

export function hosts(call: Call): Answer {
  const owner = ownApplication(call);
  if (owner === undefined) return notFound();
  const hasName = nameFilter(call.query, 'hostname');
  const hasId = idsFilter(call.query);
  const found = call.world.hosts(owner, call.now).filter(({ id, host }) => hasId(id) && hasName([host]));
  return list(call, 'application_hosts', found, (host) => hostRecord(context(call), owner, host), HOST_LINKS);
}

export function host(call: Call): Answer {
  const owner = ownApplication(call);
  if (owner === undefined) return notFound();
  const found = call.world.hosts(owner, call.now).find(({ id }) => id === call.route.hostId);
  if (found === undefined) return notFound();
  return ok({ application_host: hostRecord(context(call), owner, found), links: HOST_LINKS });
}

export function instances(call: Call): Answer {
  const owner = ownApplication(call);
  if (owner === undefined) return notFound();
  const hasName = nameFilter(call.query, 'hostname');
  const hasId = idsFilter(call.query);
  const found = call.world.instances(owner, call.now).filter(({ id, host: name }) => hasId(id) && hasName([name]));
  const record = (instance: (typeof found)[number]) => instanceRecord(context(call), owner, instance);
  return list(call, 'application_instances', found, record, INSTANCE_LINKS);
}

export function instance(call: Call): Answer {
  const owner = ownApplication(call);
  if (owner === undefined) return notFound();
  const found = call.world.instances(owner, call.now).find(({ id }) => id === call.route.instanceId);
  if (found === undefined) return notFound();
  return ok({ application_instance: instanceRecord(context(call), owner, found), links: INSTANCE_LINKS });
}

export function keyTransactions(call: Call): Answer {
  const hasName = nameFilter(call.query, 'name');
  const hasId = idsFilter(call.query);
  const found = call.world.keyTransactions().filter(({ id, name }) => hasId(id) && hasName([name]));
  const record = (key: (typeof found)[number]) => keyTransactionRecord(context(call), key);
  return list(call, 'key_transactions', found, record, KEY_TRANSACTION_LINKS);
}

export function keyTransaction(call: Call): Answer {
  const found = call.world.keyTransactions().find(({ id }) => id === call.route.keyTransactionId);
  if (found === undefined) return notFound();
  return ok({ key_transaction: keyTransactionRecord(context(call), found), links: KEY_TRANSACTION_LINKS });
}
