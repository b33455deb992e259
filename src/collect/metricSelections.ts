import type { MetricSelection } from '../api/upstreamReader.ts';
import { COUNTER_METRICS } from '../metrics/counterFamilies.ts';
import { customMatches, type CustomMetric } from '../metrics/customMetrics.ts';
import type { FamilyScope } from '../metrics/family.ts';
import { queryNames } from '../metrics/windowFamilies.ts';

/** The maximum number of remembered selections, which differ by datastores and custom metrics; when full, all are forgotten. */
const MAX_REMEMBERED = 10_000;

/** The request for the metric data of an application, or of each of its hosts. */
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

/** The metrics that an account requests with one configuration. Equal requests share one selection. */
export class MetricSelections {
  readonly counters: MetricSelection;
  /** For applications whose metric data are no longer read. */
  readonly nothing: SelectedMetrics;
  readonly #customMetrics: readonly CustomMetric[];
  /** The request without datastores and custom metrics: most applications share it, over NerdGraph all without custom ones. */
  readonly #builtIn: MetricSelection;
  readonly #known = new Map<string, MetricSelection>();

  constructor(customMetrics: readonly CustomMetric[]) {
    this.counters = { names: COUNTER_METRICS };
    this.nothing = { metrics: { names: [] }, custom: NO_MATCHES, datastores: undefined };
    this.#customMetrics = customMetrics;
    this.#builtIn = { names: queryNames([]) };
  }

  /**
   * The metrics to request for an application, or for each of its hosts, which share caps. They are calculated once: code that
   * changes the lists of names, the custom metrics, or the number of hosts sets `data.selected` to an empty object.
   */
  of(data: SelectionInput, scope: FamilyScope): SelectedMetrics {
    return (data.selected[scope] ??= this.#newSelection(data, scope));
  }

  #newSelection({ customNames, datastores, hosts }: SelectionInput, scope: FamilyScope): SelectedMetrics {
    const ofScope = this.#customMetrics.filter(({ definition }) => definition.scope === scope);
    const entities = scope === 'host' ? hosts.size : 1;
    const custom = customNames === undefined ? NO_MATCHES : customMatches(ofScope, customNames, entities);
    const values = new Map<string, Set<string>>();
    for (const { metricName, metric } of custom.matches) {
      const ofName = values.get(metricName) ?? new Set();
      values.set(metricName, ofName.add(metric.definition.value));
    }
    return { metrics: this.#metrics(datastores ?? [], values), custom, datastores: datastores?.join() };
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
