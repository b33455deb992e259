import { contains, filterEntities, formatTimestamp, paginate, type RestCall, roundFigures } from './restCall.ts';
import {
  type SimulatedApplication,
  type SimulatedHost,
  type SimulatedInstance,
  type SimulatedKeyTransaction,
  isReporting,
  lastReportedAt,
} from '../world/worldEntities.ts';
import {
  health,
  type RollingFigures,
  keyTransactionReports,
  keyTransactionSummary,
  rollingSummary,
} from '../world/rollingFigures.ts';
import { type JsonObject, type ServiceResponse, NOT_FOUND, ok } from '../simulatorHttp.ts';

/** The `links` objects of lists and records, by kind of record. New Relic's paths have the singular, too. */
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

function createSummary(call: RestCall, figures: Readonly<Record<string, number>>): JsonObject {
  return call.settings.rounding ? roundFigures(figures) : figures;
}

/** Creates the member `application_summary`; empty without figures. */
function createWebSummary(
  call: RestCall,
  figures: RollingFigures | undefined,
  apdex_target: number,
  counts: Readonly<Record<string, number>> = {},
): JsonObject {
  if (figures === undefined) return {};
  const members = {
    response_time: figures.response_time,
    throughput: figures.throughput,
    error_rate: figures.error_rate,
    apdex_target,
    apdex_score: figures.apdex_score,
    ...counts,
  };
  return { application_summary: createSummary(call, members) };
}

function createEndUserSummary(call: RestCall, figures: RollingFigures | undefined, target: number): JsonObject {
  if (figures === undefined) return {};
  const { response_time, throughput, apdex_score } = figures;
  return { end_user_summary: createSummary(call, { response_time, throughput, apdex_target: target, apdex_score }) };
}

function lastReport({ now }: RestCall, application: SimulatedApplication): JsonObject {
  const time = lastReportedAt(application, now);
  return time === undefined ? {} : { last_reported_at: formatTimestamp(time) };
}

function createApplicationRecord(call: RestCall, application: SimulatedApplication): JsonObject {
  const { world, now } = call;
  const { archetype: kind, alertPolicyId, amendment } = application;
  const reporting = isReporting(application, now);
  const scope = world.whole(application);
  const figures = rollingSummary(world, scope, now, 'web', 4);
  const hosts = world.hosts(application, now).map(({ id }) => id);
  const instances = world.instances(application, now).map(({ id }) => id);
  // Summaries of older agents have fewer counts.
  const counts = {
    ...(kind.summaryCounts !== 'none' && { host_count: hosts.length, instance_count: instances.length }),
    ...(kind.summaryCounts === 'all' && { concurrent_instance_count: instances.length }),
  };
  return {
    id: application.id,
    name: application.name,
    language: kind.language,
    health_status: health(reporting, kind.alertPolicy, figures),
    reporting,
    ...lastReport(call, application),
    ...createWebSummary(call, figures, kind.apdexTarget, counts),
    ...createEndUserSummary(call, rollingSummary(world, scope, now, 'browser'), kind.endUserApdexTarget),
    settings:
      amendment.settings === null
        ? null
        : {
            app_apdex_threshold: kind.apdexTarget,
            end_user_apdex_threshold: kind.endUserApdexTarget,
            enable_real_user_monitoring: kind.browserEnabled,
            use_server_side_config: kind.serverSideConfig,
          },
    links: {
      application_instances: instances,
      servers: [],
      application_hosts: hosts,
      ...(alertPolicyId !== undefined && { alert_policy: alertPolicyId }),
    },
  };
}

