import { customMatches, customSamples, type CustomMatches, type CustomMetric } from '../metrics/customMetrics.ts';
import type { Scope } from '../metrics/family.ts';
import { queryNames, usedValues, windowSamples } from '../metrics/windowFamilies.ts';
import { NO_SAMPLES } from '../metrics/writeSamples.ts';
import { databaseKind } from '../formulas/responseTimes.ts';
import type { AccountContext } from './scope.ts';
import type {
  ApplicationData,
  ApplicationRecord,
  AskedDatastores,
  DatabaseDecision,
  HostRecord,
  Wanted,
  WindowInput,
  WindowReading,
} from './records.ts';

type CalculationContext = Pick<AccountContext, 'customMetrics' | 'writer'>;

const NO_MATCHES: CustomMatches = { matches: [], cut: new Map() };

/** Most applications ask for the same, over NerdGraph all without custom metrics: what is asked for is then one list. */
const BUILT_IN_NAMES = queryNames([]);

/** Of an application whose metric data are read no longer. */
export const NOTHING_WANTED: Wanted = {
  names: [],
  values: usedValues,
  custom: NO_MATCHES,
  datastores: undefined,
  madeOf: { customMetrics: [], entities: 0 },
};

/**
 * What to ask for about an application, or each of its hosts, whose caps its hosts share. The same object as long as it holds
 * the same: who changes the lists of names sets `data.wanted` to nothing.
 */
export function wanted(customMetrics: readonly CustomMetric[], data: ApplicationData, scope: Scope): Wanted {
  const entities = scope === 'host' ? data.hosts.size : 1;
  const before = data.wanted[scope];
  const madeOf = before?.madeOf;
  if (before !== undefined && madeOf?.customMetrics === customMetrics && madeOf.entities === entities) return before;
  return (data.wanted[scope] = toWanted(customMetrics, data, scope, entities));
}

function toWanted(
  customMetrics: readonly CustomMetric[],
  { customNames, datastores }: ApplicationData,
  scope: Scope,
  entities: number,
): Wanted {
  const ofScope = customMetrics.filter(({ definition }) => definition.scope === scope);
  const custom = customNames === undefined ? NO_MATCHES : customMatches(ofScope, customNames, entities);
  const customs = new Map<string, Set<string>>();
  for (const { metricName, metric } of custom.matches) {
    const values = customs.get(metricName) ?? new Set(usedValues(metricName));
    customs.set(metricName, values.add(metric.definition.value));
  }
  const madeOf = { customMetrics, entities };
  const builtIn = datastores === undefined || datastores.length === 0 ? BUILT_IN_NAMES : queryNames(datastores);
  if (customs.size === 0) return { names: builtIn, values: usedValues, custom, datastores, madeOf };
  const values = new Map([...customs].map(([name, ofName]) => [name, [...ofName]]));
  return {
    names: [...new Set([...builtIn, ...customs.keys()])],
    values: (name) => values.get(name) ?? usedValues(name),
    custom,
    datastores,
    madeOf,
  };
}

/** Takes over what upstream answered of an application, or of one of its hosts, and calculates what is served of it. */
export function takeOverMetrics(
  record: ApplicationRecord & { readonly data: ApplicationData },
  host: HostRecord | undefined,
  input: WindowInput,
  context: CalculationContext,
): void {
  const { data } = record;
  if (host !== undefined) {
    host.reading = calculate(input, data, host.place, context);
    return;
  }
  data.reading = { ...input, samples: NO_SAMPLES, customSamples: NO_SAMPLES, cut: new Map() };
  if (decideDatabase(record, data)) recalculate(data, context);
  else data.reading = calculate(input, data, undefined, context);
}

/**
 * Calculates what is served of a reading, with the application's database kind and custom metrics of now.
 *
 * @param place which of its application's hosts it is, from 0; undefined for the application itself
 */
function calculate(
  input: WindowInput,
  data: ApplicationData,
  place: number | undefined,
  { customMetrics, writer }: CalculationContext,
): WindowReading {
  const scope: Scope = place === undefined ? 'application' : 'host';
  const group = scope === 'application' ? 'application_metrics' : 'host_metrics';
  const { custom } = wanted(customMetrics, data, scope);
  return {
    values: input.values,
    datastores: input.datastores,
    samples: writer.write(group, windowSamples(scope, input.values, databaseOf(data, input.datastores))),
    customSamples: writer.write('custom_metrics', customSamples(custom.matches, input.values, place)),
    cut: custom.cut,
  };
}

/** Calculates everything that is held of an application and its hosts anew. */
export function recalculate(data: ApplicationData, context: CalculationContext): void {
  if (data.reading !== undefined) data.reading = calculate(data.reading, data, undefined, context);
  for (const host of data.hosts.values()) {
    if (host.reading !== undefined) host.reading = calculate(host.reading, data, host.place, context);
  }
}

/** The configuration, or what a list says of an application, may decide the database kind otherwise than before. */
export function reconsiderDatabase(record: ApplicationRecord, context: CalculationContext): void {
  const { data } = record;
  if (data !== undefined && decideDatabase(record, data)) recalculate(data, context);
}

/**
 * Decides the database kind by the application's newest data.
 *
 * @returns true when it is another than before: what is held has to be calculated anew
 */
function decideDatabase({ application, settings }: ApplicationRecord, data: ApplicationData): boolean {
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
  return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((name, index) => name === b[index]);
}
