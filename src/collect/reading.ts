import type { MetricData } from '../api/types.ts';
import type { MetricWindow } from '../formulas/inputs.ts';
import {
  customMatches,
  customSamples,
  hostPlaces,
  type CustomMatches,
  type CustomMetric,
} from '../metrics/customFamilies.ts';
import type { Scope } from '../metrics/family.ts';
import { usedValues, windowSamples } from '../metrics/window.ts';
import { toMetricWindow } from '../metrics/windowValues.ts';
import type { ApplicationRecord, WindowInput, WindowReading } from './records.ts';

const NO_MATCHES: CustomMatches = { matches: [], cut: new Map() };

interface Remembered {
  readonly customMetrics: readonly CustomMetric[];
  readonly entities: number;
  readonly found: CustomMatches;
}

/** Matches by scope and list of names: the hosts of an application all have the same. */
const remembered: Readonly<Record<Scope, WeakMap<readonly string[], Remembered>>> = {
  application: new WeakMap(),
  host: new WeakMap(),
};

/** The custom metrics of one scope that an application has; a family's cap is shared by all of its hosts. */
export function customOf(
  customMetrics: readonly CustomMetric[],
  record: ApplicationRecord,
  scope: Scope,
): CustomMatches {
  const names = record.units?.customNames?.held?.value;
  if (names === undefined) return NO_MATCHES;
  const entities = scope === 'host' ? record.hosts.size : 1;
  const before = remembered[scope].get(names);
  if (before?.customMetrics === customMetrics && before.entities === entities) return before.found;
  const ofScope = customMetrics.filter(({ definition }) => definition.scope === scope);
  const found = customMatches(ofScope, names, entities);
  remembered[scope].set(names, { customMetrics, entities, found });
  return found;
}

/** What is worth keeping of an answer: of the metrics that were asked for, the values that something reads. */
export function keepUsed(
  data: MetricData,
  asked: readonly string[],
  { matches }: CustomMatches,
): WindowInput['values'] {
  const wanted = new Map<string, Set<string>>();
  for (const { metricName, metric } of matches) {
    const values = wanted.get(metricName) ?? new Set();
    wanted.set(metricName, values.add(metric.definition.value));
  }
  const kept = new Map<string, MetricWindow>();
  // By the names as they were asked for: those of the answer would keep a copy of each for every entity.
  for (const name of asked) {
    const answered = toMetricWindow(data.get(name));
    if (answered === undefined) continue;
    const { seconds, values } = answered;
    const picked: Record<string, number> = {};
    pick(values, usedValues(name), picked);
    pick(values, wanted.get(name) ?? [], picked);
    kept.set(name, { seconds, values: picked });
  }
  return kept;
}

/** The places of an application's hosts, as long as they are the same. */
const places = new WeakMap<ApplicationRecord['hosts'], ReadonlyMap<string, number>>();

/**
 * Calculates what is served of a reading, with the application's database kind and custom metrics of now. `hostKey` says
 * which host it is; undefined: the application itself.
 */
export function calculate(
  hostKey: string | undefined,
  input: WindowInput,
  record: ApplicationRecord,
  customMetrics: readonly CustomMetric[],
): WindowReading {
  const scope = hostKey === undefined ? 'application' : 'host';
  const custom = customOf(customMetrics, record, scope);
  return {
    ...input,
    samples: windowSamples(scope, input.values, databaseOf(record, input.datastores)),
    customSamples: customSamples(custom.matches, input.values, hostKey === undefined ? 0 : placeOf(record, hostKey)),
    cut: custom.cut,
  };
}

function placeOf({ hosts }: ApplicationRecord, hostKey: string): number | undefined {
  let ofHosts = places.get(hosts);
  if (ofHosts === undefined) places.set(hosts, (ofHosts = hostPlaces(hosts.keys())));
  return ofHosts.get(hostKey);
}

export function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((name, index) => name === b[index]));
}

/**
 * The database kind for a reading: only where it was decided on the same datastore metrics as the reading asked for, for
 * else a total time would be published of which a part is not taken off.
 */
function databaseOf({ database }: ApplicationRecord, datastores: readonly string[] | undefined) {
  if (database === undefined || datastores === undefined) return undefined;
  return sameNames(database.datastores, datastores) ? database.choice : undefined;
}

function pick(values: MetricWindow['values'], names: Iterable<string>, picked: Record<string, number>): void {
  for (const name of names) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value !== undefined) picked[name] = value;
  }
}
