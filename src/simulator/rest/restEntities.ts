import { filtered, formatTimestamp, isTrue, paginate, type RestCall, roundFigures } from './restCall.ts';
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

/** The `links` objects beside lists and records, by what the records are; the singular of their paths is the service's own. */
const LINKS = {
  application: {
    'application.servers': '/v2/servers?ids={server_ids}',
    'application.server': '/v2/servers/{server_id}',
    'application.application_hosts': '/v2/application/{application_id}/hosts?ids={host_ids}',
    'application.application_host': '/v2/application/{application_id}/hosts/{host_id}',
    'application.application_instances': '/v2/application/{application_id}/instances?ids={instance_ids}',
    'application.application_instance': '/v2/application/{application_id}/instances/{instance_id}',
    'application.alert_policy': '/v2/alert_policies/{alert_policy_id}',
  },
  application_host: {
    'application_host.application': '/v2/applications/{application_id}',
    'application_host.application_instances': '/v2/application/{application_id}/instances?ids={instance_ids}',
    'application_host.application_instance': '/v2/application/{application_id}/instances/{instance_id}',
    'application_host.server': '/v2/servers/{server_id}',
  },
  application_instance: {
    'application_instance.application': '/v2/applications/{application_id}',
    'application_instance.application_host': '/v2/application/{application_id}/hosts/{host_id}',
    'application_instance.server': '/v2/servers/{server_id}',
  },
  key_transaction: { 'key_transaction.application': '/v2/applications/{application_id}' },
};

function summary(call: RestCall, figures: Readonly<Record<string, number>>): JsonObject {
  return call.settings.rounding ? roundFigures(figures) : figures;
}

function scopeOf(call: RestCall, ids: { application: number; host?: number; instance?: number }): WorldScope {
  const scope = call.world.scope(ids);
  if (scope === undefined) throw new Error(`no such entity in application ${ids.application}`);
  return scope;
}

/** Nothing where there are no figures. */
function webSummary(
  call: RestCall,
  figures: RollingFigures | undefined,
  apdex_target: number,
  counts: Readonly<Record<string, number>> = {},
): JsonObject {
  if (figures === undefined) return {};
  const { response_time, throughput, error_rate, apdex_score } = figures;
  const said = { response_time, throughput, error_rate, apdex_target, apdex_score, ...counts };
  return { application_summary: summary(call, said) };
}

function endUserSummary(call: RestCall, browser: RollingFigures | undefined, target: number): JsonObject {
  if (browser === undefined) return {};
  const { response_time, throughput, apdex_score } = browser;
  return { end_user_summary: summary(call, { response_time, throughput, apdex_target: target, apdex_score }) };
}

