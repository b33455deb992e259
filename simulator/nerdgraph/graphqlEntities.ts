import {
  guidOf,
  isReporting,
  owningApplicationGuid,
  type SimulatedApplication,
  type SimulatedKeyTransaction,
} from '../world/worldEntities.ts';
import { createError } from './pages.ts';
import { MONITORED_DOMAINS, type MonitoredEntity, monitoredEntities } from '../world/monitoredEntities.ts';
import { health, keyTransactionReports, keyTransactionSummary, rollingSummary } from '../world/rollingFigures.ts';
import type { World } from '../world/world.ts';
import type { CallKind, FaultRule } from '../faults/faultRules.ts';
import {
  type NrqlCondition,
  type Value,
  comparedValues,
  NrqlError,
  parseCondition,
  TokenReader,
} from '../nrql/condition.ts';

const SEVERITY = {
  red: 'CRITICAL',
  orange: 'WARNING',
  green: 'NOT_ALERTING',
  unknown: 'NOT_CONFIGURED',
  gray: 'NOT_CONFIGURED',
} as const;

function tags(values: Readonly<Record<string, string | number | readonly string[]>>) {
  return Object.entries(values).map(([key, value]) => ({ key, values: [value].flat().map(String) }));
}

/** Creates the shared part of entities with figures of an application. GraphQL calls function members on request. */
function createOutline<Part extends Pick<MonitoredEntity, 'guid' | 'domainId' | 'domain' | 'type' | 'name' | 'tags'>>(
  world: World,
  now: number,
  application: SimulatedApplication,
  part: Part,
) {
  const { accountId } = world.options;
  const { summaryCounts, alertPolicy } = application.archetype;
  const reports = isReporting(application, now);
  return {
    ...part,
    accountId,
    // New Relic does not know whether an old agent reports, whose REST summary has no counts.
    reporting: reports && summaryCounts === 'none' ? null : reports,
    tags: tags({ account: 'Simulator', accountId, ...part.tags }),
    alertSeverity: () => SEVERITY[health(reports, alertPolicy, rollingSummary(world, world.whole(application), now))],
  };
}

function applicationOutline(world: World, now: number, application: SimulatedApplication) {
  const { accountId } = world.options;
  const { archetype: kind, amendment, id, name } = application;
  const { apdexTarget, serverSideConfig, language } = kind;
  return {
    ...createOutline(world, now, application, {
      guid: guidOf(accountId, 'APPLICATION', id),
      ...{ domainId: String(id), name, domain: 'APM', type: 'APPLICATION' },
      tags: { language, trustedAccountId: String(accountId), ...kind.tags },
    }),
    __typename: 'ApmApplicationEntityOutline',
    applicationId: id,
    language: `${language.slice(0, 1).toUpperCase()}${language.slice(1)}`,
    apmSummary: () => apmSummary(world, now, application),
    settings: amendment.settings === null ? null : { apdexTarget, serverSideConfig },
  };
}

/** Creates the rolling figures: seconds, calls per minute, percent; null if the application does not report. */
function apmSummary(world: World, now: number, application: SimulatedApplication) {
  const scope = world.whole(application);
  const web = rollingSummary(world, scope, now);
  const background = rollingSummary(world, scope, now, 'background');
  if (web === undefined || background === undefined) return null;
  const throughput = web.throughput + background.throughput;
  const busy = web.throughput * web.response_time + background.throughput * background.response_time;
  return {
    apdexScore: web.apdex_score,
    errorRate: 100 * web.error_rate,
    hostCount: world.hosts(application, now).length,
    instanceCount: world.instances(application, now).length,
    responseTimeAverage: throughput === 0 ? 0 : busy / throughput / 1000,
    throughput,
    webResponseTimeAverage: web.response_time / 1000,
    webThroughput: web.throughput,
    nonWebResponseTimeAverage: background.response_time / 1000,
    nonWebThroughput: background.throughput,
  };
}

function keyTransactionOutline(world: World, now: number, key: SimulatedKeyTransaction) {
  const { accountId } = world.options;
  const guid = guidOf(accountId, 'KEY_TRANSACTION', key.id);
  const reports = keyTransactionReports(key, now);
  const hasPolicy = key.source.application.archetype.alertPolicy;
  const isBare = key.state === 'bare';
  return {
    __typename: 'KeyTransactionEntityOutline',
    guid,
    domainId: guid,
    name: key.name,
    accountId,
    domain: 'EXT',
    type: 'KEY_TRANSACTION',
    reporting: isBare ? null : reports,
    tags: tags({
      accountId,
      keyTransactionId: key.id,
    }),
    alertSeverity: () => (isBare ? null : SEVERITY[health(reports, hasPolicy, keyTransactionSummary(world, key, now))]),
  };
}

/** Creates the whole entity of a key transaction. Its application is null if the key cannot see the application. */
function keyTransactionEntity(world: World, now: number, key: SimulatedKeyTransaction) {
  const { guid, name, accountId, reporting } = keyTransactionOutline(world, now, key);
  const owner = world.application(key.applicationId);
  return {
    __typename: 'KeyTransactionEntity',
    guid,
    name,
    accountId,
    reporting,
    apdexTarget: () => {
      if (key.isFailing) throw new Error('An error occurred resolving this field');
      return key.apdexTarget;
    },
    browserApdexTarget: key.source.application.archetype.endUserApdexTarget,
    metricName: key.transactionName,
    application: {
      guid: owningApplicationGuid(accountId, key),
      entity: () => (owner === undefined ? null : applicationOutline(world, now, owner)),
    },
  };
}

