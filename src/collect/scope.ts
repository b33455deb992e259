import type { UpstreamReader } from '../api/reader.ts';
import type { AccountConfig, CollectionConfig } from '../config/config.ts';
import type { CustomMetric } from '../metrics/customMetrics.ts';
import type { Query } from '../metrics/queryFamilies.ts';
import type { Group } from '../metrics/sample.ts';
import type { SampleWriter } from '../metrics/writeSamples.ts';
import type { Entity, Kind } from './entity.ts';
import type { Scope } from './view.ts';

/** Of an account without queries; milliseconds. */
const LONGEST_QUERY_INTERVAL = 86_400_000;

/** What everything that works for one account reads; a reload replaces its fields. */
export interface AccountContext {
  account: AccountConfig;
  collection: CollectionConfig;
  reader: UpstreamReader;
  customMetrics: readonly CustomMetric[];
  queries: readonly Query[];
  readonly writer: SampleWriter;
}

/**
 * The configured interval of a group in milliseconds; the name lists of custom metrics are kept as long as the others, and
 * of queries the shortest counts.
 */
export function intervalOf(
  { account, collection }: Pick<AccountContext, 'account' | 'collection'>,
  group: Group,
): number {
  if (group === 'queries') return Math.min(...account.queries.map(({ interval }) => interval), LONGEST_QUERY_INTERVAL);
  return collection.intervals[group === 'custom_metrics' ? 'metric_names' : group];
}

/** True when the account reads this group at all. */
export function isEnabled({ account, reader }: Pick<AccountContext, 'account' | 'reader'>, group: Group): boolean {
  if (group === 'queries') return account.queries.length > 0 && reader.queries !== undefined;
  if (!account.applications.read) return false;
  switch (group) {
    case 'key_transactions':
      return account.key_transactions !== false;
    case 'metric_names':
      return reader.datastores !== undefined;
    case 'hosts':
    case 'host_metrics':
      return account.hosts || account.applications.settings.some(({ hosts }) => hosts === true);
    case 'instances':
      return account.instances && reader.instances !== undefined;
    case 'custom_metrics':
      return account.custom_metrics.length > 0;
    default:
      return true;
  }
}

/** What must be kept up to date besides a group itself: the lists its entities come from. */
const NEEDS: Readonly<Record<Group, readonly Group[]>> = {
  applications: [],
  key_transactions: ['applications'],
  metric_names: ['applications'],
  application_metrics: ['applications', 'metric_names'],
  hosts: ['applications'],
  host_metrics: ['applications', 'metric_names', 'hosts'],
  instances: ['applications'],
  custom_metrics: ['applications'],
  queries: [],
};

/** Custom metrics are read with the data of what they are about. */
const DATA_OF = { application: 'application_metrics', host: 'host_metrics' } as const satisfies Record<string, Group>;

/**
 * What must have been read once: the names a metric data call asks for, and the application's data, which decides the
 * database kind of its hosts.
 */
const NEEDS_ONCE: Readonly<Partial<Record<Group, readonly Group[]>>> = {
  application_metrics: ['custom_metrics'],
  host_metrics: ['application_metrics', 'custom_metrics'],
};

const ROLLING: ReadonlySet<Kind> = new Set<Kind>(['application_rolling', 'host_rolling', 'key_transaction_rolling']);

/** What a scope asks of an account: which groups to keep up to date, and which only until they have been tried once. */
export interface Needs {
  readonly always: ReadonlySet<Group>;
  readonly once: ReadonlySet<Group>;
  /** The groups whose rolling values are asked for: not those that are needed for their list only. */
  readonly rolling: ReadonlySet<Group>;
}

/** What the needs of a scope depend on. */
export type NeedsContext = Pick<AccountContext, 'reader' | 'customMetrics'>;

/** The groups to refresh for a scope's groups. A group that the account's interface does not have needs nothing. */
export function neededGroups(
  { groups, listsOnly }: Pick<Scope, 'groups' | 'listsOnly'>,
  { reader, customMetrics }: NeedsContext,
): Needs {
  const asked = [...groups].filter((group) => group !== 'metric_names' || reader.datastores !== undefined);
  if (listsOnly === true) return { always: new Set(asked), once: new Set(), rolling: new Set() };
  const scopes = groups.has('custom_metrics') ? customMetrics.map(({ definition }) => definition.scope) : [];
  const read = [...new Set([...asked, ...scopes.map((scope) => DATA_OF[scope])])];
  return {
    always: new Set(read.flatMap((group) => [group, ...NEEDS[group]])),
    once: new Set(read.flatMap((group) => NEEDS_ONCE[group] ?? [])),
    rolling: new Set(asked),
  };
}

/**
 * True for what the scope's groups are made of, and for what they need to have been read once.
 *
 * @param known true when it has been read once, or tried and given up
 */
export function covers({ always, once, rolling }: Needs, scope: Scope, entity: Entity, known: boolean): boolean {
  const { group, kind, subject } = entity;
  if (ROLLING.has(kind) ? !rolling.has(group) : !always.has(group) && !(once.has(group) && !known)) return false;
  return coversApplication(scope, subject.applicationId);
}

/** The groups whose lists are of the account, not of an application. */
const LISTS_OF_ACCOUNT: ReadonlySet<Group> = new Set<Group>(['applications', 'key_transactions']);

/** True when the scope needs nothing that belongs to an application. */
export function asksForListsOfAccount({ groups, listsOnly }: Scope): boolean {
  return listsOnly === true && [...groups].every((group) => LISTS_OF_ACCOUNT.has(group));
}

/** True when the scope takes in this account. */
export function coversAccount(scope: Scope, account: string): boolean {
  return scope.account === undefined || scope.account === account;
}

/** True when the scope takes in this application; undefined is a list of the whole account. */
export function coversApplication(scope: Scope, applicationId: number | undefined): boolean {
  return scope.applicationId === undefined || applicationId === undefined || scope.applicationId === applicationId;
}
