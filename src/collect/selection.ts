import type { Application, KeyTransaction } from '../api/types.ts';
import type { MonitoredEntity, UpstreamReader } from '../api/upstreamReader.ts';
import type { AccountConfig } from '../config/config.ts';
import { type EntityMatch, type Matchable, matches } from '../config/match.ts';
import { orderKey } from '../metrics/goldenNames.ts';
import { GROUPS, type Group } from '../reads/reads.ts';

/** The groups that the configuration of an account and its interface enable. */
export function enabledGroups(account: AccountConfig, reader: UpstreamReader): ReadonlySet<Group> {
  return new Set(GROUPS.filter((group) => isEnabled(account, reader, group)));
}

function isEnabled(account: AccountConfig, reader: UpstreamReader, group: Group): boolean {
  if (group === 'entities' || group === 'golden_metrics') {
    return account.entities.length > 0 && reader.entities !== undefined;
  }
  if (group === 'queries') return account.queries.length > 0 && reader.queries !== undefined;
  if (!account.applications.read) return false;
  switch (group) {
    case 'key_transactions':
      return account.key_transactions !== false;
    case 'counters':
      return account.counters;
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

interface Filter {
  readonly include?: readonly EntityMatch[] | undefined;
  readonly exclude: readonly EntityMatch[];
}

/** True when an entity is included (or there is no `include`) and not excluded. */
export function selects(filter: Filter, entity: Matchable): boolean {
  const included = filter.include === undefined || filter.include.some((match) => matches(match, entity));
  return included && !filter.exclude.some((match) => matches(match, entity));
}

/**
 * The published entities of a type: the first `max_entities` that its selection chooses, by name and guid in code points. They are
 * added one by one, because a list may have thousands of them, with long names.
 */
export class ChosenEntities {
  /** The number of entities that `max_entities` leaves out. */
  leftOut = 0;
  readonly #selection: Filter & { readonly max_entities: number };
  readonly #first: { readonly entity: MonitoredEntity; readonly name: string; readonly guid: string }[] = [];

  constructor(selection: Filter & { readonly max_entities: number }, listed: readonly MonitoredEntity[] = []) {
    this.#selection = selection;
    for (const entity of listed) this.add(entity);
  }

  /** In their order. */
  get entities(): readonly MonitoredEntity[] {
    return this.#first.map(({ entity }) => entity);
  }

  add(entity: MonitoredEntity): void {
    if (!selects(this.#selection, entity)) return;
    const first = this.#first;
    const own = { entity, name: orderKey(entity.name), guid: orderKey(entity.guid) };
    let [from, to] = [0, first.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = first[middle];
      const isAfter = other !== undefined && (other.name === own.name ? other.guid < own.guid : other.name < own.name);
      if (isAfter) from = middle + 1;
      else to = middle;
    }
    first.splice(from, 0, own);
    if (first.length <= this.#selection.max_entities) return;
    first.pop();
    this.leftOut += 1;
  }
}

/** The ids to request from New Relic when `include` has only ids; undefined when the whole list must be read. */
export function onlyIds(filter: Filter): readonly number[] | undefined {
  const { include } = filter;
  if (include === undefined || include.length === 0) return undefined;
  const ids = include.flatMap(({ id }) => id ?? []);
  return ids.length === include.length ? [...new Set(ids)] : undefined;
}

/**
 * Ids of applications whose key transactions are selected, but that the application list leaves out because its request names
 * other ids. Without their names, the key transactions would look as if the key could not see the applications.
 */
export function ownersToRequest(account: AccountConfig, keyTransactions: readonly KeyTransaction[]): readonly number[] {
  const filter = account.key_transactions;
  const requested = onlyIds(account.applications);
  if (typeof filter === 'boolean' || requested === undefined) return [];
  const listed = new Set(requested);
  const owners = keyTransactions
    .filter((keyTransaction) => selects(filter, keyTransaction))
    .flatMap(({ applicationId }) => (applicationId === undefined || listed.has(applicationId) ? [] : [applicationId]));
  return [...new Set(owners)];
}

/** The entries that match nothing in a list; none before the list is read, nor while it is empty: then no entry is the cause. */
export function unmatched(
  entries: readonly EntityMatch[] = [],
  listed: readonly Matchable[] = [],
): readonly EntityMatch[] {
  return listed.length === 0 ? [] : entries.filter((match) => !listed.some((entity) => matches(match, entity)));
}

/** The end of a sentence that an entry matches nothing. */
export function unmatchedWords({ id, name, tag, value }: EntityMatch): string {
  if (id !== undefined) return `the id ${id}: correct the entry or remove it`;
  const parts = [
    ...(name === undefined ? [] : [`the name "${name}"`]),
    ...(tag === undefined ? [] : [`the tag "${tag}"${value === undefined ? '' : ` with a value "${value}"`}`]),
  ];
  return `${parts.join(' and ')}: correct the entry or remove it`;
}

/** The settings of an application: from the first matching entry of `applications.settings`, otherwise from the account. */
export function effectiveSettings(account: AccountConfig, application: Application) {
  const setting = account.applications.settings.find(({ match }) => matches(match, application));
  return { database: setting?.database_component ?? 'auto', hosts: setting?.hosts ?? account.hosts };
}

/** True when metric data of the application are read: it reports, or `reporting_only` is off. */
export function readsMetricData(account: AccountConfig, application: Application): boolean {
  return application.reporting !== false || !account.applications.reporting_only;
}

/**
 * The key transactions that an account serves: with `true` all of them, or, when applications are filtered, those of the
 * included applications and those whose application could not be read; otherwise by their own include and exclude.
 */
export function selectKeyTransactions(
  account: AccountConfig,
  keyTransactions: readonly KeyTransaction[],
  isServed: (applicationId: number) => boolean,
): readonly KeyTransaction[] {
  const filter = account.key_transactions;
  if (filter === false) return [];
  if (filter !== true) return keyTransactions.filter((keyTransaction) => selects(filter, keyTransaction));
  const { include, exclude } = account.applications;
  if (include === undefined && exclude.length === 0) return keyTransactions;
  return keyTransactions.filter(
    ({ applicationId, unread }) => unread !== undefined || (applicationId !== undefined && isServed(applicationId)),
  );
}
