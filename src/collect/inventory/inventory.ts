import type { Application, Host, Instance, KeyTransaction, RollingValues } from '../../api/types.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { applicationLabels, hostLabels, instanceLabels, keyTransactionLabels } from '../../metrics/listedFamilies.ts';
import { writeLabels } from '../../metrics/writeSamples.ts';
import type { Labels } from '../../metrics/family.ts';
import { TaskStore, type Subject, type Task } from './task.ts';
import { CounterLedger } from './counterLedger.ts';
import { windowAt } from './window.ts';
import { EntityRecords } from './entityRecords.ts';
import { QueryRecords } from './queryRecords.ts';
import {
  checkSize,
  decideDatabase,
  tasksOf,
  recalculate,
  type ApplicationData,
  type ApplicationRecord,
  type HostRecord,
  type Listed,
  type ListRecord,
} from './records.ts';
import type { AccountContext } from './accountContext.ts';
import { effectiveSettings, readsMetricData, selectKeyTransactions, selects } from './selection.ts';

const LIST_LENGTHS_KEPT_FOR = 3_600_000;

/** The records of an account and their tasks: those that the last lists have. */
export class Inventory {
  applicationList: Task;
  keyTransactionList: Task;
  readonly entities: EntityRecords;
  readonly queries: QueryRecords;
  /** By id, in the order of the list. */
  applications: ReadonlyMap<number, ApplicationRecord> = new Map();
  /** The last lists, from which a reload selects and labels again; undefined before the first read. */
  listedApplications: readonly Application[] | undefined;
  listedKeyTransactions: readonly KeyTransaction[] | undefined;
  hasListed = false;
  /** The ids that the last application list was limited to; empty for the whole list. */
  #listedIds: readonly number[] = [];
  #context: AccountContext;
  #keyTransactions: ReadonlyMap<number, Listed<KeyTransaction>> = new Map();
  #otherOwners: readonly Application[] = [];
  /** Records of new applications for the next `setApplications`. */
  #prepared: ReadonlyMap<Application, ApplicationRecord> = new Map();
  /** Changes of the length of the application list, oldest first, since the list was limited to other ids. */
  #lengths: { readonly length: number; readonly since: number }[] = [];
  readonly counterTotals = { lostSeconds: 0, lateTransactions: 0 };
  readonly store: TaskStore;

  constructor(context: AccountContext) {
    this.#context = context;
    this.store = new TaskStore(context.clock);
    this.applicationList = this.store.make('applications', {});
    this.keyTransactionList = this.store.make('key_transactions', {});
    this.entities = new EntityRecords(context, this.store);
    this.queries = new QueryRecords(context, this.store);
  }

  /** Empty before the first attempt to read the application list, because the labels need application names. */
  get keyTransactions(): ReadonlyMap<number, Listed<KeyTransaction>> {
    return this.applicationList.tried ? this.#keyTransactions : new Map();
  }

