import type { Application, Host, Instance, KeyTransaction, RollingValues } from '../api/types.ts';
import type { DatabaseChoice } from '../formulas/responseTimes.ts';
import type { WindowValues } from '../formulas/metricInputs.ts';
import type { WrittenLabels, WrittenSamples } from '../metrics/sample.ts';
import { applicationSamples, hostSamples, keyTransactionSamples } from '../metrics/entityFamilies.ts';
import type { SampleWriter } from '../metrics/writeSamples.ts';
import type { CustomMatches, CustomMetric } from '../metrics/customMetrics.ts';
import type { Entity } from './entity.ts';
import type { EffectiveSettings } from './selection.ts';

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

export interface InstanceRecord {
  readonly instance: Instance;
  readonly labels: WrittenLabels;
  readonly samples: WrittenSamples;
}

export interface KeyTransactionRecord extends Listed {
  keyTransaction: KeyTransaction;
}

/** What a metric data call asks for about an application, or about each of its hosts. */
export interface Wanted {
  /** Every metric name, each once. */
  readonly names: readonly string[];
  /** The values of a metric that the calculations or the custom metrics read. */
  readonly values: (metricName: string) => readonly string[];
  readonly custom: CustomMatches;
  /** The datastore metrics among the names; undefined while nobody knows which there are. */
  readonly datastores: readonly string[] | undefined;
  /** What it was made of, besides the lists of names. */
  readonly madeOf: { readonly customMetrics: readonly CustomMetric[]; readonly entities: number };
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
  wanted: { application?: Wanted; host?: Wanted };
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
): WrittenSamples => writer.write('applications', applicationSamples(application, values, tags));

/** As `writeApplication`, of a host. */
export const writeHost = (writer: SampleWriter, host: Host, values?: RollingValues): WrittenSamples =>
  writer.write('hosts', hostSamples(host, values));

/** As `writeApplication`, of a key transaction. */
export const writeKeyTransaction = (
  writer: SampleWriter,
  keyTransaction: KeyTransaction,
  values?: RollingValues,
): WrittenSamples => writer.write('key_transactions', keyTransactionSamples(keyTransaction, values));
