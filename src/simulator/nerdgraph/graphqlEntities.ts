import { GraphQLError } from 'graphql';
import {
  guidOf,
  isReporting,
  owningApplicationGuid,
  type SimulatedApplication,
  type SimulatedKeyTransaction,
} from '../world/worldEntities.ts';
import { health, keyTransactionReports, keyTransactionSummary, rollingSummary } from '../world/rollingFigures.ts';
import type { World } from '../world/world.ts';
import type { FaultRule } from '../faults/faultRules.ts';
import { type NrqlCondition, comparedValues, NrqlError, parseCondition, TokenReader } from '../nrql/condition.ts';

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

/** An application as a search finds it. Members that are functions are worked out only when a document asks for them. */
function applicationOutline(world: World, now: number, application: SimulatedApplication) {
  const { accountId } = world.options;
  const kind = application.archetype;
  const reports = isReporting(application, now);
  return {
    __typename: 'ApmApplicationEntityOutline',
    guid: guidOf(accountId, 'APPLICATION', application.id),
    domainId: String(application.id),
    name: application.name,
    accountId,
    domain: 'APM',
    type: 'APPLICATION',
    // The old agent whose REST summary has no counts is the one of which the service does not know.
    reporting: reports && kind.summaryCounts === 'none' ? null : reports,
    tags: tags({
      account: 'Simulator',
      accountId,
      language: kind.language,
      trustedAccountId: accountId,
      ...kind.tags,
    }),
    alertSeverity: () =>
      SEVERITY[health(reports, kind.alertPolicy, rollingSummary(world, world.whole(application), now))],
    applicationId: application.id,
    language: `${kind.language.slice(0, 1).toUpperCase()}${kind.language.slice(1)}`,
    apmSummary: () => apmSummary(world, now, application),
    settings:
      application.amendment.settings === null
        ? null
        : { apdexTarget: kind.apdexTarget, serverSideConfig: kind.serverSideConfig },
  };
}

/** The figures of the last minutes: seconds, calls per minute, percent; null when the application does not report. */
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
    tags: tags({ accountId, keyTransactionId: key.id }),
    alertSeverity: () => (isBare ? null : SEVERITY[health(reports, hasPolicy, keyTransactionSummary(world, key, now))]),
  };
}

/** The whole entity of a key transaction; its application is null when the key cannot see that. */
export function keyTransactionEntity(world: World, now: number, key: SimulatedKeyTransaction) {
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

const ENTITIES_PER_PAGE = 200;
const ATTRIBUTES = ['accountId', 'domain', 'domainId', 'guid', 'id', 'name', 'reporting', 'type'];

/** Reads the text of an entity search, which finds a LIKE text anywhere in the value. Throws an NrqlError. */
export function parseSearch(text: string): NrqlCondition | undefined {
  const reader = new TokenReader(text);
  if (reader.peek().kind === 'end') return undefined;
  const condition = parseCondition(reader, true);
  if (reader.peek().kind !== 'end') reader.fail('AND, OR or the end');
  const unknown = condition.comparisons.find(({ attribute }) => !ATTRIBUTES.includes(attribute));
  if (unknown !== undefined) throw new NrqlError(`there is no ${unknown.attribute} to search for`);
  return condition;
}

/** Whether a search is for key transactions rather than for applications. */
export function isForKeyTransactions(condition: NrqlCondition | undefined): boolean {
  if (condition === undefined) return false;
  return (
    comparedValues(condition, 'type').includes('KEY_TRANSACTION') || comparedValues(condition, 'domain').includes('EXT')
  );
}

/** The entities that a search finds, those that do not report among them: applications first, each in the order of their ids. */
export function findEntities(world: World, now: number, condition: NrqlCondition | undefined) {
  const all = [
    ...world.applications().map((application) => applicationOutline(world, now, application)),
    ...world.keyTransactions().map((key) => keyTransactionOutline(world, now, key)),
  ];
  if (condition === undefined) return all;
  return all.filter(({ guid, domainId, name, accountId, domain, type, reporting }) => {
    const values: Readonly<Record<string, string | boolean | null>> = {
      accountId: String(accountId),
      domain,
      domainId,
      guid,
      id: guid,
      name,
      reporting,
      type,
    };
    return condition.meets((attribute) => values[attribute] ?? null) === true;
  });
}

/** How many of so many rows are shown: with a truncating fault at least one, and half of them unless it says how many. */
export function truncated(fault: FaultRule | undefined, rows: number): number {
  if (fault?.effect !== 'truncate') return rows;
  return Math.max(1, Math.min(rows, fault.rows ?? Math.ceil(rows / 2)));
}

export function invalidInput(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { errorClass: 'INVALID_INPUT' } });
}

const encodeCursor = (offset: number): string => Buffer.from(`from:${offset}`).toString('base64url');

/** One page of the entities that a search found. Throws a GraphQLError for a cursor that the service did not give. */
export function entityPage(
  found: ReturnType<typeof findEntities>,
  cursor: string | null | undefined,
  limit: number | null | undefined,
  fault: FaultRule | undefined,
) {
  const size = Math.max(1, Math.min(limit ?? ENTITIES_PER_PAGE, ENTITIES_PER_PAGE));
  const given = cursor ?? encodeCursor(0);
  const offset = Number(/^from:(\d{1,9})$/.exec(Buffer.from(given, 'base64url').toString())?.[1] ?? NaN);
  if (Number.isNaN(offset)) throw invalidInput('Invalid cursor');
  const isEndless = fault?.effect === 'endless-pages' && found.length > 0;
  const page = found.slice(isEndless ? offset % found.length : offset).slice(0, size);
  const shown = page.slice(0, truncated(fault, page.length));
  const entities = fault?.effect === 'repeat-ids' ? shown.flatMap((entity) => [entity, entity]) : shown;
  if (fault?.effect === 'repeat-next') return { entities, nextCursor: encodeCursor(offset) };
  return { entities, nextCursor: isEndless || offset + size < found.length ? encodeCursor(offset + size) : null };
}
