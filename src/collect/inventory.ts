import { Entity, type Kind, type Subject } from './entity.ts';
import {
  type Rolling,
  HOST_LIST,
  INSTANCE_LIST,
  entitiesOfHost,
  type ApplicationRecord,
  type HostRecord,
  APPLICATION_LIST,
  entitiesOf,
  KEY_TRANSACTION_LIST,
  type KeyTransactionRecord,
  type ApplicationData,
} from './records.ts';
import type { Host, Instance, Application, RollingValues, KeyTransaction } from '../api/types.ts';
import { hostPlaces } from '../metrics/customMetrics.ts';
import { writeLabels, NO_SAMPLES } from '../metrics/writeSamples.ts';
import { hostLabels, instanceLabels, applicationLabels, keyTransactionLabels } from '../metrics/labelNames.ts';
import type { AccountContext } from './scope.ts';
import { inTurns } from '../eventLoop/turns.ts';
import type { WrittenSamples } from '../metrics/sample.ts';
import { effectiveSettings, readsMetricData, selects, selectKeyTransactions } from './selection.ts';

/** Makes the entities of an inventory and lets them go; counts how often either happens. */
class Entities {
  readonly #now: () => number;
  readonly #retired: (entity: Entity) => void;
  #version = 0;

  /**
   * @param now the monotonic clock, milliseconds
   * @param retired told of every entity that leaves
   */
  constructor(now: () => number, retired: (entity: Entity) => void) {
    this.#now = now;
    this.#retired = retired;
  }

  /** Grows whenever an entity comes or goes. */
  get version(): number {
    return this.#version;
  }

  make(kind: Kind, subject: Subject): Entity {
    this.#version += 1;
    return new Entity(kind, subject, this.#now());
  }

  /** The entity there is, or a new one, while it is wanted; else none. */
  keep(wanted: boolean, before: Entity | undefined, kind: Kind, subject: Subject): Entity | undefined {
    if (wanted) return before ?? this.make(kind, subject);
    if (before !== undefined) this.retire([before]);
    return undefined;
  }

  /** As `keep`, for rolling values that are read apart from their list. */
  keepRolling(wanted: boolean, before: Rolling | undefined, kind: Kind, subject: Subject): Rolling | undefined {
    const entity = this.keep(wanted, before?.entity, kind, subject);
    if (entity === undefined) return undefined;
    return before ?? { entity, values: undefined, samples: undefined };
  }

  /** What these entities still bring is dropped. */
  retire(entities: readonly Entity[]): void {
    for (const entity of entities) {
      this.#version += 1;
      entity.retire();
      this.#retired(entity);
    }
  }
}

/** Builds the records of the hosts and instances of applications, and keeps what is known of those that stay. */
class HostRecords {
  readonly #context: Readonly<AccountContext>;
  readonly #entities: Entities;

  constructor(context: Readonly<AccountContext>, entities: Entities) {
    this.#context = context;
    this.#entities = entities;
  }

  /** Takes over the hosts of an application; nothing when its metric data are not read. */
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
      const rolls = reader.rolling !== undefined;
      const rolling = this.#entities.keepRolling(rolls, before?.rolling, 'host_rolling', subject);
      if (!unchanged) HOST_LIST.writeRolling(host, rolling);
      next.set(host.key, {
        host,
        labels: writeLabels(labels, before?.labels),
        samples: unchanged ? before.samples : HOST_LIST.write(host),
        rolling,
        place: places.get(host.key) ?? 0,
        metrics: before?.metrics ?? this.#entities.make('host_metrics', subject),
        reading: before?.reading,
      });
    }
    for (const [key, record] of data.hosts) if (!next.has(key)) this.#entities.retire(entitiesOfHost(record));
    data.hosts = next;
  }

  /** As `setHosts`, for the instances of an application. */
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
        samples: before?.instance === instance ? before.samples : INSTANCE_LIST.write(instance),
      };
    });
  }

  /** Labels hosts and instances anew: their application has other labels. */
  relabel(record: ApplicationRecord): void {
    const { data } = record;
    if (data === undefined) return;
    const hosts = Array.from(data.hosts.values(), ({ host }) => host);
    this.setHosts(record, hosts);
    const instances = data.instances.map(({ instance }) => instance);
    this.setInstances(record, instances);
  }
}

/** So many entries of a list are prepared before other work gets its turn. */
const ENTRIES_PER_TURN = 100;

/** What was written of a list entry before its list is taken over. */
interface Prepared {
  readonly samples: WrittenSamples;
  /** The rolling values that were held then, and the entry together with them. */
  readonly values: RollingValues | undefined;
  readonly withValues: WrittenSamples | undefined;
}

/** Builds the records of applications, and keeps what is known of those that stay. */
class ApplicationRecords {
  readonly #context: Readonly<AccountContext>;
  readonly #entities: Entities;
  readonly #hosts: HostRecords;
  readonly #prepared = new WeakMap<Application, Prepared>();

