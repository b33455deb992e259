import type { ApplicationIdentity } from '../world/identity.ts';
import type { Answer } from '../wire/answer.ts';
import { notFound, ok } from '../wire/answer.ts';
import type { Call } from './call.ts';
import { idsFilter, isTrue, languageFilter, nameFilter } from './filters.ts';
import type { JsonObject } from '../wire/json.ts';
import { paginate } from './pagination.ts';
import type { RecordContext } from './records.ts';
import { applicationRecord, hostRecord, instanceRecord, keyTransactionRecord } from './records.ts';
import { APPLICATION_LINKS, HOST_LINKS, INSTANCE_LINKS, KEY_TRANSACTION_LINKS } from './templates.ts';

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
