import type { Application, Host, Instance, KeyTransaction } from '../api/types.ts';
import { databaseKind } from '../formulas/databaseKind.ts';
import { applicationLabels, hostLabels, instanceLabels, keyTransactionLabels } from '../metrics/labels.ts';
import { applicationSamples, hostSamples, instanceSamples, keyTransactionSamples } from '../metrics/samples.ts';
import type { Labels } from '../metrics/sample.ts';
import type { AccountContext } from './context.ts';
import { calculate, sameNames } from './reading.ts';
import {
  unitsOf,
  type ApplicationRecord,
  type HostRecord,
  type KeyTransactionRecord,
  type WindowReading,
} from './records.ts';
import { effectiveSettings, readsMetricData, selectKeyTransactions, selects } from './selection.ts';
import type { Unit } from './unit.ts';
import type { Units } from './units.ts';
import { customNamesWork, hostsWork, instancesWork, metricNamesWork, windowCalls } from './works.ts';

/**
 * What an account serves: its applications with their hosts, instances and key transactions, each with the units that
 * refresh it. The lists decide: what is gone from a list that was read whole is gone from here.
 */
export class Inventory {
  readonly #context: () => AccountContext;
  readonly #units: Units;
  #applications = new Map<number, ApplicationRecord>();
  #keyTransactions: readonly KeyTransactionRecord[] = [];
  /** The lists as upstream gave them: a reload or a rename selects and labels from them anew. */
  #applicationList: readonly Application[] | undefined;
  #keyTransactionList: readonly KeyTransaction[] = [];

  constructor(context: () => AccountContext, units: Units) {
    this.#context = context;
    this.#units = units;
  }

  /** By id, in the order of the list. */
  get applications(): ReadonlyMap<number, ApplicationRecord> {
    return this.#applications;
  }

  get keyTransactions(): readonly KeyTransactionRecord[] {
    return this.#keyTransactions;
  }

  /** The whole list as upstream gave it. */
  get keyTransactionList(): readonly KeyTransaction[] {
    return this.#keyTransactionList;
  }

  /** The whole list as upstream gave it; undefined until it has been read once. */
  get applicationList(): readonly Application[] | undefined {
    return this.#applicationList;
  }

