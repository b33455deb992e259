import type { Application, KeyTransaction } from '../../api/types.ts';
import type { MetricSelection, MonitoredEntity } from '../../api/upstreamReader.ts';
import type { AccountConfig } from '../../config/config.ts';
import { globMatches, type EntityMatch, type Matchable, matches } from '../../config/match.ts';
import { COUNTER_METRICS } from '../../metrics/counterFamilies.ts';
import { customMatches, type CustomMetric } from '../../metrics/customMetrics.ts';
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

/**
 * The published entities of a type: the first `max_entities` that its selection chooses, by name and guid in code points;
 * `leftOut` is the number of the others.
 */
export function chooseEntities(
  selection: Filter & { readonly max_entities: number },
  listed: readonly MonitoredEntity[],
) {
  const chosen = listed.filter((entity) => selects(selection, entity));
  // Bytes of UTF-8 are in the order of code points. They are made once for each entity, because there may be 10,000.
  const keyed = chosen.map((entity) => ({ entity, name: Buffer.from(entity.name), guid: Buffer.from(entity.guid) }));
  keyed.sort((a, b) => Buffer.compare(a.name, b.name) || Buffer.compare(a.guid, b.guid));
  const entities = keyed.slice(0, selection.max_entities).map(({ entity }) => entity);
  return { entities, leftOut: chosen.length - entities.length };
}

/** The ids to request from New Relic when `include` has only ids; undefined when the whole list must be read. */
export function onlyIds(filter: Filter): readonly number[] | undefined {
  const { include } = filter;
  if (include === undefined || include.length === 0) return undefined;
  const ids = include.flatMap(({ id }) => id ?? []);
  return ids.length === include.length ? [...new Set(ids)] : undefined;
}

/** Ids of applications whose key transactions are selected, but that the request for the application list leaves out. */
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

/** The words for an entry that matches nothing, with the first one listed that its name would match in another case. */
export function unmatchedWords({ id, name, tag, value }: EntityMatch, listed: readonly Matchable[] = []): string {
  if (id !== undefined) return `the id ${id}: correct the entry or remove it`;
  const ofTag = `the tag "${tag}"${value === undefined ? '' : ` with a value "${value}"`}`;
  const parts = [...(name === undefined ? [] : [`the name "${name}"`]), ...(tag === undefined ? [] : [ofTag])];
  const pattern = name?.toLowerCase();
  const other = listed.find((each) => pattern !== undefined && globMatches(pattern, each.name.toLowerCase()));
  const hint = other === undefined ? '' : ` (case counts: there is ${JSON.stringify(other.name)})`;
  return `${parts.join(' and ')}${hint}: correct the entry or remove it`;
}

/** The settings of an application: from the first matching entry of `applications.settings`, otherwise from the account. */
export function effectiveSettings(account: AccountConfig, application: Application) {
  const setting = account.applications.settings.find(({ match }) => matches(match, application));
  return { database: setting?.database_component ?? 'auto', hosts: setting?.hosts ?? account.hosts };
}

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

/** The maximum number of remembered selections, which differ by datastores and custom metrics; when full, all are forgotten. */
const MAX_REMEMBERED = 10_000;

interface SelectedMetrics {
  readonly metrics: MetricSelection;
  readonly custom: ReturnType<typeof customMatches>;
  /** The datastore metrics among the names, as in `WindowInput`. */
  readonly datastores: string | undefined;
}

/** The part of an application's data that decides its requests, and the requests once they are made. */
export interface SelectionInput {
  /** The datastore metrics; undefined when the metric data contain them. */
  datastores: readonly string[] | undefined;
  customNames: readonly string[] | undefined;
  hosts: { readonly size: number };
  /** The requests of its metric data calls, and of those of its hosts; empty when they may have changed. */
  selected: { application?: SelectedMetrics; host?: SelectedMetrics };
}

const NO_MATCHES = customMatches([], []);

export class MetricSelections {
  readonly counters: MetricSelection = { names: COUNTER_METRICS };
  readonly nothing: SelectedMetrics = { metrics: { names: [] }, custom: NO_MATCHES, datastores: undefined };
  readonly #customMetrics: readonly CustomMetric[];
  /** Without datastores and custom metrics: most applications share it. */
  readonly #builtIn: MetricSelection = { names: queryNames([]) };
  readonly #known = new Map<string, MetricSelection>();

  constructor(customMetrics: readonly CustomMetric[]) {
    this.#customMetrics = customMetrics;
  }

  /** The metrics of an application, or of each of its hosts. What changes them sets `data.selected` to an empty object. */
  of({ customNames, datastores, hosts, selected }: SelectionInput, scope: FamilyScope): SelectedMetrics {
    const known = selected[scope];
    if (known !== undefined) return known;
    const ofScope = this.#customMetrics.filter(({ definition }) => definition.scope === scope);
    const entities = scope === 'host' ? hosts.size : 1;
    const custom = customNames === undefined ? NO_MATCHES : customMatches(ofScope, customNames, entities);
    const values = new Map<string, Set<string>>();
    for (const { metricName, metric } of custom.matches) {
      const ofName = values.get(metricName) ?? new Set();
      values.set(metricName, ofName.add(metric.definition.value));
    }
    const metrics = this.#metrics(datastores ?? [], values);
    return (selected[scope] = { metrics, custom, datastores: datastores?.join() });
  }

  #metrics(datastores: readonly string[], customValues: ReadonlyMap<string, ReadonlySet<string>>): MetricSelection {
    if (datastores.length === 0 && customValues.size === 0) return this.#builtIn;
    const values = new Map(Array.from(customValues, ([name, of]) => [name, [...of]]));
    const key = [...datastores, ...Array.from(values, ([name, of]) => `${name} ${of.join()}`)].join('\n');
    let metrics = this.#known.get(key);
    if (metrics === undefined) {
      if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
      const names = new Set([...queryNames(datastores), ...values.keys()]);
      metrics = { names: [...names], values };
      this.#known.set(key, metrics);
    }
    return metrics;
  }
}
