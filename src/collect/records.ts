import type { Application, Host, Instance, KeyTransaction, RollingValues } from '../api/types.ts';
import type { WindowValues } from '../formulas/metricInputs.ts';
import { databaseKind, type DatabaseChoice } from '../formulas/responseTimes.ts';
import { customMatches, customSamples, type CustomMetric } from '../metrics/customMetrics.ts';
import { entitySamples } from '../metrics/entityFamilies.ts';
import type { FamilyScope } from '../metrics/family.ts';
import type { WrittenLabels, WrittenSamples } from '../metrics/sample.ts';
import { queryNames, usedValues, windowSamples } from '../metrics/windowFamilies.ts';
import { NO_SAMPLES, type SampleWriter } from '../metrics/writeSamples.ts';
import type { Entity } from './entity.ts';
import type { AccountContext, EffectiveSettings } from './selection.ts';

/**
 * The datastore metrics that an answer can hold: those that were asked for; `all` where upstream adds every type by
 * itself; undefined while nobody knew which there are.
 */
export type AskedDatastores = readonly string[] | 'all' | undefined;

/** What upstream answered about an application or a host over one window. */
export interface WindowInput {
  /** Only what the calculations and the custom metrics read. */
  readonly values: WindowValues;
  readonly datastores: AskedDatastores;
}

/** One window's metric data of an application or a host, and what was calculated from it. */
export interface WindowReading extends WindowInput {
  readonly samples: WrittenSamples;
  readonly customSamples: WrittenSamples;
  /** Series of custom metrics that a cap left out, by family; a host's are those of all hosts of its application. */
  readonly cut: ReadonlyMap<string, number>;
}

/** State and rolling values of something in a list, under the labels that all of its samples carry. */
interface Listed {
  labels: WrittenLabels;
  /** Made of what the list says, together with the rolling values, where those are read apart and have been read. */
  samples: WrittenSamples;
  /** Undefined where the list brings the rolling values, too. */
  rolling: Rolling | undefined;
}

/** Rolling values that are read apart from the list. */
export interface Rolling {
  readonly entity: Entity;
  values: RollingValues | undefined;
}

export interface HostRecord extends Listed {
  host: Host;
  /** Which of its application's hosts it is, from 0, where they share the cap of a custom metric. */
  readonly place: number;
  readonly metrics: Entity;
  reading: WindowReading | undefined;
}

export interface InstanceRecord extends Listed {
  instance: Instance;
}

export interface KeyTransactionRecord extends Listed {
  keyTransaction: KeyTransaction;
}

/** What a metric data call asks for about an application, or about each of its hosts. */
export interface WantedNames {
  /** Every metric name, each once. */
  readonly names: readonly string[];
  /** The values of a metric that the calculations or the custom metrics read. */
  readonly values: (metricName: string) => readonly string[];
  readonly custom: ReturnType<typeof customMatches>;
  /** The datastore metrics among the names; undefined while nobody knows which there are. */
  readonly datastores: readonly string[] | undefined;
}

/** The database kind that counts, and the datastore metrics that the answer could hold when it was decided. */
export interface DatabaseDecision {
  readonly choice: DatabaseChoice;
  readonly datastores: AskedDatastores;
}

/** What is read for an application besides its entry in the list, and what was read. */
export interface ApplicationData {
  /** The list of its datastore metrics; undefined where metric data bring them. */
  readonly datastoreList: Entity | undefined;
  datastores: readonly string[] | undefined;
  readonly metrics: Entity;
  reading: WindowReading | undefined;
  /** The list of the metric names that its custom metrics may match; undefined without custom metrics. */
  customNameList: Entity | undefined;
  customNames: readonly string[] | undefined;
  hostList: Entity | undefined;
  hosts: ReadonlyMap<string, HostRecord>;
  /** What its metric data calls ask for, and those of its hosts; nothing when that may have changed. */
  wanted: { application?: WantedNames; host?: WantedNames };
  instanceList: Entity | undefined;
  instances: ReadonlyMap<number, InstanceRecord>;
  /** Undefined until its metric data have been read and tell it. */
  database: DatabaseDecision | undefined;
}

/** An application the account serves. */
export interface ApplicationRecord extends Listed {
  application: Application;
  settings: EffectiveSettings;
  /** Keys of the tags that its samples were written with. */
  tags: readonly string[];
  /** Undefined while its metric data are not read: it does not report. */
  data: ApplicationData | undefined;
}

/** What a list brings. */
export type ListRecord = ApplicationRecord | HostRecord | InstanceRecord | KeyTransactionRecord;

