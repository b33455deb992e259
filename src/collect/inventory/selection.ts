import { getOrAdd } from '../../api/maps.ts';
import type { Application, KeyTransaction } from '../../api/types.ts';
import type { MetricSelection, MonitoredEntity } from '../../api/upstreamReader.ts';
import type { AccountConfig } from '../../config/config.ts';
import { globMatches, type EntityMatch, type Matchable, matches } from '../../config/match.ts';
import { COUNTER_METRICS } from '../../metrics/counterFamilies.ts';
import { matchCustomMetrics, type CustomMetric } from '../../metrics/customMetrics.ts';
import type { FamilyScope } from '../../metrics/family.ts';
import { queryNames } from '../../metrics/windowFamilies.ts';

interface Filter {
  readonly include?: readonly EntityMatch[] | undefined;
  readonly exclude: readonly EntityMatch[];
}

export function selects(filter: Filter, entity: Matchable): boolean {
  const included = filter.include === undefined || filter.include.some((match) => matches(match, entity));
  return included && !filter.exclude.some((match) => matches(match, entity));
}

/** Chooses the first `max_entities` matches, by name and guid in code points. `leftOut` counts further matches. */
export function chooseEntities(
  selection: Filter & { readonly max_entities: number },
  listed: readonly MonitoredEntity[],
) {
  const chosen = listed.filter((entity) => selects(selection, entity));
  // Bytes of UTF-8 sort in the order of code points. Each entity is encoded once, because there may be 10,000 entities.
  const keyed = chosen.map((entity) => ({ entity, name: Buffer.from(entity.name), guid: Buffer.from(entity.guid) }));
  keyed.sort((a, b) => Buffer.compare(a.name, b.name) || Buffer.compare(a.guid, b.guid));
  const entities = keyed.slice(0, selection.max_entities).map(({ entity }) => entity);
  return { entities, leftOut: chosen.length - entities.length };
}

/** Returns the ids to request from New Relic if `include` has only ids; undefined if the whole list is needed. */
export function onlyIds(filter: Filter): readonly number[] | undefined {
  const { include } = filter;
  if (include === undefined || include.length === 0) return undefined;
  const ids = include.flatMap(({ id }) => id ?? []);
  return ids.length === include.length ? [...new Set(ids)] : undefined;
}

/** Returns the ids of applications that own selected key transactions and that the list request leaves out. */
export function findOtherOwners(account: AccountConfig, keyTransactions: readonly KeyTransaction[]): readonly number[] {
  const filter = account.key_transactions;
  const requested = onlyIds(account.applications);
  if (typeof filter === 'boolean' || requested === undefined) return [];
  const listed = new Set(requested);
  const owners = keyTransactions
    .filter((keyTransaction) => selects(filter, keyTransaction))
    .flatMap(({ applicationId }) => (applicationId === undefined || listed.has(applicationId) ? [] : [applicationId]));
  return [...new Set(owners)];
}

/** Returns the entries that match nothing; none for an empty or unread list, because no entry is the cause. */
export function unmatched(
  entries: readonly EntityMatch[] = [],
  listed: readonly Matchable[] = [],
): readonly EntityMatch[] {
  return listed.length === 0 ? [] : entries.filter((match) => !listed.some((entity) => matches(match, entity)));
}

/** Describes an entry that matches nothing. Names a member that would match without regard to case. */
export function describeUnmatched({ id, name, tag, value }: EntityMatch, listed: readonly Matchable[] = []): string {
  if (id !== undefined) return `the id ${id}: correct the entry or remove it`;
  const tagWords = `the tag "${tag}"${value === undefined ? '' : ` with a value "${value}"`}`;
  const parts = [...(name === undefined ? [] : [`the name "${name}"`]), ...(tag === undefined ? [] : [tagWords])];
  const pattern = name?.toLowerCase();
  const other = listed.find((each) => pattern !== undefined && globMatches(pattern, each.name.toLowerCase()));
  const hint = other === undefined ? '' : ` (case counts: there is ${JSON.stringify(other.name)})`;
  return `${parts.join(' and ')}${hint}: correct the entry or remove it`;
}

export function effectiveSettings(account: AccountConfig, application: Application) {
  const setting = account.applications.settings.find(({ match }) => matches(match, application));
  return { database: setting?.database_component ?? 'auto', hosts: setting?.hosts ?? account.hosts };
}

export function readsMetricData(account: AccountConfig, application: Application): boolean {
  return application.reporting !== false || !account.applications.reporting_only;
}

/**
 * Returns the key transactions that an account serves. A filter of `key_transactions` decides alone. With `true`, those
 * of served applications stay, and those whose application could not be read.
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

/** The maximum number of cached selections. A full cache is cleared. */
const MAX_CACHED = 10_000;

interface SelectedMetrics {
  readonly metrics: MetricSelection;
  readonly custom: ReturnType<typeof matchCustomMetrics>;
  /** The datastore metrics in `metrics`, as in `WindowInput`. */
  readonly datastores: string | undefined;
}

/** The part of an application's data that decides its selection, and the cached selection. */
export interface SelectionInput {
  /** Undefined when the metric data contains the datastore metrics. */
  datastores: readonly string[] | undefined;
  customNames: readonly string[] | undefined;
  hosts: { readonly size: number };
  /** The selections for the application and for its hosts; empty after a change of the other members. */
  selected: { application?: SelectedMetrics; host?: SelectedMetrics };
}

const NO_MATCHES = matchCustomMetrics([], []);

export class MetricSelections {
  readonly counters: MetricSelection = { names: COUNTER_METRICS };
  readonly nothing: SelectedMetrics = { metrics: { names: [] }, custom: NO_MATCHES, datastores: undefined };
  readonly #customMetrics: readonly CustomMetric[];
  readonly #cache = new Map<string, MetricSelection>();

  constructor(customMetrics: readonly CustomMetric[]) {
    this.#customMetrics = customMetrics;
  }

  /** Selects the metrics of an application, or of each of its hosts. Caches the result in `selected`. */
  select({ customNames, datastores, hosts, selected }: SelectionInput, scope: FamilyScope): SelectedMetrics {
    const known = selected[scope];
    if (known !== undefined) return known;
    const scopeMetrics = this.#customMetrics.filter(({ definition }) => definition.scope === scope);
    const entities = scope === 'host' ? hosts.size : 1;
    const custom = customNames === undefined ? NO_MATCHES : matchCustomMetrics(scopeMetrics, customNames, entities);
    const values = new Map<string, Set<string>>();
    for (const { metricName, metric } of custom.matches) {
      getOrAdd(values, metricName, () => new Set()).add(metric.definition.value);
    }
    const valueLists = new Map(Array.from(values, ([name, valueNames]) => [name, [...valueNames]]));
    const metrics = this.#selectMetrics(datastores ?? [], valueLists);
    return (selected[scope] = { metrics, custom, datastores: datastores?.join() });
  }

  #selectMetrics(datastores: readonly string[], values: NonNullable<MetricSelection['values']>): MetricSelection {
    const customKeys = Array.from(values, ([name, valueNames]) => `${name} ${valueNames.join()}`);
    const key = [...datastores, ...customKeys].join('\n');
    return getOrAdd(this.#cache, key, () => {
      if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
      return { names: [...new Set([...queryNames(datastores), ...values.keys()])], values };
    });
  }
}