  constructor(context: Readonly<AccountContext>, entities: Entities, hosts: HostRecords) {
    this.#context = context;
    this.#entities = entities;
    this.#hosts = hosts;
  }

  /**
   * Writes the samples of a list in portions between which other work goes on.
   *
   * @param rollingOf the rolling values that are held of an application
   */
  async prepare(
    list: readonly Application[],
    rollingOf: (applicationId: number) => RollingValues | undefined,
  ): Promise<void> {
    const { applications } = this.#context.account;
    const served = list.filter((application) => selects(applications, application));
    await inTurns(served, ENTRIES_PER_TURN, (application) => {
      const values = rollingOf(application.id);
      this.#prepared.set(application, {
        samples: APPLICATION_LIST.write(application),
        values,
        withValues: values === undefined ? undefined : APPLICATION_LIST.writeWith(application, values),
      });
    });
  }

  /** The record there is, brought up to date with the list and the configuration, or a new one. */
  record(before: ApplicationRecord | undefined, application: Application): ApplicationRecord {
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
    this.#setData(record);
    const rolls = record.data !== undefined && reader.rolling !== undefined;
    const subject = { applicationId: application.id };
    record.rolling = this.#entities.keepRolling(rolls, record.rolling, 'application_rolling', subject);
    if (!unchanged) this.#writeSamples(record);
    if (relabelled) this.#hosts.relabel(record);
    return record;
  }

  #writeSamples(record: ApplicationRecord): void {
    const { application, rolling } = record;
    const prepared = this.#prepared.get(application);
    this.#prepared.delete(application);
    record.samples = prepared?.samples ?? APPLICATION_LIST.write(application);
    if (rolling === undefined) return;
    if (prepared?.values === rolling.values) rolling.samples = prepared?.withValues;
    else APPLICATION_LIST.writeRolling(application, rolling);
  }

  /** Gives the record the entities that its state and the configuration ask for; those that exist already stay. */
  #setData(record: ApplicationRecord): void {
    const { account, customMetrics, reader } = this.#context;
    const entities = this.#entities;
    if (!readsMetricData(account, record.application)) {
      entities.retire(entitiesOf(record));
      record.data = undefined;
      record.rolling = undefined;
      return;
    }
    const subject = { applicationId: record.application.id };
    record.data ??= {
      datastoreList: reader.datastores === undefined ? undefined : entities.make('metric_names', subject),
      datastores: undefined,
      metrics: entities.make('application_metrics', subject),
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
    data.customNameList = entities.keep(customMetrics.length > 0, data.customNameList, 'custom_names', subject);
    data.hostList = entities.keep(record.settings.hosts, data.hostList, 'hosts', subject);
    const instances = account.instances && reader.instances !== undefined;
    data.instanceList = entities.keep(instances, data.instanceList, 'instances', subject);
    if (data.customNameList === undefined) data.customNames = undefined;
    if (data.hostList === undefined) this.#hosts.setHosts(record, []);
    if (data.instanceList === undefined) data.instances = [];
  }
}

/** Builds the records of key transactions, and keeps what is known of those that stay. */
class KeyTransactionRecords {
  readonly #context: Readonly<AccountContext>;
  readonly #entities: Entities;

  constructor(context: Readonly<AccountContext>, entities: Entities) {
    this.#context = context;
    this.#entities = entities;
  }

  /** @param owner the name of its application, where the list of applications has it */
  record(
    before: KeyTransactionRecord | undefined,
    keyTransaction: KeyTransaction,
    owner: string | undefined,
  ): KeyTransactionRecord {
    const { account, reader } = this.#context;
    const { id, applicationId } = keyTransaction;
    const labels = keyTransactionLabels(account.name, account.labels, owner, keyTransaction);
    const subject = { keyTransactionId: id, ...(applicationId === undefined ? {} : { applicationId }) };
    // One that does not report is read too: while its application reports, silence means no requests.
    const rolls = reader.rolling !== undefined;
    const unchanged = before?.keyTransaction === keyTransaction;
    // With another application it is an entity of that one's.
    const isMoved = before !== undefined && before.keyTransaction.applicationId !== applicationId;
    if (isMoved && before.rolling !== undefined) this.#entities.retire([before.rolling.entity]);
    const held = isMoved ? undefined : before?.rolling;
    const rolling = this.#entities.keepRolling(rolls, held, 'key_transaction_rolling', subject);
    if (!unchanged) KEY_TRANSACTION_LIST.writeRolling(keyTransaction, rolling);
    return {
      keyTransaction,
      labels: writeLabels(labels, before?.labels),
      samples: unchanged ? before.samples : KEY_TRANSACTION_LIST.write(keyTransaction),
      rolling,
    };
  }
}

const NO_KEY_TRANSACTIONS: ReadonlyMap<number, KeyTransactionRecord> = new Map();

/**
 * What an account serves: its applications with their hosts, instances and key transactions, each with the entities that
 * are read for it. The lists decide: what is gone from a list that was read whole is gone from here.
 */
