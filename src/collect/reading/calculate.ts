import type { MetricData } from '../../api/types.ts';
import { databaseKind } from '../../formulas/databaseKind.ts';
import type { MetricWindow } from '../../formulas/inputs.ts';
import { customSamples, type CustomMatches, type CustomMetric } from '../../metrics/customFamilies.ts';
import type { Scope } from '../../metrics/family.ts';
import { windowSamples } from '../../metrics/window.ts';
import { toMetricWindow } from '../../metrics/windowValues.ts';
import { writeSamples } from '../../metrics/writeSamples.ts';
import type {
  ApplicationData,
  ApplicationRecord,
  AskedDatastores,
  DatabaseDecision,
  WindowInput,
  WindowReading,
} from '../inventory/records.ts';
import { customOf, sameNames, wantedValues } from './names.ts';

/** What is worth keeping of an answer: of the metrics that were asked for, the values that something reads. */
export function keepUsed(data: MetricData, asked: readonly string[], custom: CustomMatches): WindowInput['values'] {
  const wanted = wantedValues(custom);
  const kept = new Map<string, MetricWindow>();
  // By the names as they were asked for: those of the answer would keep a copy of each for every entity.
  for (const name of asked) {
    const answered = toMetricWindow(data.get(name));
    if (answered === undefined) continue;
    const { seconds, values } = answered;
    const picked: Record<string, number> = {};
    pick(values, wanted(name), picked);
    kept.set(name, { seconds, values: picked });
  }
  return kept;
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

function pick(values: MetricWindow['values'], names: Iterable<string>, picked: Record<string, number>): void {
  for (const name of names) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value !== undefined) picked[name] = value;
  }
}