/** Everything that is read of an application, its hosts included, at the end of a list. */
export function entitiesOf({ data, rolling }: ApplicationRecord, found: Entity[] = []): Entity[] {
  if (data === undefined) return found;
  add(rolling?.entity, found);
  add(data.datastoreList, found);
  add(data.customNameList, found);
  found.push(data.metrics);
  add(data.hostList, found);
  add(data.instanceList, found);
  for (const host of data.hosts.values()) entitiesOfHost(host, found);
  return found;
}

export function entitiesOfHost({ rolling, metrics }: HostRecord, found: Entity[] = []): Entity[] {
  add(rolling?.entity, found);
  found.push(metrics);
  return found;
}

function add(entity: Entity | undefined, found: Entity[]): void {
  if (entity !== undefined) found.push(entity);
}

/** The samples of an application's entry in the list and, where they are read apart, its rolling values. */
export const writeApplication = (
  writer: SampleWriter,
  application: Application,
  tags: readonly string[],
  values?: RollingValues,
): WrittenSamples => writer.write('applications', entitySamples('applications', application, values, tags));

/** The samples of a list entry as it is now, with rolling values that are read apart, or without. */
export function writeListed(writer: SampleWriter, record: ListRecord, values?: RollingValues): WrittenSamples {
  if ('application' in record) return writeApplication(writer, record.application, record.tags, values);
  if ('host' in record) return writer.write('hosts', entitySamples('hosts', record.host, values));
  if ('instance' in record) return writer.write('instances', entitySamples('instances', record.instance));
  return writer.write('key_transactions', entitySamples('key_transactions', record.keyTransaction, values));
}

const NO_MATCHES = customMatches([], []);

/** Most applications ask for the same, over NerdGraph all without custom metrics: what is asked for is then one list. */
const BUILT_IN_NAMES = queryNames([]);

/** Of an application whose metric data are read no longer. */
export const NOTHING_WANTED: WantedNames = {
  names: [],
  values: usedValues,
  custom: NO_MATCHES,
  datastores: undefined,
};

/**
 * What to ask for about an application, or each of its hosts, whose caps its hosts share. Made once: who changes the lists of
 * names, the custom metrics, or the number of hosts sets `data.wanted` to nothing.
 */
export function wanted(customMetrics: readonly CustomMetric[], data: ApplicationData, scope: FamilyScope): WantedNames {
  return (data.wanted[scope] ??= toWanted(customMetrics, data, scope));
}

function toWanted(
  customMetrics: readonly CustomMetric[],
  { customNames, datastores, hosts }: ApplicationData,
  scope: FamilyScope,
): WantedNames {
  const ofScope = customMetrics.filter(({ definition }) => definition.scope === scope);
  const entities = scope === 'host' ? hosts.size : 1;
  const custom = customNames === undefined ? NO_MATCHES : customMatches(ofScope, customNames, entities);
  const customs = new Map<string, Set<string>>();
  for (const { metricName, metric } of custom.matches) {
    const values = customs.get(metricName) ?? new Set(usedValues(metricName));
    customs.set(metricName, values.add(metric.definition.value));
  }
  const builtIn = datastores === undefined || datastores.length === 0 ? BUILT_IN_NAMES : queryNames(datastores);
  if (customs.size === 0) return { names: builtIn, values: usedValues, custom, datastores };
  const values = new Map([...customs].map(([name, ofName]) => [name, [...ofName]]));
  const names = [...new Set([...builtIn, ...customs.keys()])];
  return { names, values: (name) => values.get(name) ?? usedValues(name), custom, datastores };
}

/** Takes over what upstream answered of an application, or of one of its hosts, and calculates what is served of it. */
export function takeOverMetrics(
  record: ApplicationRecord & { readonly data: ApplicationData },
  host: HostRecord | undefined,
  input: WindowInput,
  context: Readonly<AccountContext>,
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
  { customMetrics, writer }: Readonly<AccountContext>,
): WindowReading {
  const scope: FamilyScope = place === undefined ? 'application' : 'host';
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
export function recalculate(data: ApplicationData, context: Readonly<AccountContext>): void {
  if (data.reading !== undefined) data.reading = calculate(data.reading, data, undefined, context);
  for (const host of data.hosts.values()) {
    if (host.reading !== undefined) host.reading = calculate(host.reading, data, host.place, context);
  }
}

/** The configuration, or what a list says of an application, may decide the database kind otherwise than before. */
export function reconsiderDatabase(record: ApplicationRecord, context: Readonly<AccountContext>): void {
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
