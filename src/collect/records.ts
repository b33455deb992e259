import type { Application, Host, Instance, KeyTransaction } from '../api/types.ts';
import type { DatabaseChoice } from '../formulas/databaseKind.ts';
import type { WindowValues } from '../formulas/inputs.ts';
import type { Labels, Sample } from '../metrics/sample.ts';
import type { EffectiveSettings } from './selection.ts';
import type { Unit } from './unit.ts';

/** What upstream answered about an application or a host over one window. */
export interface WindowInput {
  /** Only what the calculations and the custom metrics read. */
  readonly values: WindowValues;
  /** The datastore metrics that were asked for; undefined while nobody knew which there are. */
  readonly datastores: readonly string[] | undefined;
  /** How many calls it took. */
  readonly calls: number;
}

/** One window's metric data of an application or a host, and what was calculated from it. */
export interface WindowReading extends WindowInput {
  readonly samples: readonly Sample[];
  readonly customSamples: readonly Sample[];
  /** Series of custom metrics that a cap left out, by family; a host's are those of all hosts of its application. */
  readonly cut: ReadonlyMap<string, number>;
}

/** Something with samples of its own, and the labels they carry. */
export interface Labelled {
  readonly labels: Labels;
  readonly samples: readonly Sample[];
}

export interface HostRecord extends Labelled {
  readonly host: Host;
  /** Undefined while the metric data of its application is not read. */
  readonly metrics: Unit<WindowReading> | undefined;
}

export interface InstanceRecord extends Labelled {
  readonly instance: Instance;
}

export interface KeyTransactionRecord extends Labelled {
  readonly keyTransaction: KeyTransaction;
}

/** What is read for an application besides its entry in the list. */
export interface ApplicationUnits {
  /** The names of its datastore metrics. */
  readonly names: Unit<readonly string[]>;
  readonly metrics: Unit<WindowReading>;
  /** The metric names that any of its custom metrics match. */
  readonly customNames: Unit<readonly string[]> | undefined;
  readonly hosts: Unit<readonly Host[]> | undefined;
  readonly instances: Unit<readonly Instance[]> | undefined;
}

/** The database kind that counts, and the datastore metrics that were asked for when it was decided. */
export interface DatabaseDecision {
  readonly choice: DatabaseChoice;
  readonly datastores: readonly string[];
}

/** An application the account serves. */
export interface ApplicationRecord extends Labelled {
  application: Application;
  settings: EffectiveSettings;
  labels: Labels;
  samples: readonly Sample[];
  /** Undefined while its metric data is not read: it does not report. */
  units: ApplicationUnits | undefined;
  hosts: ReadonlyMap<string, HostRecord>;
  instances: readonly InstanceRecord[];
  /** Undefined until its metric names and its metric data have been read. */
  database: DatabaseDecision | undefined;
}

/** All units of an application, its hosts' included; none of one that is not served. */
export function unitsOf(record: ApplicationRecord | undefined): Unit[] {
  if (record === undefined) return [];
  const { units } = record;
  const own = units === undefined ? [] : [units.names, units.metrics, units.customNames, units.hosts, units.instances];
  const ofHosts = [...record.hosts.values()].map(({ metrics }) => metrics);
  return [...own, ...ofHosts].filter((unit) => unit !== undefined);
}
