import { customMatches, type CustomMatches, type CustomMetric } from '../../metrics/customFamilies.ts';
import type { Scope } from '../../metrics/family.ts';
import { queryNames, usedValues } from '../../metrics/window.ts';
import type { ApplicationData } from '../inventory/records.ts';

const NO_MATCHES: CustomMatches = { matches: [], cut: new Map() };
const NO_DATASTORES: readonly string[] = [];

interface Remembered {
  readonly customMetrics: readonly CustomMetric[];
  readonly entities: number;
  readonly found: CustomMatches;
}

/** Matches by scope and list of names: the hosts of an application all have the same. */
const rememberedMatches: Readonly<Record<Scope, WeakMap<readonly string[], Remembered>>> = {
  application: new WeakMap(),
  host: new WeakMap(),
};

/** By list of datastores and matches: an application's hosts all ask for the same, refresh after refresh. */
const rememberedNames = new WeakMap<readonly string[], WeakMap<CustomMatches['matches'], readonly string[]>>();

const rememberedValues = new WeakMap<CustomMatches['matches'], (metricName: string) => readonly string[]>();

/** The custom metrics of one scope that an application has; a family's cap is shared by all of its hosts. */
export function customOf(
  customMetrics: readonly CustomMetric[],
  { customNames: names, hosts }: ApplicationData,
  scope: Scope,
): CustomMatches {
  if (names === undefined) return NO_MATCHES;
  const entities = scope === 'host' ? hosts.size : 1;
  const before = rememberedMatches[scope].get(names);
  if (before?.customMetrics === customMetrics && before.entities === entities) return before.found;
  const ofScope = customMetrics.filter(({ definition }) => definition.scope === scope);
  const found = customMatches(ofScope, names, entities);
  rememberedMatches[scope].set(names, { customMetrics, entities, found });
  return found;
}

/**
 * Every metric name to ask for about an application, or each of its hosts, each once. The same list as long as it holds
 * the same.
 */
export function wantedNames(
  customMetrics: readonly CustomMetric[],
  data: ApplicationData,
  scope: Scope,
): readonly string[] {
  const datastores = data.datastores ?? NO_DATASTORES;
  const { matches } = customOf(customMetrics, data, scope);
  let ofDatastores = rememberedNames.get(datastores);
  if (ofDatastores === undefined) rememberedNames.set(datastores, (ofDatastores = new WeakMap()));
  let names = ofDatastores.get(matches);
  if (names === undefined) {
    names = [...new Set([...queryNames(datastores), ...matches.map(({ metricName }) => metricName)])];
    ofDatastores.set(matches, names);
  }
  return names;
}

/** The values of metrics that the calculations or these custom metrics read. */
export function wantedValues({ matches }: CustomMatches): (metricName: string) => readonly string[] {
  let wanted = rememberedValues.get(matches);
  if (wanted === undefined) {
    const byName = new Map<string, Set<string>>();
    for (const { metricName, metric } of matches) {
      const values = byName.get(metricName) ?? new Set(usedValues(metricName));
      byName.set(metricName, values.add(metric.definition.value));
    }
    const ofCustom = new Map([...byName].map(([name, values]) => [name, [...values]]));
    wanted = (name) => ofCustom.get(name) ?? usedValues(name);
    rememberedValues.set(matches, wanted);
  }
  return wanted;
}

export function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((name, index) => name === b[index]));
}
