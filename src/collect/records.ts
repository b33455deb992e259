import type { Application, Host, Instance, KeyTransaction, RollingValues } from '../api/types.ts';
import type { WindowValues } from '../formulas/metricInputs.ts';
import { databaseKind, type DatabaseChoice } from '../formulas/responseTimes.ts';
import { customMatches, customSamples, type CustomMetric } from '../metrics/customMetrics.ts';
import { listedFamilySamples } from '../metrics/listedFamilies.ts';
import type { FamilyScope } from '../metrics/family.ts';
import type { WrittenLabels, WrittenSamples } from '../metrics/sample.ts';
import { queryNames, usedValues, windowSamples } from '../metrics/windowFamilies.ts';
import type { CounterRecord } from './counterRecords.ts';
import type { Task } from './task.ts';
import type { AccountContext, effectiveSettings } from './selection.ts';

/** What upstream answered about an application or a host over one window. */
export interface WindowInput {
  /** Only what the calculations and the custom metrics read. */
  readonly values: WindowValues;
  /**
   * The datastore metrics that the answer can hold, as a text to compare: those that were asked for; `all` where upstream
   * adds every type by itself; undefined while nobody knew which there are.
   */
  readonly datastores: string | undefined;
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
  readonly labels: WrittenLabels;
  /** Made of what the list says and of the rolling values; undefined: the next answer writes them. */
  samples: WrittenSamples | undefined;
  /** Rolling values that are read apart from the list; undefined where the list brings them. */
  readonly rolling: { readonly task: Task; values: RollingValues | undefined } | undefined;
}

export interface HostRecord extends Listed {
  readonly host: Host;
  /** Which of its application's hosts it is, from 0, where they share the cap of a custom metric. */
  readonly rank: number;
  readonly metrics: Task;
  reading: WindowReading | undefined;
}

export interface InstanceRecord extends Listed {
  readonly instance: Instance;
}

export interface KeyTransactionRecord extends Listed {
  readonly keyTransaction: KeyTransaction;
}

/** What a metric data call asks for about an application, or about each of its hosts. */
export interface SelectedNames {
  /** Every metric name, each once. */
  readonly names: readonly string[];
  /** The values of a metric that the calculations or the custom metrics read. */
  readonly values: (metricName: string) => readonly string[];
  readonly custom: ReturnType<typeof customMatches>;
  /** The datastore metrics among the names, as in `WindowInput`. */
  readonly datastores: string | undefined;
}

/** What is read for an application besides its entry in the list, and what was read. */
export interface ApplicationData {
  /** The list of its datastore metrics; undefined where metric data bring them. */
  readonly datastoreList: Task | undefined;
  datastores: readonly string[] | undefined;
  readonly metrics: Task;
  reading: WindowReading | undefined;
  /** Reads its counters; undefined where they are off. */
  counterSeries: Task | undefined;
  /** The list of the metric names that its custom metrics may match; undefined without custom metrics. */
  customNameList: Task | undefined;
  customNames: readonly string[] | undefined;
  hostList: Task | undefined;
  hosts: ReadonlyMap<string, HostRecord>;
  /** What its metric data calls ask for, and those of its hosts; nothing when that may have changed. */
  selected: { application?: SelectedNames; host?: SelectedNames };
  instanceList: Task | undefined;
  instances: ReadonlyMap<number, InstanceRecord>;
  /**
   * The database kind that counts, and the datastore metrics that the answer could hold when it was decided. Undefined until
   * its metric data have been read and tell it.
   */
  database: { readonly choice: DatabaseChoice; readonly datastores: string } | undefined;
}

/** An application the account serves. */
export interface ApplicationRecord extends Listed {
  readonly application: Application;
  readonly settings: ReturnType<typeof effectiveSettings>;
  /** Undefined where they are off. */
  readonly counters: CounterRecord | undefined;
  /** Undefined while its metric data are not read: it does not report. */
  readonly data: ApplicationData | undefined;
}

/** What a list brings. */
export type ListRecord = ApplicationRecord | HostRecord | InstanceRecord | KeyTransactionRecord;

/** Everything that is read of something in a list, of an application with its hosts, at the end of `found`. */
export function tasksOf(record: ListRecord, found: Task[] = []): Task[] {
  add(record.rolling?.task, found);
  if ('metrics' in record) found.push(record.metrics);
  if (!('data' in record) || record.data === undefined) return found;
  const { datastoreList, customNameList, metrics, counterSeries, hostList, instanceList, hosts } = record.data;
  add(datastoreList, found);
  add(customNameList, found);
  found.push(metrics);
  add(counterSeries, found);
  add(hostList, found);
  add(instanceList, found);
  for (const host of hosts.values()) tasksOf(host, found);
  return found;
}

function add(task: Task | undefined, found: Task[]): void {
  if (task !== undefined) found.push(task);
}

/** The samples of a list entry; `isTooOld`: without the rolling values that are read apart. */
export function listedSamples(record: ListRecord, context: AccountContext, isTooOld: boolean): WrittenSamples {
  const values = record.rolling?.values;
  if (isTooOld && values !== undefined) return writeListed(record, context, undefined);
  return (record.samples ??= writeListed(record, context, values));
}