/** How many hosts and instances a summary says there are: those of older agents say less. */
function counts({ world, now }: RestCall, application: SimulatedApplication): Record<string, number> {
  const { summaryCounts } = application.archetype;
  if (summaryCounts === 'none') return {};
  const instances = world.instances(application, now).length;
  return {
    host_count: world.hosts(application, now).length,
    instance_count: instances,
    ...(summaryCounts === 'all' ? { concurrent_instance_count: instances } : {}),
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

function lastReport({ now }: RestCall, application: SimulatedApplication): JsonObject {
  const time = lastReportedAt(application, now);
  return time === undefined ? {} : { last_reported_at: formatTimestamp(time) };
}

function applicationRecord(call: RestCall, application: SimulatedApplication, withLinks: boolean): JsonObject {
  const { world, now } = call;
  const kind = application.archetype;
  const reporting = isReporting(application, now);
  const scope = world.whole(application);
  const figures = rollingSummary(world, scope, now);
  return {
    id: application.id,
    name: application.name,
    language: kind.language,
    health_status: health(reporting, kind.alertPolicy, figures),
    reporting,
    ...lastReport(call, application),
    ...webSummary(call, figures, kind.apdexTarget, counts(call, application)),
    ...endUserSummary(call, rollingEndUserSummary(world, scope, now), kind.endUserApdexTarget),
    settings:
      application.amendment.settings === null
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
function partOfApplication(call: RestCall, application: SimulatedApplication, scope: WorldScope): JsonObject {
  const figures = rollingSummary(call.world, scope, call.now);
  const kind = application.archetype;
  const counted = kind.summaryCounts === 'none' ? {} : { instance_count: scope.instances.length };
  return {
    language: kind.language,
    health_status: health(isReporting(application, call.now), kind.alertPolicy, figures),
    ...(figures === undefined ? {} : { application_summary: summary(call, { ...figures, ...counted }) }),
  };
}

function hostRecord(call: RestCall, application: SimulatedApplication, host: SimulatedHost): JsonObject {
  const scope = scopeOf(call, { application: application.id, host: host.id });
  return {
    id: host.id,
    application_name: application.name,
    host: host.host,
    ...partOfApplication(call, application, scope),
    links: { application: application.id, application_instances: scope.instances.map(({ id }) => id) },
  };
}

function instanceRecord(call: RestCall, application: SimulatedApplication, instance: SimulatedInstance): JsonObject {
  const scope = scopeOf(call, { application: application.id, instance: instance.id });
  return {
    id: instance.id,
    application_name: application.name,
    host: instance.host,
    ...(instance.port === undefined ? {} : { port: instance.port }),
    ...partOfApplication(call, application, scope),
    links: { application: application.id, application_host: instance.hostId },
  };
}

function keyTransactionRecord(call: RestCall, key: SimulatedKeyTransaction): JsonObject {
  const { world, now } = call;
  const figures = keyTransactionSummary(world, key, now);
  const reporting = keyTransactionReports(key, now);
  const { application } = key.source;
  const status = {
    health_status: health(reporting, application.archetype.alertPolicy, figures),
    reporting,
    ...(reporting ? lastReport(call, application) : {}),
  };
  return {
    id: key.id,
    name: key.name,
    transaction_name: key.transactionName,
    ...(key.state === 'bare' ? {} : status),
    ...webSummary(call, figures, key.apdexTarget),
    ...endUserSummary(call, keyTransactionEndUserSummary(world, key, now), application.archetype.endUserApdexTarget),
    links: { application: key.applicationId },
  };
}

const OBJECTS_PER_PAGE = 200;

/** A list of records; only those of the page are worked out. */
function list<Entity>(
  call: RestCall,
  what: keyof typeof LINKS,
  entities: readonly Entity[],
  record: (entity: Entity) => JsonObject,
): ServiceAnswer {
  const page = paginate(entities, call, OBJECTS_PER_PAGE);
  return ok({ [`${what}s`]: page.items.map(record), links: LINKS[what] }, page.link);
}

/** The record of this id, or that there is none. */
function single<Entity extends { readonly id: number }>(
  what: keyof typeof LINKS,
  id: number | undefined,
  entities: readonly Entity[],
  record: (entity: Entity) => JsonObject,
): ServiceAnswer {
  const entity = entities.find((one) => one.id === id);
  return entity === undefined ? notFound() : ok({ [what]: record(entity), links: LINKS[what] });
}

/** What `answer` says of the application in the path; that there is none where the key sees none of this id. */
function ofApplication(call: RestCall, answer: (owner: SimulatedApplication) => ServiceAnswer): ServiceAnswer {
  const owner = call.ids.application === undefined ? undefined : call.world.application(call.ids.application);
  return owner === undefined ? notFound() : answer(owner);
}

export function applications(call: RestCall): ServiceAnswer {
  const { world, now, query } = call;
  const language = query.get('filter[language]')?.toLowerCase() ?? '';
  const found = filtered(call, world.applications(), {
    name: ({ name }) => [name],
    host: (application) => world.hosts(application, now).map(({ host }) => host),
  }).filter(({ archetype }) => language === '' || archetype.language === language);
  const withLinks = !isTrue(query, 'exclude_links');
  return list(call, 'application', found, (one) => applicationRecord(call, one, withLinks));
}

export function application(call: RestCall): ServiceAnswer {
  return ofApplication(call, (owner) =>
    single('application', owner.id, [owner], (one) => applicationRecord(call, one, true)),
  );
}

export function hosts(call: RestCall): ServiceAnswer {
  return ofApplication(call, (owner) => {
    const found = filtered(call, call.world.hosts(owner, call.now), { hostname: ({ host }) => [host] });
    return list(call, 'application_host', found, (one) => hostRecord(call, owner, one));
  });
}

export function host(call: RestCall): ServiceAnswer {
  return ofApplication(call, (owner) =>
    single('application_host', call.ids.host, call.world.hosts(owner, call.now), (one) => hostRecord(call, owner, one)),
  );
}

export function instances(call: RestCall): ServiceAnswer {
  return ofApplication(call, (owner) => {
    const found = filtered(call, call.world.instances(owner, call.now), { hostname: ({ host: name }) => [name] });
    return list(call, 'application_instance', found, (one) => instanceRecord(call, owner, one));
  });
}

export function instance(call: RestCall): ServiceAnswer {
  return ofApplication(call, (owner) => {
    const all = call.world.instances(owner, call.now);
    return single('application_instance', call.ids.instance, all, (one) => instanceRecord(call, owner, one));
  });
}

export function keyTransactions(call: RestCall): ServiceAnswer {
  const found = filtered(call, call.world.keyTransactions(), { name: ({ name }) => [name] });
  return list(call, 'key_transaction', found, (one) => keyTransactionRecord(call, one));
}

export function keyTransaction(call: RestCall): ServiceAnswer {
  const { ids, world } = call;
  return single('key_transaction', ids.key_transaction, world.keyTransactions(), (one) =>
    keyTransactionRecord(call, one),
  );
}