/** Creates the search result for an entity of another type. */
function entityOutline(world: World, now: number, entity: MonitoredEntity, fault: FaultRule | undefined) {
  const { typename, application, metrics, ...part } = entity;
  return {
    ...createOutline(world, now, application, part),
    __typename: typename,
    goldenMetrics: () => {
      if (fault?.effect === 'graphql-error' && (fault.entity ?? part.name) === part.name) throw createError(fault);
      return { metrics };
    },
  };
}

const ATTRIBUTES = ['accountId', 'domain', 'domainId', 'guid', 'id', 'name', 'reporting', 'type'];

/** Parses an entity search; undefined if empty. LIKE matches anywhere in a value. Throws an NrqlError. */
export function parseSearch(text: string): NrqlCondition | undefined {
  const reader = new TokenReader(text);
  if (reader.peek().kind === 'end') return undefined;
  const condition = parseCondition(reader, true);
  if (reader.peek().kind !== 'end') reader.fail('AND, OR or the end');
  const unknown = condition.comparisons.find(({ attribute }) => !ATTRIBUTES.includes(attribute));
  if (unknown !== undefined) throw new NrqlError(`there is no ${unknown.attribute} to search for`);
  return condition;
}

/** Returns the kind of a search: applications, key transactions, or entities of any type. */
export function readSearchKind(condition: NrqlCondition | undefined): CallKind {
  const [types = [], domains = []] = ['type', 'domain'].map((name) =>
    condition === undefined ? [] : comparedValues(condition, name),
  );
  if (types.includes('KEY_TRANSACTION')) return 'graphql_key_transactions';
  const isForApplications =
    domains.length === 0 ? types.includes('APPLICATION') : domains.every((one) => one === 'APM');
  return isForApplications ? 'graphql_applications' : 'graphql_entity_list';
}

/**
 * Returns the entities that a search finds, also silent entities: applications, then key transactions, then all other
 * entities, each sorted by id.
 */
export function findEntities(world: World, now: number, condition: NrqlCondition | undefined, fault?: FaultRule) {
  // Avoids computing thousands of hosts for a search in another domain.
  const mayHave = (attribute: string, value: string): boolean =>
    condition?.meets((each) => (each === attribute ? value : undefined)) !== false;
  const accountId = String(world.options.accountId);
  if (!mayHave('accountId', accountId)) return [];
  const others = MONITORED_DOMAINS.filter((domain) => mayHave('domain', domain)).flatMap((domain) =>
    monitoredEntities(world, now, domain),
  );
  // A search looks at thousands of entities for a page of 200, so outlines are lazy.
  const all = [
    ...world.applications().map((application) => ({
      ...{ domain: 'APM', type: 'APPLICATION', name: application.name },
      outline: () => applicationOutline(world, now, application),
    })),
    ...(mayHave('type', 'KEY_TRANSACTION') ? world.keyTransactions() : []).map((key) => ({
      ...{ domain: 'EXT', type: 'KEY_TRANSACTION', name: key.name },
      outline: () => keyTransactionOutline(world, now, key),
    })),
    ...others.map((entity) => ({
      ...{ domain: entity.domain, type: entity.type, name: entity.name },
      outline: () => entityOutline(world, now, entity, fault),
    })),
  ];
  if (condition === undefined) return all;
  return all.filter(({ domain, type, outline }) => {
    const valueOf = (attribute: string): Value | null => {
      if (attribute === 'domain') return domain;
      if (attribute === 'type') return type;
      if (attribute === 'accountId') return accountId;
      const { guid, domainId, name, reporting } = outline();
      const values: Readonly<Record<string, Value | null>> = { domainId, guid, id: guid, name, reporting };
      return values[attribute] ?? null;
    };
    return condition.meets(valueOf) === true;
  });
}

/** Returns the whole entities with these guids (without padding), by guid. */
export function wholeEntities(world: World, now: number, guids: readonly string[]) {
  const { accountId } = world.options;
  const wanted = new Set(guids);
  const keys = world.keyTransactions().map((key) => [guidOf(accountId, 'KEY_TRANSACTION', key.id), key] as const);
  const found = new Map<string, { readonly guid: string; readonly name: string; readonly __typename: string }>();
  for (const [guid, key] of keys) if (wanted.has(guid)) found.set(guid, keyTransactionEntity(world, now, key));
  // Searches thousands of hosts only for guids that no key transaction has.
  for (const { type, outline } of found.size < wanted.size ? findEntities(world, now, undefined) : []) {
    const entity = type === 'KEY_TRANSACTION' ? undefined : outline();
    if (entity === undefined || !wanted.has(entity.guid)) continue;
    found.set(entity.guid, { ...entity, __typename: entity.__typename.replace(/Outline$/, '') });
  }
  return found;
}

/** Counts the entities that a search found by type. */
export function entityTypes(found: ReturnType<typeof findEntities>) {
  const types = new Map<string, { readonly domain: string; readonly type: string; count: number }>();
  for (const { domain, type } of found) {
    const key = `${domain}-${type}`;
    const entry = types.get(key) ?? { domain, type, count: 0 };
    entry.count += 1;
    types.set(key, entry);
  }
  return [...types.values()];
}
