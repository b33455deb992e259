import {
  type ApplicationIdentity,
  INVISIBLE_APPLICATION_ID,
  isReporting,
  type KeyTransaction,
} from '../world/worldEntities.ts';
import {
  health,
  keyTransactionReports,
  keyTransactionSummary,
  backgroundSummary,
  rollingSummary,
} from '../world/rollingFigures.ts';
import type { World } from '../world/world.ts';

/** The account of an application that the key cannot see. */
const OTHER_ACCOUNT = 7_654_321;
/** In the guid, a key transaction has another id than the one that the REST interface uses. */
const KEY_TRANSACTION_OFFSET = 1_777_770;

function paddedGuid(account: number, domain: string, type: string, id: number): string {
  return Buffer.from(`${account}|${domain}|${type}|${id}`).toString('base64');
}

const unpadded = (guid: string): string => guid.replace(/(?<!=)=+$/, '');

/** The service's name of an entity: account, domain, type and its own id, in base64 without the padding. */
export function guidOf(account: number, domain: string, type: string, id: number): string {
  return unpadded(paddedGuid(account, domain, type, id));
}

export function applicationGuid(account: number, id: number): string {
  return guidOf(account, 'APM', 'APPLICATION', id);
}

export function keyTransactionGuid(account: number, id: number): string {
  return guidOf(account, 'EXT', 'KEY_TRANSACTION', id + KEY_TRANSACTION_OFFSET);
}

/** The guid that a key transaction names as its application's: of some with the padding, of some without. */
function owningApplicationGuid(account: number, key: KeyTransaction): string {
  const owner = key.applicationId === INVISIBLE_APPLICATION_ID ? OTHER_ACCOUNT : account;
  const guid = paddedGuid(owner, 'APM', 'APPLICATION', key.applicationId);
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
export interface Outline {
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
}

function tags(values: Readonly<Record<string, string | number | readonly string[]>>): Outline['tags'] {
  return Object.entries(values).map(([key, value]) => ({ key, values: [value].flat().map(String) }));
}

export function applicationOutline(context: EntityContext, application: ApplicationIdentity): Outline {
  const { world, now, accountId } = context;
  const kind = application.archetype;
  const reports = isReporting(application, now);
  const figures = () => {
    const scope = world.scope({ application: application.id });
    return scope === undefined ? undefined : rollingSummary(world, scope, now);
  };
  const outline: Outline = {
    __typename: 'ApmApplicationEntityOutline',
    guid: applicationGuid(accountId, application.id),
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
  };
  return Object.assign(outline, {
    applicationId: application.id,
    language: `${kind.language.slice(0, 1).toUpperCase()}${kind.language.slice(1)}`,
    apmSummary: () => apmSummary(context, application),
    settings:
      application.amendment.hasNoSettings === true
        ? null
        : { apdexTarget: kind.apdexTarget, serverSideConfig: kind.serverSideConfig },
  });
}

/** The figures of the last minutes: seconds, calls per minute, percent; null when the application does not report. */
function apmSummary({ world, now }: EntityContext, application: ApplicationIdentity) {
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

export function keyTransactionOutline({ world, now, accountId }: EntityContext, key: KeyTransaction): Outline {
  const reports = keyTransactionReports(world, key, now);
  const hasPolicy = world.application(key.source.applicationId)?.alertPolicyId !== undefined;
  const isBare = key.state === 'bare';
  return {
    __typename: 'KeyTransactionEntityOutline',
    guid: keyTransactionGuid(accountId, key.id),
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
export function keyTransactionEntity(context: EntityContext, key: KeyTransaction) {
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
