import type { Application, Host, Instance, KeyTransaction, RollingValues } from '../api/types.ts';
import type { DatabaseChoice } from '../formulas/responseTimes.ts';
import type { WindowValues } from '../formulas/metricInputs.ts';
import type { WrittenLabels, WrittenSamples, Group, Sample } from '../metrics/sample.ts';
import type { Entity } from './entity.ts';
import type { EffectiveSettings } from './selection.ts';
import { applicationSamples, hostSamples, instanceSamples, keyTransactionSamples } from '../metrics/entityFamilies.ts';
import { writeSamples } from '../metrics/writeSamples.ts';

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
export interface Listed {
  labels: WrittenLabels;
  /** Made of what the list says. */
  samples: WrittenSamples;
  /** Undefined where the list brings the rolling values, too. */
  rolling: Rolling | undefined;
}

/** Rolling values that are read apart from the list. */
export interface Rolling {
  readonly entity: Entity;
  values: RollingValues | undefined;
  /** Made of the list entry and the rolling values together; undefined until they have been read. */
  samples: WrittenSamples | undefined;
}

export interface HostRecord extends Listed {
  host: Host;
  /** Which of its application's hosts it is, from 0, where they share the cap of a custom metric. */
  readonly place: number;
  readonly metrics: Entity;
  reading: WindowReading | undefined;
}

interface InstanceRecord {
  readonly instance: Instance;
  readonly labels: WrittenLabels;
  readonly samples: WrittenSamples;
}

export interface KeyTransactionRecord extends Listed {
  keyTransaction: KeyTransaction;
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
  instanceList: Entity | undefined;
  instances: readonly InstanceRecord[];
  /** Undefined until its metric data have been read and tell it. */
  database: DatabaseDecision | undefined;
}

/** An application the account serves. */
export interface ApplicationRecord extends Listed {
  application: Application;
  settings: EffectiveSettings;
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

/** How the entries of one kind of list are written as samples: alone, and together with their rolling values. */
class ListSamples<Entry> {
  readonly #group: Group;
  readonly #samplesOf: (entry: Entry, rolling?: RollingValues) => readonly Sample[];

  /** @param samplesOf the samples of an entry alone, or of the entry and its rolling values together */
  constructor(group: Group, samplesOf: (entry: Entry, rolling?: RollingValues) => readonly Sample[]) {
    this.#group = group;
    this.#samplesOf = samplesOf;
  }

  /** Writes what the list says of an entry. */
  write(entry: Entry): WrittenSamples {
    return writeSamples(this.#group, this.#samplesOf(entry));
  }

  /** Takes over rolling values that were read apart from the list; nothing where none are read. */
  setRolling(entry: Entry, rolling: Rolling | undefined, values: RollingValues): void {
    if (rolling === undefined) return;
    rolling.values = values;
    this.writeRolling(entry, rolling);
  }

  /** Writes the entry and its rolling values together, where those are read apart and have been read. */
  writeRolling(entry: Entry, rolling: Rolling | undefined): void {
    if (rolling?.values !== undefined) rolling.samples = this.writeWith(entry, rolling.values);
  }

  /** Writes an entry together with rolling values. */
  writeWith(entry: Entry, rolling: RollingValues): WrittenSamples {
    return writeSamples(this.#group, this.#samplesOf(entry, rolling));
  }
}

export const APPLICATION_LIST = new ListSamples<Application>('applications', applicationSamples);
export const KEY_TRANSACTION_LIST = new ListSamples<KeyTransaction>('key_transactions', keyTransactionSamples);
export const HOST_LIST = new ListSamples<Host>('hosts', hostSamples);
export const INSTANCE_LIST = new ListSamples<Instance>('instances', instanceSamples);
