import { GraphQLError } from 'graphql';
import {
  type SimulatedApplication,
  INVISIBLE_APPLICATION_ID,
  isReporting,
  type SimulatedKeyTransaction,
} from '../world/worldEntities.ts';
import {
  health,
  keyTransactionReports,
  keyTransactionSummary,
  backgroundSummary,
  rollingSummary,
} from '../world/rollingFigures.ts';
import type { World } from '../world/world.ts';
import type { FaultRule } from '../faults/faultRules.ts';
import { type NrqlCondition, comparedValues, NrqlError, parseCondition, TokenReader } from '../nrql/condition.ts';

/** The account of an application that the key cannot see. */
const OTHER_ACCOUNT = 7_654_321;
/** In the guid, a key transaction has another id than the one that the REST interface uses. */
const KEY_TRANSACTION_OFFSET = 1_777_770;

const DOMAINS = { APPLICATION: 'APM', KEY_TRANSACTION: 'EXT', SERVICE_LEVEL: 'EXT', MONITOR: 'SYNTH' };

function paddedGuid(account: number, type: keyof typeof DOMAINS, id: number): string {
  const own = type === 'KEY_TRANSACTION' ? id + KEY_TRANSACTION_OFFSET : id;
  return Buffer.from(`${account}|${DOMAINS[type]}|${type}|${own}`).toString('base64');
}

const unpadded = (guid: string): string => guid.replace(/(?<!=)=+$/, '');

/** The service's name of an entity: account, domain, type and its own id, in base64 without the padding. */
export function guidOf(account: number, type: keyof typeof DOMAINS, id: number): string {
  return unpadded(paddedGuid(account, type, id));
}

/** The guid that a key transaction names as its application's: of some with the padding, of some without. */
function owningApplicationGuid(account: number, key: SimulatedKeyTransaction): string {
  const owner = key.applicationId === INVISIBLE_APPLICATION_ID ? OTHER_ACCOUNT : account;
  const guid = paddedGuid(owner, 'APPLICATION', key.applicationId);
  return key.id % 2 === 0 ? guid : unpadded(guid);
}

/** Whether two guids name the same entity, padded or not. */
export function isSameGuid(one: string, other: string): boolean {
  return unpadded(one) === unpadded(other);
}

/** What entities are written from. */
export interface EntityContext {
  readonly world: World;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly accountId: number;
}

const SEVERITY = {
  red: 'CRITICAL',
  orange: 'WARNING',
  green: 'NOT_ALERTING',
  unknown: 'NOT_CONFIGURED',
  gray: 'NOT_CONFIGURED',
} as const;

/** An entity as a search finds it. Members that are functions are worked out only when a document asks for them. */
interface Outline {
  readonly __typename: 'ApmApplicationEntityOutline' | 'KeyTransactionEntityOutline';
  readonly guid: string;
  readonly name: string;
  readonly accountId: number;
  readonly domain: string;
  readonly type: string;
  /** Null: the service does not know. */
  readonly reporting: boolean | null;
  readonly tags: readonly { readonly key: string; readonly values: readonly string[] }[];
  readonly alertSeverity: () => string | null;
  /** These are of applications alone. */
  readonly applicationId?: number;
  readonly language?: string;
  readonly apmSummary?: () => Readonly<Record<string, number>> | null;
  readonly settings?: { readonly apdexTarget: number; readonly serverSideConfig: boolean } | null;
}

function tags(values: Readonly<Record<string, string | number | readonly string[]>>): Outline['tags'] {
  return Object.entries(values).map(([key, value]) => ({ key, values: [value].flat().map(String) }));
}

function applicationOutline(context: EntityContext, application: SimulatedApplication): Outline {
  const { world, now, accountId } = context;
  const kind = application.archetype;
  const reports = isReporting(application, now);
  const figures = () => {
    const scope = world.scope({ application: application.id });
    return scope === undefined ? undefined : rollingSummary(world, scope, now);
  };
  return {
    __typename: 'ApmApplicationEntityOutline',
    guid: guidOf(accountId, 'APPLICATION', application.id),
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
    alertSeverity: () => SEVERITY[health(reports, kind.alertPolicy, figures())],
    applicationId: application.id,
    language: `${kind.language.slice(0, 1).toUpperCase()}${kind.language.slice(1)}`,
    apmSummary: () => apmSummary(context, application),
    settings:
      application.amendment.settings === null
        ? null
        : { apdexTarget: kind.apdexTarget, serverSideConfig: kind.serverSideConfig },
  };
}

/** The figures of the last minutes: seconds, calls per minute, percent; null when the application does not report. */
function apmSummary(
  { world, now }: EntityContext,
  application: SimulatedApplication,
): Readonly<Record<string, number>> | null {
  const scope = world.scope({ application: application.id });
  const web = scope === undefined ? undefined : rollingSummary(world, scope, now);
  const background = scope === undefined ? undefined : backgroundSummary(world, scope, now);
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

function keyTransactionOutline({ world, now, accountId }: EntityContext, key: SimulatedKeyTransaction): Outline {
  const reports = keyTransactionReports(world, key, now);
  const hasPolicy = world.application(key.source.applicationId)?.alertPolicyId !== undefined;
  const isBare = key.state === 'bare';
  return {
    __typename: 'KeyTransactionEntityOutline',
    guid: guidOf(accountId, 'KEY_TRANSACTION', key.id),
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
export function keyTransactionEntity(context: EntityContext, key: SimulatedKeyTransaction) {
  const { guid, name, accountId, reporting } = keyTransactionOutline(context, key);
  const source = context.world.application(key.source.applicationId);
  const owner = context.world.application(key.applicationId);
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
    browserApdexTarget: source?.archetype.endUserApdexTarget ?? null,
    metricName: key.transactionName,
    application: {
      guid: owningApplicationGuid(accountId, key),
      entity: () => (owner === undefined ? null : applicationOutline(context, owner)),
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
export function findEntities(context: EntityContext, condition: NrqlCondition | undefined): readonly Outline[] {
  const { world } = context;
  const all = [
    ...world.applications().map((application) => applicationOutline(context, application)),
    ...world.keyTransactions().map((key) => keyTransactionOutline(context, key)),
  ];
  if (condition === undefined) return all;
  return all.filter((outline) => {
    const { guid, name, domain, type, accountId, reporting } = outline;
    const values: Readonly<Record<string, string | null>> = {
      accountId: String(accountId),
      domain,
      domainId: String(outline.applicationId ?? guid),
      guid,
      id: guid,
      name,
      reporting: reporting === null ? null : String(reporting),
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
  found: readonly Outline[],
  cursor: string | null | undefined,
  limit: number | null | undefined,
  fault: FaultRule | undefined,
): { readonly nextCursor: string | null; readonly entities: readonly Outline[] } {
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