  /** Returns the largest length of the application list within the last hour. */
  findLargestList(): number {
    const oldest = this.#context.clock.monotonic() - LIST_LENGTHS_KEPT_FOR;
    // A length holds until the next change, so an old length counts while its successor is recent.
    this.#lengths = this.#lengths.filter((_, index) => (this.#lengths[index + 1]?.since ?? Infinity) > oldest);
    return Math.max(0, ...this.#lengths.map(({ length }) => length));
  }

  /** Returns all tasks, or the tasks that concern one application. Lists come first. */
  tasks(applicationId?: number): readonly Task[] {
    const { applications, key_transactions } = this.#context.account;
    const found: Task[] = applications.read ? [this.applicationList] : [];
    if (applications.read && key_transactions !== false) found.push(this.keyTransactionList);
    for (const { entry, rolling } of this.#keyTransactions.values()) {
      if (applicationId !== undefined && entry.applicationId !== applicationId) continue;
      if (rolling !== undefined) found.push(rolling);
    }
    if (applicationId !== undefined) {
      const record = this.applications.get(applicationId);
      return record === undefined ? found : tasksOf(record, found);
    }
    for (const record of this.applications.values()) tasksOf(record, found);
    for (const task of this.entities.tasks()) found.push(task);
    for (const { task } of this.queries.byName.values()) found.push(task);
    return found;
  }

  recordOf({ applicationId }: Subject): ApplicationRecord | undefined {
    return applicationId === undefined ? undefined : this.applications.get(applicationId);
  }

  hostOf(subject: Subject): HostRecord | undefined {
    const { hostKey } = subject;
    return hostKey === undefined ? undefined : this.recordOf(subject)?.data?.hosts.get(hostKey);
  }

  #listOf({ subject }: Task): Task | undefined {
    const { applicationId, hostKey, keyTransactionId, entityGuid } = subject;
    if (entityGuid !== undefined) return this.entities.typeOf(subject)?.list;
    if (keyTransactionId !== undefined) return this.keyTransactionList;
    if (hostKey !== undefined) return this.recordOf(subject)?.data?.tasks.hosts;
    return applicationId === undefined ? undefined : this.applicationList;
  }