function writeListed(
  record: ListRecord,
  { writer, account }: AccountContext,
  values: RollingValues | undefined,
): WrittenSamples {
  if ('application' in record) {
    const samples = listedFamilySamples('applications', record.application, values, account.applications.tags);
    return writer.write('applications', samples);
  }
  if ('host' in record) return writer.write('hosts', listedFamilySamples('hosts', record.host, values));
  if ('instance' in record) return writer.write('instances', listedFamilySamples('instances', record.instance));
  return writer.write('key_transactions', listedFamilySamples('key_transactions', record.keyTransaction, values));
}

const NO_MATCHES = customMatches([], []);

/** Most applications ask for the same, over NerdGraph all without custom metrics: what is asked for is then one list. */
const BUILT_IN_NAMES = queryNames([]);

/** Of an application whose metric data are read no longer. */
export const NOTHING_SELECTED: SelectedNames = {
  names: [],
  values: usedValues,
  custom: NO_MATCHES,
  datastores: undefined,
};

/**
 * What to ask for about an application, or each of its hosts, whose caps its hosts share. Made once: who changes the lists of
 * names, the custom metrics, or the number of hosts sets `data.selected` to nothing.
 */
export function selectedNames(
  customMetrics: readonly CustomMetric[],
  data: ApplicationData,
  scope: FamilyScope,
): SelectedNames {
  return (data.selected[scope] ??= toSelected(customMetrics, data, scope));
}

function toSelected(
  customMetrics: readonly CustomMetric[],
  { customNames, datastores, hosts }: ApplicationData,
  scope: FamilyScope,
): SelectedNames {
  const ofScope = customMetrics.filter(({ definition }) => definition.scope === scope);
  const entities = scope === 'host' ? hosts.size : 1;
  const custom = customNames === undefined ? NO_MATCHES : customMatches(ofScope, customNames, entities);
  const customs = new Map<string, Set<string>>();
  for (const { metricName, metric } of custom.matches) {
    const values = customs.get(metricName) ?? new Set(usedValues(metricName));
    customs.set(metricName, values.add(metric.definition.value));
  }
  const builtIn = datastores === undefined || datastores.length === 0 ? BUILT_IN_NAMES : queryNames(datastores);
  const shared = { custom, datastores: datastores?.join() };
  if (customs.size === 0) return { ...shared, names: builtIn, values: usedValues };
  const values = new Map([...customs].map(([name, ofName]) => [name, [...ofName]]));
  const names = [...new Set([...builtIn, ...customs.keys()])];
  return { ...shared, names, values: (name) => values.get(name) ?? usedValues(name) };
}

/** Takes over what upstream answered of an application, or of one of its hosts, and calculates what is served of it. */
export function takeOverMetrics(
  record: ApplicationRecord,
  host: HostRecord | undefined,
  input: WindowInput,
  context: AccountContext,
): void {
  const { data } = record;
  if (data === undefined) return;
  if (host !== undefined) host.reading = calculate(input, data, host.rank, context);
  else if (decideDatabase(record, data, input)) recalculate(data, context, input);
  else data.reading = calculate(input, data, undefined, context);
}

/**
 * Calculates what is served of a reading, with the application's database kind and custom metrics of now.
 *
 * @param rank which of its application's hosts it is, from 0; undefined for the application itself
 */
function calculate(
  input: WindowInput,
  data: ApplicationData,
  rank: number | undefined,
  { customMetrics, writer }: AccountContext,
): WindowReading {
  const scope: FamilyScope = rank === undefined ? 'application' : 'host';
  const group = scope === 'application' ? 'application_metrics' : 'host_metrics';
  const { custom } = selectedNames(customMetrics, data, scope);
  return {
    values: input.values,
    datastores: input.datastores,
    samples: writer.write(group, windowSamples(scope, input.values, databaseOf(data, input.datastores))),
    customSamples: writer.write('custom_metrics', customSamples(custom.matches, input.values, rank)),
    cut: custom.cut,
  };
}

/** Calculates everything that is held of an application and its hosts anew. */
export function recalculate(
  data: ApplicationData,
  context: AccountContext,
  input: WindowInput | undefined = data.reading,
): void {
  if (input !== undefined) data.reading = calculate(input, data, undefined, context);
  for (const host of data.hosts.values()) {
    if (host.reading !== undefined) host.reading = calculate(host.reading, data, host.rank, context);
  }
}

/** The configuration, or what a list says of an application, may decide the database kind otherwise than before. */
export function reconsiderDatabase(record: ApplicationRecord, context: AccountContext): void {
  const { data } = record;
  if (data?.reading !== undefined && decideDatabase(record, data, data.reading)) recalculate(data, context);
}

/**
 * Decides the database kind by the application's newest data.
 *
 * @returns true when it is another than before: what is held has to be calculated anew
 */
function decideDatabase(
  { application, settings }: ApplicationRecord,
  data: ApplicationData,
  { values, datastores }: WindowInput,
): boolean {
  if (datastores === undefined) return false;
  const { database } = data;
  const choice = databaseKind(values, application.language, settings.database);
  // Undecided on this answer: what was decided on an earlier one still holds.
  if (choice === undefined) return false;
  if (choice === database?.choice && datastores === database.datastores) return false;
  data.database = { choice, datastores };
  return true;
}

/**
 * The database kind for a reading: only where it was decided on the same datastore metrics as the reading could hold, for
 * else a total time would be published of which a part is not taken off.
 */
function databaseOf({ database }: ApplicationData, datastores: string | undefined): DatabaseChoice | undefined {
  return database?.datastores === datastores ? database?.choice : undefined;
}
