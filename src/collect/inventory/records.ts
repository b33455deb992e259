import type { Application, Cut, Host, Instance, KeyTransaction, RollingValues } from '../../api/types.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import type { WindowValues } from '../../formulas/metricInputs.ts';
import { databaseKind, type DatabaseChoice } from '../../formulas/derivedValues.ts';
import { customSamples } from '../../metrics/customMetrics.ts';
import { type LISTED_FAMILIES, listedFamilySamples } from '../../metrics/listedFamilies.ts';
import type { FamilyScope } from '../../metrics/family.ts';
import { NO_SAMPLES, packSamples, type PackedSamples, type WrittenLabels } from '../../metrics/writeSamples.ts';
import { windowSamples } from '../../metrics/windowFamilies.ts';
import type { CounterLedger } from './counterLedger.ts';
import type { AccountContext } from './accountContext.ts';
import type { SelectionInput } from './selection.ts';
import type { Kind } from '../../reads/reads.ts';
import type { Task, Tasks } from './task.ts';

interface WindowInput {
  /** Only the values that the calculations and the custom metrics use. */
  readonly values: WindowValues;
  /** The requested datastore metrics; `all` if the response has all; undefined when the names were not known. */
  readonly datastores: string | undefined;
}

/** The metric data of an application or a host over one window, and the samples calculated from it. */
export interface WindowReading extends WindowInput {
  readonly samples: PackedSamples;
  readonly customSamples: PackedSamples;
  /** The series that `max_series` cuts, by family. A host has the numbers for all hosts of its application. */
  readonly cut: ReadonlyMap<string, number>;
}

export interface Listed<Entry> {
  readonly group: keyof typeof LISTED_FAMILIES;
  readonly entry: Entry;
  readonly labels: WrittenLabels;
  /** From the list and the rolling values; undefined until the next exposition. */
  samples: PackedSamples | undefined;
  /** The task of the rolling values; undefined where the list contains the values. */
  readonly rolling: Task | undefined;
  rollingValues: RollingValues | undefined;
}

export interface HostRecord extends Listed<Host> {
  readonly rank: number;
  readonly metrics: Task;
  reading: WindowReading | undefined;
}

export interface ApplicationData extends SelectionInput {
  tasks: Tasks;
  readonly samples: Partial<Record<Kind, PackedSamples>>;
  reading: WindowReading | undefined;
  /** The metric names that the exporter uses only in part, because New Relic has too many. */
  cut: Cut | undefined;
  hosts: ReadonlyMap<string, HostRecord>;
  instances: ReadonlyMap<number, Listed<Instance>>;
  /** The chosen database kind, and the datastore metrics at the choice; undefined before metric data allow a choice. */
  database: { readonly choice: DatabaseChoice; readonly datastores: string } | undefined;
}

export interface ApplicationRecord extends Listed<Application> {
  /** Which database metrics count, and whether the exporter reads the hosts. */
  readonly settings: { readonly database: Parameters<typeof databaseKind>[2]; readonly hosts: boolean };
  /** Undefined without the group `counters`. The ledger stays while the application does not report. */
  readonly counters: CounterLedger | undefined;
  /** Undefined while the application does not report, unless the configuration reads such applications. */
  readonly data: ApplicationData | undefined;
}

/** The record of an entry of any list. Hosts have `metrics`, applications have `data`. */
export type ListRecord = Listed<Partial<Application & Host & Instance & KeyTransaction>> &
  Partial<Pick<HostRecord, 'metrics'> & Pick<ApplicationRecord, 'data'>>;

/** Appends all tasks of a list entry, and of the hosts of an application, to `found`. */
export function tasksOf(record: ListRecord, found: Task[] = []): Task[] {
  if (record.rolling !== undefined) found.push(record.rolling);
  if (record.metrics !== undefined) found.push(record.metrics);
  if (record.data === undefined) return found;
  found.push(...Object.values(record.data.tasks));
  for (const host of record.data.hosts.values()) tasksOf(host, found);
  return found;
}

/** Returns the samples of a list entry. `isTooOld` leaves out rolling values that have a task. */
export function listedSamples(record: ListRecord, context: AccountContext, isTooOld: boolean): PackedSamples {
  const { group, entry, rollingValues } = record;
  const { tags } = context.account.applications;
  const pack = (values: RollingValues | undefined): PackedSamples =>
    packSamples(group, listedFamilySamples(group, entry, values, tags));
  return isTooOld && rollingValues !== undefined ? pack(undefined) : (record.samples ??= pack(rollingValues));
}

/**
 * Calculates the samples of one window.
 *
 * @param rank the rank of the host in its application, from 0; undefined for the application itself
 * @param before the last reading of the same application or host
 */
export function calculate(
  input: WindowInput,
  data: ApplicationData,
  rank: number | undefined,
  before: WindowReading | undefined,
  { selections }: AccountContext,
): WindowReading {
  const scope: FamilyScope = rank === undefined ? 'application' : 'host';
  const group = scope === 'application' ? 'application_metrics' : 'host_metrics';
  const { custom } = selections.select(data, scope);
  const { database } = data;
  // A choice by other datastore metrics than this response can have would make the total time too long.
  const choice = database?.datastores === input.datastores ? database?.choice : undefined;
  return {
    values: input.values,
    datastores: input.datastores,
    samples: packSamples(group, windowSamples(scope, input.values, choice), before?.samples),
    customSamples:
      custom.matches.length === 0
        ? NO_SAMPLES
        : packSamples('custom_metrics', customSamples(custom.matches, input.values, rank), before?.customSamples),
    cut: custom.cut,
  };
}

export function recalculate(
  data: ApplicationData,
  context: AccountContext,
  input: WindowInput | undefined = data.reading,
): void {
  if (input !== undefined) data.reading = calculate(input, data, undefined, data.reading, context);
  for (const host of data.hosts.values()) {
    const { reading, rank } = host;
    if (reading !== undefined) host.reading = calculate(reading, data, rank, reading, context);
  }
}

/** Chooses the database kind by the newest data. Returns true if the choice or its datastore metrics have changed. */
export function decideDatabase(
  { entry, settings }: ApplicationRecord,
  data: ApplicationData,
  { values, datastores }: WindowInput,
): boolean {
  if (datastores === undefined) return false;
  const { database } = data;
  const choice = databaseKind(values, entry.language, settings.database);
  // Without a choice from this response, the earlier choice stays.
  if (choice === undefined || (choice === database?.choice && datastores === database.datastores)) return false;
  data.database = { choice, datastores };
  return true;
}

/** The maximum of hosts or instances of an application. One step stores a list: a longer one would block other work. */
const MAX_PER_APPLICATION = 10_000;

const LONGEST_NAME_SHOWN = 120;

export function checkSize({ id, name }: Application, number: number, what: 'hosts' | 'instances'): void {
  if (number <= MAX_PER_APPLICATION) return;
  const setting = what === 'hosts' ? 'applications.settings: hosts: false' : 'instances: false';
  const about = `application ${id} (${JSON.stringify(name.slice(0, LONGEST_NAME_SHOWN))}) has ${number} ${what}`;
  const text = `${about}; the maximum is ${MAX_PER_APPLICATION}: turn them off (${setting})`;
  throw new UpstreamError(text, { reason: 'too_large' });
}