  /**
   * Makes the list of a task overdue, because New Relic does not know the subject of the task. Returns the list;
   * undefined if it was never read, or was read in this window or since the subject became unknown.
   */
  readListAgain(task: Task, windowEnd: number): Task | undefined {
    const since = (task.unknownSince ??= this.#context.clock.monotonic());
    const list = this.#listOf(task);
    if (list?.lastRead === undefined || list.lastRead.windowEnd >= windowEnd) return undefined;
    if (list.failures === 0 && list.startedAt >= since) return undefined;
    if (list.state === 'idle') list.overdue = true;
    return list;
  }

  /** Makes the records of new applications in slices, because `setApplications` is one step for thousands. */
  async makeRecords(list: readonly Application[]): Promise<readonly Application[]> {
    const prepared = (this.#prepared = new Map<Application, ApplicationRecord>());
    await inSlices(list, (application) => {
      // After a reload, the records would have the old configuration.
      if (this.#prepared !== prepared || this.applications.has(application.id)) return;
      const isServed = selects(this.#context.account.applications, application);
      if (isServed) prepared.set(application, this.#makeApplication(application, undefined));
    });
    return list;
  }

  /** @param ids the ids that the list was limited to; empty for the whole list */
  setApplications(list: readonly Application[], ids = this.#listedIds): void {
    const { account, clock } = this.#context;
    this.listedApplications = list;
    this.hasListed ||= list.length > 0;
    if (!isEqual(ids, this.#listedIds)) this.#lengths = [];
    this.#listedIds = ids;
    const { length } = list;
    if (this.#lengths.at(-1)?.length !== length) this.#lengths.push({ length, since: clock.monotonic() });
    const served = list.filter((application) => selects(account.applications, application));
    this.applications = this.store.sync(
      this.applications,
      served,
      ({ id }) => id,
      (application, before) =>
        (before === undefined ? this.#prepared.get(application) : undefined) ??
        this.#makeApplication(application, before),
      tasksOf,
    );
    this.#prepared = new Map();
    if (this.listedKeyTransactions !== undefined) this.setKeyTransactions(this.listedKeyTransactions);
    for (const record of this.applications.values()) {
      const { data } = record;
      if (data?.reading !== undefined && decideDatabase(record, data, data.reading)) recalculate(data, this.#context);
    }
  }

  /** @param otherOwners applications of these key transactions that the application list lacks */
  setKeyTransactions(list: readonly KeyTransaction[], otherOwners = this.#otherOwners): void {
    this.listedKeyTransactions = list;
    this.#otherOwners = otherOwners;
    const { account, reader } = this.#context;
    const served = selectKeyTransactions(account, list, (id) => this.applications.has(id));
    const named = [...otherOwners, ...(this.listedApplications ?? [])];
    const names = new Map(named.map(({ id, name }) => [id, name]));
    this.#keyTransactions = this.store.sync(
      this.#keyTransactions,
      served,
      ({ id }) => id,
      (keyTransaction, before) => {
        const { id, applicationId } = keyTransaction;
        const owner = applicationId === undefined ? undefined : names.get(applicationId);
        const labels = keyTransactionLabels(account, owner, keyTransaction);
        const subject = { keyTransactionId: id, applicationId };
        // A key transaction that moved to another application gets a new task.
        const same = before?.entry.applicationId === applicationId ? before : undefined;
        if (before !== same && before !== undefined) this.store.remove(tasksOf(before));
        return makeRecord('key_transactions', keyTransaction, labels, before, {
          // Read even without a report: while the application reports, silence means no requests.
          rolling: this.store.keep(reader.rolling !== undefined, same?.rolling, 'key_transaction_rolling', subject),
          rollingValues: same?.rollingValues,
        });
      },
      tasksOf,
    );
  }

  /** Stores the hosts of an application. Without a list, labels the known hosts again. */
  setHosts(owner: ApplicationRecord | undefined, list?: readonly Host[]): void {
    if (owner?.data === undefined) return;
    const { entry: application, data } = owner;
    const { account, reader } = this.#context;
    const hosts = list ?? Array.from(data.hosts.values(), ({ entry }) => entry);
    checkSize(application, hosts.length, 'hosts');
    // `max_series` keeps the series of the first hosts by key, so that the order of the list does not matter.
    const keys = hosts.map(({ key }) => key).sort();
    const ranks = new Map(keys.map((key, rank) => [key, rank]));
    const before = data.hosts.size;
    data.hosts = this.store.sync(
      data.hosts,
      hosts,
      ({ key }) => key,
      (host, before) => {
        const subject = { applicationId: application.id, hostKey: host.key };
        return makeRecord('hosts', host, hostLabels(account, application, host), before, {
          rolling: this.store.keep(reader.rolling !== undefined, before?.rolling, 'host_rolling', subject),
          rollingValues: before?.rollingValues,
          rank: ranks.get(host.key) ?? 0,
          metrics: before?.metrics ?? this.store.make('host_metrics', subject),
          reading: before?.reading,
        });
      },
      tasksOf,
    );
    if (data.hosts.size !== before) delete data.selected.host;
  }

  setInstances(owner: ApplicationRecord | undefined, list?: readonly Instance[]): void {
    if (owner?.data === undefined) return;
    const { entry: application, data } = owner;
    const instances = list ?? Array.from(data.instances.values(), ({ entry }) => entry);
    checkSize(application, instances.length, 'instances');
    const { account } = this.#context;
    data.instances = this.store.sync(
      data.instances,
      instances,
      ({ id }) => id,
      (instance, before) =>
        makeRecord('instances', instance, instanceLabels(account, application, instance), before, {}),
      tasksOf,
    );
  }

  setRolling(subject: Subject, values: RollingValues): void {
    const { keyTransactionId, hostKey } = subject;
    const hostOrApplication = hostKey === undefined ? this.recordOf(subject) : this.hostOf(subject);
    const record = keyTransactionId === undefined ? hostOrApplication : this.#keyTransactions.get(keyTransactionId);
    if (record?.rolling === undefined) return;
    record.rollingValues = values;
    record.samples = undefined;
  }

  /** Selects and labels again. Makes a list overdue if its request has changed. */
  reconfigure(context: AccountContext): void {
    const { account: before, customMetrics } = this.#context;
    this.#context = context;
    this.#prepared = new Map();
    const { account } = context;
    const includesOthers = !isEqual(before.applications.include, account.applications.include);
    if (includesOthers) this.applicationList.overdue = true;
    // The key transaction read requests the applications that `applications.include` leaves out.
    const isFiltered = typeof account.key_transactions !== 'boolean';
    if (!isEqual(before.key_transactions, account.key_transactions) || (includesOthers && isFiltered)) {
      this.keyTransactionList.overdue = true;
    }
    this.entities.configure(context);
    this.queries.configure(context);
    for (const { data } of this.applications.values()) {
      if (data === undefined) continue;
      data.selected = {};
      if (customMetrics === context.customMetrics) continue;
      if (data.tasks.custom_names !== undefined) data.tasks.custom_names.overdue = true;
      recalculate(data, this.#context);
    }
    // A disabled list gets a new task, so that a late result is dropped and an enabled list starts without entries.
    if (!account.applications.read) {
      this.setApplications([]);
      this.listedApplications = undefined;
      this.#lengths = [];
      this.store.remove([this.applicationList]);
      this.applicationList = this.store.make('applications', {});
    }
    if (!account.applications.read || account.key_transactions === false) {
      this.setKeyTransactions([], []);
      this.listedKeyTransactions = undefined;
      this.store.remove([this.keyTransactionList]);
      this.keyTransactionList = this.store.make('key_transactions', {});
    }
    if (this.listedApplications !== undefined) this.setApplications(this.listedApplications);
    else if (this.listedKeyTransactions !== undefined) this.setKeyTransactions(this.listedKeyTransactions);
  }

  #makeApplication(application: Application, before: ApplicationRecord | undefined): ApplicationRecord {
    const { account, clock, collection, reader, enabled } = this.#context;
    const labels = applicationLabels(account, application);
    const settings = effectiveSettings(account, application);
    const isReporting = application.reporting !== false;
    const counters = enabled.has('counters') ? (before?.counters ?? new CounterLedger()) : undefined;
    counters?.recordReporting(isReporting, windowAt(clock.now(), collection).to);
    if (!readsMetricData(account, application)) {
      if (before !== undefined) this.store.remove(tasksOf(before));
      const none = { settings, samples: undefined, counters, data: undefined };
      return makeRecord('applications', application, labels, before, none);
    }
    const subject = { applicationId: application.id };
    const data: ApplicationData = before?.data ?? {
      tasks: {},
      samples: {},
      datastores: undefined,
      reading: undefined,
      customNames: undefined,
      cut: undefined,
      hosts: new Map<string, HostRecord>(),
      selected: {},
      instances: new Map<number, Listed<Instance>>(),
      database: undefined,
    };
    const record = makeRecord('applications', application, labels, before, {
      rolling: this.store.keep(reader.rolling !== undefined, before?.rolling, 'application_rolling', subject),
      rollingValues: before?.rollingValues,
      settings,
      // They depend on the configuration, so an unchanged entry does not keep them.
      samples: undefined,
      counters,
      data,
    });
    data.tasks = this.store.keepAll(data.tasks, subject, (group) => {
      if (group === 'counters' && !isReporting) return false;
      return group === 'hosts' ? settings.hosts : enabled.has(group);
    });
    if (data.tasks.custom_names === undefined && data.customNames !== undefined) {
      data.customNames = undefined;
      data.cut = undefined;
      data.selected = {};
    }
    const isRelabelled = before !== undefined && before.labels !== record.labels;
    if (data.tasks.hosts === undefined) this.setHosts(record, []);
    else if (isRelabelled) this.setHosts(record);
    if (data.tasks.instances === undefined) data.instances = new Map();
    else if (isRelabelled) this.setInstances(record);
    return record;
  }
}

function makeRecord<Entry extends ListRecord['entry'], Members>(
  group: ListRecord['group'],
  entry: Entry,
  labels: Labels,
  before: Listed<Entry> | undefined,
  members: Members,
) {
  const samples = before?.entry === entry ? before.samples : undefined;
  const written = writeLabels(labels, before?.labels);
  // An object with a spread would take four times the memory.
  return Object.assign(
    { group, entry, labels: written, samples, rolling: undefined, rollingValues: undefined },
    members,
  );
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