export class Inventory {
  /** The application list and the key transaction list. */
  readonly applicationList: Entity;
  readonly keyTransactionList: Entity;
  readonly #context: Readonly<AccountContext>;
  readonly #entities: Entities;
  readonly #hostRecords: HostRecords;
  readonly #applicationRecords: ApplicationRecords;
  readonly #keyTransactionRecords: KeyTransactionRecords;
  #applications = new Map<number, ApplicationRecord>();
  #keyTransactions: ReadonlyMap<number, KeyTransactionRecord> = new Map();
  /** The lists as upstream gave them: a reload or a rename selects and labels from them anew. */
  #listedApplications: readonly Application[] | undefined;
  #listedKeyTransactions: readonly KeyTransaction[] | undefined;
  /** Applications that own key transactions and were not asked for with the application list. */
  #otherOwners: readonly Application[] = [];

  /**
   * @param now the monotonic clock, milliseconds
   * @param retired told of every entity that leaves
   */
  constructor(context: Readonly<AccountContext>, now: () => number, retired: (entity: Entity) => void) {
    this.#context = context;
    this.#entities = new Entities(now, retired);
    this.#hostRecords = new HostRecords(context, this.#entities);
    this.#applicationRecords = new ApplicationRecords(context, this.#entities, this.#hostRecords);
    this.#keyTransactionRecords = new KeyTransactionRecords(context, this.#entities);
    this.applicationList = this.#entities.make('applications', {});
    this.keyTransactionList = this.#entities.make('key_transactions', {});
  }

  /** By id, in the order of the list. */
  get applications(): ReadonlyMap<number, ApplicationRecord> {
    return this.#applications;
  }

  /**
   * By id, in the order of the list. None before the application list has been tried: the names of their applications are
   * among their labels, and the key may see them.
   */
  get keyTransactions(): ReadonlyMap<number, KeyTransactionRecord> {
    return this.applicationList.tried ? this.#keyTransactions : NO_KEY_TRANSACTIONS;
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
    return this.#entities.version;
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
  prepareApplications(list: readonly Application[]): Promise<void> {
    return this.#applicationRecords.prepare(list, (id) => this.#applications.get(id)?.rolling?.values);
  }

  /** Takes over a new application list: keeps what is known of those that stay, drops the others. */
  setApplications(list: readonly Application[]): void {
    this.#listedApplications = list;
    const { account } = this.#context;
    const next = new Map<number, ApplicationRecord>();
    for (const application of list) {
      if (!selects(account.applications, application)) continue;
      const before = this.#applications.get(application.id);
      next.set(application.id, this.#applicationRecords.record(before, application));
    }
    for (const [id, record] of this.#applications) if (!next.has(id)) this.#entities.retire(entitiesOf(record));
    this.#applications = next;
    if (this.#listedKeyTransactions !== undefined) this.setKeyTransactions(this.#listedKeyTransactions);
  }

  /**
   * Takes over a new key transaction list.
   *
   * @param otherOwners applications of these key transactions that the application list does not have
   */
  setKeyTransactions(list: readonly KeyTransaction[], otherOwners = this.#otherOwners): void {
    this.#listedKeyTransactions = list;
    this.#otherOwners = otherOwners;
    const { account } = this.#context;
    const before = this.#keyTransactions;
    const served = selectKeyTransactions(account, list, (id) => this.#applications.has(id));
    const named = [...otherOwners, ...(this.#listedApplications ?? [])];
    const names = new Map(named.map(({ id, name }) => [id, name]));
    const next = new Map<number, KeyTransactionRecord>();
    for (const keyTransaction of served) {
      const { id, applicationId } = keyTransaction;
      const owner = applicationId === undefined ? undefined : names.get(applicationId);
      next.set(id, this.#keyTransactionRecords.record(before.get(id), keyTransaction, owner));
    }
    for (const [id, { rolling }] of before)
      if (!next.has(id) && rolling !== undefined) this.#entities.retire([rolling.entity]);
    this.#keyTransactions = next;
  }

  /** Takes over the hosts of an application. */
  setHosts(record: ApplicationRecord, hosts: readonly Host[]): void {
    this.#hostRecords.setHosts(record, hosts);
  }

  /** Takes over the instances of an application. */
  setInstances(record: ApplicationRecord, instances: readonly Instance[]): void {
    this.#hostRecords.setInstances(record, instances);
  }

  /** Selects and labels everything anew: the configuration has changed. */
  reconfigure(): void {
    if (this.#listedApplications !== undefined) this.setApplications(this.#listedApplications);
    else if (this.#listedKeyTransactions !== undefined) this.setKeyTransactions(this.#listedKeyTransactions);
    if (this.#context.account.key_transactions === false) this.setKeyTransactions([]);
  }
}

/** True for key transactions of that application; without one, for all. */
export function concerns({ keyTransaction }: KeyTransactionRecord, applicationId: number | undefined): boolean {
  return applicationId === undefined || keyTransaction.applicationId === applicationId;
}

function hasData(record: ApplicationRecord): record is ApplicationRecord & { data: ApplicationData } {
  return record.data !== undefined;
}
