import type { Application, Host, Instance, KeyTransaction, MetricData, RollingValues } from '../../api/types.ts';
import type { CustomMatches } from '../../metrics/customFamilies.ts';
import { NO_SAMPLES } from '../../metrics/writeSamples.ts';
import type { AccountContext } from '../inventory/context.ts';
import type { Entity } from '../inventory/entity.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { APPLICATION_LIST, HOST_LIST, KEY_TRANSACTION_LIST } from '../inventory/listSamples.ts';
import type { ApplicationData, ApplicationRecord, AskedDatastores } from '../inventory/records.ts';
import { calculate, decideDatabase, keepUsed, recalculate } from './calculate.ts';

type WithData = ApplicationRecord & { readonly data: ApplicationData };

/** A metric data answer, and what it was asked for. */
interface MetricDataArrival {
  readonly data: MetricData;
  readonly names: readonly string[];
  readonly datastores: AskedDatastores;
  readonly custom: CustomMatches;
}

/** Takes what upstream answered over into the inventory, and calculates what is served of it. */
export class Arrivals {
  readonly #context: Readonly<AccountContext>;
  readonly #inventory: Inventory;

  constructor(context: Readonly<AccountContext>, inventory: Inventory) {
    this.#context = context;
    this.#inventory = inventory;
  }

  prepareApplications(list: readonly Application[]): Promise<void> {
    return this.#inventory.prepareApplications(list);
  }

  applications(list: readonly Application[]): void {
    this.#inventory.setApplications(list);
    this.decideDatabases();
  }

  keyTransactions(list: readonly KeyTransaction[], otherOwners: readonly Application[]): void {
    this.#inventory.setKeyTransactions(list, otherOwners);
  }

  hosts(record: WithData, hosts: readonly Host[]): void {
    this.#inventory.setHosts(record, hosts);
  }

  instances(record: WithData, instances: readonly Instance[]): void {
    this.#inventory.setInstances(record, instances);
  }

  metricData(record: WithData, entity: Entity, { data, names, datastores, custom }: MetricDataArrival): void {
    const { customMetrics } = this.#context;
    const input = { values: keepUsed(data, names, custom), datastores };
    if (entity.kind === 'application_metrics') {
      record.data.reading = { ...input, samples: NO_SAMPLES, customSamples: NO_SAMPLES, cut: new Map() };
      if (decideDatabase(record, record.data)) recalculate(record.data, customMetrics);
      else record.data.reading = calculate(input, record.data, undefined, customMetrics);
      return;
    }
    const host = this.#inventory.hostOf(entity.subject);
    if (host === undefined) return;
    host.reading = calculate(input, record.data, host.place, customMetrics);
  }

  rolling({ kind, subject }: Entity, values: RollingValues): void {
    if (kind === 'key_transaction_rolling') {
      const record = this.#inventory.keyTransactionOf(subject);
      if (record === undefined) return;
      KEY_TRANSACTION_LIST.setRolling(record.keyTransaction, record.rolling, values);
      return;
    }
    if (kind === 'host_rolling') {
      const record = this.#inventory.hostOf(subject);
      if (record === undefined) return;
      HOST_LIST.setRolling(record.host, record.rolling, values);
      return;
    }
    const record = this.#inventory.dataOf(subject);
    if (record === undefined) return;
    APPLICATION_LIST.setRolling(record.application, record.rolling, values);
  }

  /** The configuration, or what a list says of an application, may decide the database kind otherwise than before. */
  decideDatabases(): void {
    for (const record of this.#inventory.applications.values()) {
      const { data } = record;
      if (data !== undefined && decideDatabase(record, data)) recalculate(data, this.#context.customMetrics);
    }
  }

  /** Calculates everything anew: the custom metrics are others. */
  recalculateAll(): void {
    for (const { data } of this.#inventory.applications.values()) {
      if (data !== undefined) recalculate(data, this.#context.customMetrics);
    }
  }
}