  /** Takes over a new application list: keeps what it knows of those that stay, drops the others. */
  setApplications(list: readonly Application[]): void {
    this.#applicationList = list;
    const { account } = this.#context();
    const next = new Map<number, ApplicationRecord>();
    for (const application of list) {
      if (!selects(account.applications, application)) continue;
      next.set(application.id, this.#record(this.#applications.get(application.id), application));
    }
    for (const [id, record] of this.#applications) if (!next.has(id)) this.#units.retire(unitsOf(record));
    this.#applications = next;
    this.setKeyTransactions(this.#keyTransactionList);
  }

  /** Takes over a new key transaction list. */
  setKeyTransactions(list: readonly KeyTransaction[]): void {
    this.#keyTransactionList = list;
    const { account } = this.#context();
    const known = new Map(this.#keyTransactions.map((record) => [record.keyTransaction.id, record]));
    const served = selectKeyTransactions(account, list, (id) => this.#applications.has(id));
    const names = new Map(this.#applicationList?.map(({ id, name }) => [id, name]));
    this.#keyTransactions = served.map((keyTransaction) => {
      const before = known.get(keyTransaction.id);
      const owner = keyTransaction.applicationId === undefined ? undefined : names.get(keyTransaction.applicationId);
      const labels = keyTransactionLabels(account.name, account.labels, owner, keyTransaction);
      return {
        keyTransaction,
        labels: sameLabels(before?.labels, labels),
        samples: before?.keyTransaction === keyTransaction ? before.samples : keyTransactionSamples(keyTransaction),
      };
    });
  }

  /** Selects, labels and, where the custom metrics are others, calculates everything anew: the configuration changed. */
  reconfigure(customMetricsChanged: boolean): void {
    if (this.#applicationList !== undefined) this.setApplications(this.#applicationList);
    else this.setKeyTransactions(this.#keyTransactionList);
    if (!customMetricsChanged) return;
    for (const record of this.#applications.values()) {
      if (record.units?.customNames !== undefined) record.units.customNames.overdue = true;
      this.#recalculate(record);
    }
  }

  #record(before: ApplicationRecord | undefined, application: Application): ApplicationRecord {
    const { account } = this.#context();
    const settings = effectiveSettings(account, application);
    const labels = sameLabels(before?.labels, applicationLabels(account.name, account.labels, application));
    const samples = before?.application === application ? before.samples : applicationSamples(application);
    const record: ApplicationRecord = before ?? {
      application,
      settings,
      labels,
      samples,
      units: undefined,
      hosts: new Map(),
      instances: [],
      database: undefined,
    };
    const relabelled = record.labels !== labels;
    const databaseChanged = record.settings.database !== settings.database;
    Object.assign(record, { application, settings, labels, samples });
    this.#setUnits(record);
    if (relabelled) this.#relabel(record);
    if (databaseChanged) this.#decideDatabase(record);
    return record;
  }

  /** Gives the record the units its state and the configuration ask for; those that exist already stay. */
  #setUnits(record: ApplicationRecord): void {
    const { account, customMetrics } = this.#context();
    if (!readsMetricData(account, record.application)) {
      this.#units.retire(unitsOf(record));
      Object.assign(record, { units: undefined, hosts: new Map(), instances: [], database: undefined });
      return;
    }
    const before = record.units;
    const subject = { applicationId: record.application.id };
    record.units = {
      names:
        before?.names ??
        this.#units.make('metric_names', subject, metricNamesWork(this.#context, record), () =>
          this.#learnCalls(record),
        ),
      metrics:
        before?.metrics ??
        this.#units.makeWindow('application_metrics', subject, record, () => this.#decideDatabase(record)),
      customNames: this.#units.keep(customMetrics.length > 0, before?.customNames, () =>
        this.#units.make('custom_metrics', subject, customNamesWork(this.#context, record), () =>
          this.#learnCalls(record),
        ),
      ),
      hosts: this.#units.keep(record.settings.hosts, before?.hosts, () =>
        this.#units.make('hosts', subject, hostsWork(this.#context, record), ({ value }) =>
          this.#setHosts(record, value),
        ),
      ),
      instances: this.#units.keep(account.instances, before?.instances, () =>
        this.#units.make('instances', subject, instancesWork(this.#context, record), ({ value }) =>
          this.#setInstances(record, value),
        ),
      ),
    };
    if (record.units.hosts === undefined) this.#setHosts(record, []);
    if (record.units.instances === undefined) record.instances = [];
  }

  #setHosts(record: ApplicationRecord, hosts: readonly Host[]): void {
    const { account } = this.#context();
    const next = new Map<string, HostRecord>();
    for (const host of hosts) {
      const before = record.hosts.get(host.key);
      const subject = { applicationId: record.application.id, hostKey: host.key };
      const labels = hostLabels(account.name, account.labels, record.application, host);
      next.set(host.key, {
        host,
        labels: sameLabels(before?.labels, labels),
        samples: before?.host === host ? before.samples : hostSamples(host),
        metrics: before?.metrics ?? this.#units.makeWindow('host_metrics', subject, record, () => undefined),
      });
    }
    for (const [id, { metrics }] of record.hosts)
      if (!next.has(id) && metrics !== undefined) this.#units.retire([metrics]);
    record.hosts = next;
    this.#learnCalls(record);
  }

  /** The names to ask for decide how many calls metric data takes: known before the first of it is read. */
  #learnCalls(record: ApplicationRecord): void {
    if (record.units === undefined) return;
    const context = this.#context();
    this.#units.learn(record.units.metrics, windowCalls(context, record, 'application'));
    const ofHost = windowCalls(context, record, 'host');
    for (const { metrics } of record.hosts.values()) if (metrics !== undefined) this.#units.learn(metrics, ofHost);
    if (record.units.customNames === undefined) return;
    this.#units.learn(record.units.customNames, new Set(context.customMetrics.map(({ filter }) => filter)).size);
  }

  #setInstances(record: ApplicationRecord, instances: readonly Instance[]): void {
    const { account } = this.#context();
    const known = new Map(record.instances.map((before) => [before.instance.id, before]));
    record.instances = instances.map((instance) => {
      const before = known.get(instance.id);
      const labels = instanceLabels(account.name, account.labels, record.application, instance);
      return {
        instance,
        labels: sameLabels(before?.labels, labels),
        samples: before?.instance === instance ? before.samples : instanceSamples(instance),
      };
    });
  }

  #relabel(record: ApplicationRecord): void {
    this.#setHosts(
      record,
      [...record.hosts.values()].map(({ host }) => host),
    );
    this.#setInstances(
      record,
      record.instances.map(({ instance }) => instance),
    );
  }

  /** The database kind follows the application's newest data; when it changes, what is held is calculated anew. */
  #decideDatabase(record: ApplicationRecord): void {
    const { units, application, settings, database } = record;
    const reading = units?.metrics.held?.value;
    if (reading?.datastores === undefined) return;
    const { values, datastores } = reading;
    const choice = databaseKind(values, application.language, settings.database);
    // Undecided on this answer: what was decided on an earlier one still holds.
    if (choice === undefined) return;
    if (choice === database?.choice && sameNames(datastores, database.datastores)) return;
    record.database = { choice, datastores };
    this.#recalculate(record);
  }

  /** Calculates what is served of an application and its hosts anew from what is held. */
  #recalculate(record: ApplicationRecord): void {
    const { customMetrics } = this.#context();
    const again = (unit: Unit<WindowReading> | undefined, hostKey: string | undefined): void => {
      if (unit?.held === undefined) return;
      unit.held = { ...unit.held, value: calculate(hostKey, unit.held.value, record, customMetrics) };
    };
    again(record.units?.metrics, undefined);
    for (const [key, { metrics }] of record.hosts) again(metrics, key);
  }
}

/** The object from before where nothing changed, so that rendered text can be kept. */
function sameLabels(before: Labels | undefined, labels: Labels): Labels {
  if (before === undefined) return labels;
  const names = Object.keys(labels);
  const same = names.length === Object.keys(before).length && names.every((name) => before[name] === labels[name]);
  return same ? before : labels;
}