/** Creates the record of a host or instance: without `reporting`, `last_reported_at`, `name` and `apdex_target`. */
function createPartRecord(call: RestCall, part: SimulatedHost | SimulatedInstance): JsonObject {
  const { world, now, ids } = call;
  const isInstance = 'hostId' in part;
  const scope = world.scope({ application: ids.application ?? NaN, [isInstance ? 'instance' : 'host']: part.id });
  if (scope === undefined) throw new Error(`application ${ids.application} has no part ${part.id}`);
  const { archetype: kind, id: application, name } = scope.application;
  const figures = rollingSummary(world, scope, now);
  const counted = kind.summaryCounts === 'none' ? {} : { instance_count: scope.instances.length };
  return {
    id: part.id,
    application_name: name,
    host: part.host,
    ...(isInstance && part.port !== undefined && { port: part.port }),
    language: kind.language,
    health_status: health(isReporting(scope.application, now), kind.alertPolicy, figures),
    ...(figures && { application_summary: createSummary(call, { ...figures, ...counted }) }),
    links: isInstance
      ? { application, application_host: part.hostId }
      : { application, application_instances: scope.instances.map(({ id }) => id) },
  };
}

function createKeyTransactionRecord(call: RestCall, key: SimulatedKeyTransaction): JsonObject {
  const { world, now } = call;
  const figures = keyTransactionSummary(world, key, now, 'web');
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
    ...createWebSummary(call, figures, key.apdexTarget),
    ...createEndUserSummary(
      call,
      keyTransactionSummary(world, key, now, 'browser'),
      application.archetype.endUserApdexTarget,
    ),
    links: { application: key.applicationId },
  };
}

const OBJECTS_PER_PAGE = 200;

/**
 * Creates the two responses for one kind of entity: a page of the filtered list, and the entity in the path.
 * `entitiesOf` returns undefined if the key sees no application with the id in the path.
 */
function createResponses<Entity extends { readonly id: number }>(
  what: keyof typeof LINKS,
  idOf: (ids: RestCall['ids']) => number | undefined,
  entitiesOf: (call: RestCall) => readonly Entity[] | undefined,
  filters: (call: RestCall) => Parameters<typeof filterEntities<Entity>>[2],
  createRecord: (call: RestCall, entity: Entity) => JsonObject,
) {
  return {
    list: (call: RestCall): ServiceResponse => {
      const entities = entitiesOf(call);
      if (entities === undefined) return NOT_FOUND;
      const page = paginate(filterEntities(call, entities, filters(call)), call, OBJECTS_PER_PAGE);
      return ok({ [`${what}s`]: page.items.map((one) => createRecord(call, one)), links: LINKS[what] }, page.link);
    },
    single: (call: RestCall): ServiceResponse => {
      const entity = entitiesOf(call)?.find(({ id }) => id === idOf(call.ids));
      return entity === undefined ? NOT_FOUND : ok({ [what]: createRecord(call, entity), links: LINKS[what] });
    },
  };
}

export const APPLICATIONS = createResponses(
  'application',
  ({ application }) => application,
  ({ world }) => world.applications(),
  ({ world, now }) => ({
    name: ({ name }, part) => contains(name, part),
    host: (application, part) => world.hosts(application, now).some(({ host }) => contains(host, part)),
    language: ({ archetype }, language) => archetype.language === language,
  }),
  createApplicationRecord,
);

/** Creates the responses for the hosts or the instances of the application in the path. */
function createPartResponses(what: 'host' | 'instance') {
  return createResponses<SimulatedHost | SimulatedInstance>(
    `application_${what}`,
    (ids) => ids[what],
    ({ world, now, ids }) => {
      const owner = world.application(ids.application ?? NaN);
      return owner && (what === 'host' ? world.hosts(owner, now) : world.instances(owner, now));
    },
    () => ({ hostname: ({ host }, part) => contains(host, part) }),
    createPartRecord,
  );
}

export const HOSTS = createPartResponses('host');
export const INSTANCES = createPartResponses('instance');

export const KEY_TRANSACTIONS = createResponses(
  'key_transaction',
  ({ key_transaction }) => key_transaction,
  ({ world }) => world.keyTransactions(),
  () => ({ name: ({ name }, part) => contains(name, part) }),
  createKeyTransactionRecord,
);
