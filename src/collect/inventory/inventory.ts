import type { Application, Host, Instance, KeyTransaction } from '../../api/types.ts';
import { inTurns } from '../../api/turns.ts';
import { hostPlaces } from '../../metrics/customFamilies.ts';
import { writeLabels } from '../../metrics/labelText.ts';
import { applicationLabels, hostLabels, instanceLabels, keyTransactionLabels } from '../../metrics/labels.ts';
import { applicationSamples, hostSamples, instanceSamples, keyTransactionSamples } from '../../metrics/samples.ts';
import type { WrittenSamples } from '../../metrics/sample.ts';
import { NO_SAMPLES, writeSamples } from '../../metrics/writeSamples.ts';
import type { AccountContext } from './context.ts';
import { Entity, type Kind, type Subject } from './entity.ts';
import {
  entitiesOf,
  entitiesOfHost,
  type ApplicationData,
  type ApplicationRecord,
  type HostRecord,
  type KeyTransactionRecord,
  type Rolling,
} from './records.ts';
import { effectiveSettings, readsMetricData, selectKeyTransactions, selects } from './selection.ts';

/** So many entries of a list are prepared before other work gets its turn. */
const ENTRIES_PER_TURN = 200;

/**
 * What an account serves: its applications with their hosts, instances and key transactions, each with the entities that
 * are read for it. The lists decide: what is gone from a list that was read whole is gone from here.
 */
export class Inventory {
  /** The application list and the key transaction list. */
  readonly applicationList: Entity;
  readonly keyTransactionList: Entity;
  readonly #context: Readonly<AccountContext>;
  readonly #now: () => number;
  readonly #retired: (entity: Entity) => void;
  #applications = new Map<number, ApplicationRecord>();
  #keyTransactions: ReadonlyMap<number, KeyTransactionRecord> = new Map();
  /** The lists as upstream gave them: a reload or a rename selects and labels from them anew. */
  #listedApplications: readonly Application[] | undefined;
  #listedKeyTransactions: readonly KeyTransaction[] | undefined;
  /** Samples of list entries that were written before their list is taken over. */
  readonly #prepared = new WeakMap<Application, WrittenSamples>();
  #version = 0;

  /**
   * @param now the monotonic clock, milliseconds
   * @param retired told of every entity that leaves
   */
  constructor(context: Readonly<AccountContext>, now: () => number, retired: (entity: Entity) => void) {
    this.#context = context;
    this.#now = now;
    this.#retired = retired;
    this.applicationList = this.#make('applications', {});
    this.keyTransactionList = this.#make('key_transactions', {});
  }

  /** By id, in the order of the list. */
  get applications(): ReadonlyMap<number, ApplicationRecord> {
    return this.#applications;
  }

  /** By id, in the order of the list. */
  get keyTransactions(): ReadonlyMap<number, KeyTransactionRecord> {
    return this.#keyTransactions;
  }

  /** The whole list as upstream gave it; undefined until it has been read once. */
  get listedApplications(): readonly Application[] | undefined {
    return this.#listedApplications;
  }

  get listedKeyTransactions(): readonly KeyTransaction[] | undefined {
    return this.#listedKeyTransactions;
  }

  /** Grows whenever an entity comes or goes. */
  get version(): number {
    return this.#version;
  }

