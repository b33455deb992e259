import { customMatches, type CustomMatches, type CustomMetric, customSamples } from '../metrics/customMetrics.ts';
import type { Scope } from '../metrics/family.ts';
import { queryNames, usedValues, windowSamples } from '../metrics/windowFamilies.ts';
import type {
  ApplicationData,
  ApplicationRecord,
  AskedDatastores,
  DatabaseDecision,
  WindowInput,
  WindowReading,
} from './records.ts';
import { databaseKind } from '../formulas/responseTimes.ts';
import { writeSamples } from '../metrics/writeSamples.ts';

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

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((name, index) => name === b[index]));
}

/**
 * Calculates what is served of a reading, with the application's database kind and custom metrics of now.
 *
 * @param place which of its application's hosts it is, from 0; undefined for the application itself
 */
export function calculate(
  input: WindowInput,
  data: ApplicationData,
  place: number | undefined,
  customMetrics: readonly CustomMetric[],
): WindowReading {
  const scope: Scope = place === undefined ? 'application' : 'host';
  const group = scope === 'application' ? 'application_metrics' : 'host_metrics';
  const custom = customOf(customMetrics, data, scope);
  return {
    values: input.values,
    datastores: input.datastores,
    samples: writeSamples(group, windowSamples(scope, input.values, databaseOf(data, input.datastores))),
    customSamples: writeSamples('custom_metrics', customSamples(custom.matches, input.values, place)),
    cut: custom.cut,
  };
}

/** Calculates everything that is held of an application and its hosts anew. */
export function recalculate(data: ApplicationData, customMetrics: readonly CustomMetric[]): void {
  if (data.reading !== undefined) data.reading = calculate(data.reading, data, undefined, customMetrics);
  for (const host of data.hosts.values()) {
    if (host.reading !== undefined) host.reading = calculate(host.reading, data, host.place, customMetrics);
  }
}

/**
 * Decides the database kind by the application's newest data.
 *
 * @returns true when it is another than before: what is held has to be calculated anew
 */
export function decideDatabase({ application, settings }: ApplicationRecord, data: ApplicationData): boolean {
  const { reading, database } = data;
  if (reading?.datastores === undefined) return false;
  const { values, datastores } = reading;
  const choice = databaseKind(values, application.language, settings.database);
  // Undecided on this answer: what was decided on an earlier one still holds.
  if (choice === undefined) return false;
  if (choice === database?.choice && sameDatastores(datastores, database.datastores)) return false;
  data.database = { choice, datastores };
  return true;
}

/**
 * The database kind for a reading: only where it was decided on the same datastore metrics as the reading could hold, for
 * else a total time would be published of which a part is not taken off.
 */
function databaseOf(
  { database }: ApplicationData,
  datastores: AskedDatastores,
): DatabaseDecision['choice'] | undefined {
  if (database === undefined || datastores === undefined) return undefined;
  return sameDatastores(database.datastores, datastores) ? database.choice : undefined;
}

function sameDatastores(a: AskedDatastores, b: AskedDatastores): boolean {
  if (a === b) return true;
  return Array.isArray(a) && Array.isArray(b) && sameNames(a, b);
}