  /** Everything that is read, or what matters to one application: lists first. */
  entities(applicationId?: number): readonly Entity[] {
    const found = [this.applicationList];
    if (this.#context.account.key_transactions !== false) found.push(this.keyTransactionList);
    for (const record of this.#keyTransactions.values()) {
      if (record.rolling !== undefined && concerns(record, applicationId)) found.push(record.rolling.entity);
    }
    if (applicationId !== undefined) return [...found, ...this.entitiesOfApplication({ applicationId })];
    for (const record of this.#applications.values()) entitiesOf(record, found);
    return found;
  }

  /** Everything that is read of the application that a subject belongs to. */
  entitiesOfApplication({ applicationId }: Subject): readonly Entity[] {
    const record = applicationId === undefined ? undefined : this.#applications.get(applicationId);
    return record === undefined ? [] : entitiesOf(record);
  }

  /** The record of an application whose metric data is read; undefined when there is none such any more. */
  dataOf({ applicationId }: Subject): (ApplicationRecord & { data: ApplicationData }) | undefined {
    const record = applicationId === undefined ? undefined : this.#applications.get(applicationId);
    return record !== undefined && hasData(record) ? record : undefined;
  }

  hostOf(subject: Subject): HostRecord | undefined {
    const { hostKey } = subject;
    return hostKey === undefined ? undefined : this.dataOf(subject)?.data.hosts.get(hostKey);
  }

  keyTransactionOf({ keyTransactionId }: Subject): KeyTransactionRecord | undefined {
    return keyTransactionId === undefined ? undefined : this.#keyTransactions.get(keyTransactionId);
  }

  /** The list that says whether what an entity is about exists; undefined for a list of the account. */
  listOf({ kind, subject }: Entity): Entity | undefined {
    if (kind === 'applications' || kind === 'key_transactions') return undefined;
    if (kind === 'key_transaction_rolling') return this.keyTransactionList;
    return subject.hostKey === undefined ? this.applicationList : this.dataOf(subject)?.data.hostList;
  }

  /**
   * Writes the samples of an application list in portions between which other work goes on: to take over a list of
   * thousands is then one short step.
   */
  async prepareApplications(list: readonly Application[]): Promise<void> {
    const { applications } = this.#context.account;
    const served = list.filter((application) => selects(applications, application));
    await inTurns(served, ENTRIES_PER_TURN, (application) => {
      this.#prepared.set(application, samplesOf(application));
    });
  }

  /** Takes over a new application list: keeps what is known of those that stay, drops the others. */
  setApplications(list: readonly Application[]): void {
    this.#listedApplications = list;
    const { account } = this.#context;
    const next = new Map<number, ApplicationRecord>();
    for (const application of list) {
      if (!selects(account.applications, application)) continue;
      next.set(application.id, this.#record(this.#applications.get(application.id), application));
    }
    for (const [id, record] of this.#applications) if (!next.has(id)) this.#retire(entitiesOf(record));
    this.#applications = next;
    if (this.#listedKeyTransactions !== undefined) this.setKeyTransactions(this.#listedKeyTransactions);
  }

  /** Takes over a new key transaction list. */
  setKeyTransactions(list: readonly KeyTransaction[]): void {
    this.#listedKeyTransactions = list;
    const { account, reader } = this.#context;
    const before = this.#keyTransactions;
    const served = selectKeyTransactions(account, list, (id) => this.#applications.has(id));
    const names = new Map(this.#listedApplications?.map(({ id, name }) => [id, name]));
    const next = new Map<number, KeyTransactionRecord>();
    for (const keyTransaction of served) {
      const known = before.get(keyTransaction.id);
      const { id, applicationId } = keyTransaction;
      const owner = applicationId === undefined ? undefined : names.get(applicationId);
      const labels = keyTransactionLabels(account.name, account.labels, owner, keyTransaction);
      const subject = { keyTransactionId: id, ...(applicationId === undefined ? {} : { applicationId }) };
      // One that does not report is read too: while its application reports, silence means no requests.
      const rolls = reader.rolling !== undefined;
      const unchanged = known?.keyTransaction === keyTransaction;
      const record: KeyTransactionRecord = {
        keyTransaction,
        labels: writeLabels(labels, known?.labels),
        samples: unchanged ? known.samples : writeSamples('key_transactions', keyTransactionSamples(keyTransaction)),
        rolling: this.#rolling(rolls, known?.rolling, 'key_transaction_rolling', subject),
      };
      if (!unchanged && record.rolling?.values !== undefined) {
        record.rolling.samples = writeSamples(
          'key_transactions',
          keyTransactionSamples(keyTransaction, record.rolling.values),
        );
      }
      next.set(id, record);
    }
    for (const [id, { rolling }] of before) if (!next.has(id) && rolling !== undefined) this.#retire([rolling.entity]);
    this.#keyTransactions = next;
  }

  setHosts({ application, data }: ApplicationRecord, hosts: readonly Host[]): void {
    if (data === undefined) return;
    const { account, reader } = this.#context;
    const next = new Map<string, HostRecord>();
    const places = hostPlaces(hosts.map(({ key }) => key));
    for (const host of hosts) {
      const before = data.hosts.get(host.key);
      const subject = { applicationId: application.id, hostKey: host.key };
      const labels = hostLabels(account.name, account.labels, application, host);
      const unchanged = before?.host === host;
      const rolling = this.#rolling(reader.rolling !== undefined, before?.rolling, 'host_rolling', subject);
      if (!unchanged && rolling?.values !== undefined) {
        rolling.samples = writeSamples('hosts', hostSamples(host, rolling.values));
      }
      next.set(host.key, {
        host,
        labels: writeLabels(labels, before?.labels),
        samples: unchanged ? before.samples : writeSamples('hosts', hostSamples(host)),
        rolling,
        place: places.get(host.key) ?? 0,
        metrics: before?.metrics ?? this.#make('host_metrics', subject),
        reading: before?.reading,
      });
    }
    for (const [key, record] of data.hosts) if (!next.has(key)) this.#retire(entitiesOfHost(record));
    data.hosts = next;
  }

  setInstances({ application, data }: ApplicationRecord, instances: readonly Instance[]): void {
    if (data === undefined) return;
    const { account } = this.#context;
    const known = new Map(data.instances.map((before) => [before.instance.id, before]));
    // A list that changes between two of its pages has an instance twice.
    const byId = new Map(instances.map((instance) => [instance.id, instance]));
    data.instances = Array.from(byId.values(), (instance) => {
      const before = known.get(instance.id);
      const labels = instanceLabels(account.name, account.labels, application, instance);
      return {
        instance,
        labels: writeLabels(labels, before?.labels),
        samples: before?.instance === instance ? before.samples : writeSamples('instances', instanceSamples(instance)),
      };
    });
  }

  /** Selects and labels everything anew: the configuration has changed. */
  reconfigure(): void {
    if (this.#listedApplications !== undefined) this.setApplications(this.#listedApplications);
    else if (this.#listedKeyTransactions !== undefined) this.setKeyTransactions(this.#listedKeyTransactions);
    if (this.#context.account.key_transactions === false) this.setKeyTransactions([]);
  }

  #record(before: ApplicationRecord | undefined, application: Application): ApplicationRecord {
    const { account, reader } = this.#context;
    const labels = writeLabels(applicationLabels(account.name, account.labels, application), before?.labels);
    const unchanged = before?.application === application;
    const record: ApplicationRecord = before ?? {
      application,
      settings: effectiveSettings(account, application),
      labels,
      samples: NO_SAMPLES,
      rolling: undefined,
      data: undefined,
    };
    const relabelled = record.labels !== labels;
    record.application = application;
    record.settings = effectiveSettings(account, application);
    record.labels = labels;
    if (!unchanged) record.samples = this.#prepared.get(application) ?? samplesOf(application);
    this.#setData(record);
    const rolls = record.data !== undefined && reader.rolling !== undefined;
    const subject = { applicationId: application.id };
    record.rolling = this.#rolling(rolls, record.rolling, 'application_rolling', subject);
    if (!unchanged && record.rolling?.values !== undefined) {
      record.rolling.samples = writeSamples('applications', applicationSamples(application, record.rolling.values));
    }
    if (relabelled && record.data !== undefined) {
      this.setHosts(
        record,
        [...record.data.hosts.values()].map(({ host }) => host),
      );
      this.setInstances(
        record,
        record.data.instances.map(({ instance }) => instance),
      );
    }
    return record;
  }

  /** Gives the record the entities that its state and the configuration ask for; those that exist already stay. */
  #setData(record: ApplicationRecord): void {
    const { account, customMetrics, reader } = this.#context;
    if (!readsMetricData(account, record.application)) {
      this.#retire(entitiesOf(record));
      record.data = undefined;
      record.rolling = undefined;
      return;
    }
    const subject = { applicationId: record.application.id };
    record.data ??= {
      datastoreList: reader.datastores === undefined ? undefined : this.#make('metric_names', subject),
      datastores: undefined,
      metrics: this.#make('application_metrics', subject),
      reading: undefined,
      customNameList: undefined,
      customNames: undefined,
      hostList: undefined,
      hosts: new Map(),
      instanceList: undefined,
      instances: [],
      database: undefined,
    };
    const { data } = record;
    data.customNameList = this.#keep(customMetrics.length > 0, data.customNameList, 'custom_names', subject);
    data.hostList = this.#keep(record.settings.hosts, data.hostList, 'hosts', subject);
    const instances = account.instances && reader.instances !== undefined;
    data.instanceList = this.#keep(instances, data.instanceList, 'instances', subject);
    if (data.customNameList === undefined) data.customNames = undefined;
    if (data.hostList === undefined) this.setHosts(record, []);
    if (data.instanceList === undefined) data.instances = [];
  }

  #rolling(wanted: boolean, before: Rolling | undefined, kind: Kind, subject: Subject): Rolling | undefined {
    const entity = this.#keep(wanted, before?.entity, kind, subject);
    if (entity === undefined) return undefined;
    return before ?? { entity, values: undefined, samples: undefined };
  }

  #make(kind: Kind, subject: Subject): Entity {
    this.#version += 1;
    return new Entity(kind, subject, this.#now());
  }

  /** The entity there is, or a new one, while it is wanted; else none. */
  #keep(wanted: boolean, before: Entity | undefined, kind: Kind, subject: Subject): Entity | undefined {
    if (wanted) return before ?? this.#make(kind, subject);
    if (before !== undefined) this.#retire([before]);
    return undefined;
  }

  /** What these entities still bring is dropped. */
  #retire(entities: readonly Entity[]): void {
    for (const entity of entities) {
      this.#version += 1;
      entity.retire();
      this.#retired(entity);
    }
  }
}

/** True for key transactions of that application; without one, for all. */
export function concerns({ keyTransaction }: KeyTransactionRecord, applicationId: number | undefined): boolean {
  return applicationId === undefined || keyTransaction.applicationId === applicationId;
}

function samplesOf(application: Application): WrittenSamples {
  return writeSamples('applications', applicationSamples(application));
}

function hasData(record: ApplicationRecord): record is ApplicationRecord & { data: ApplicationData } {
  return record.data !== undefined;
}
