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
  MOST_OF_APPLICATION,
  decideDatabase,
  tasksOf,
  tooMany,
  recalculate,
  type ApplicationData,
  type ApplicationRecord,
  type HostRecord,
  type Listed,
  type ListRecord,
} from './records.ts';
import type { AccountContext } from './accountContext.ts';
import { effectiveSettings, readsMetricData, selectKeyTransactions, selects } from './selection.ts';

const REMEMBERED = 3_600_000;

/** What an account serves, each with its tasks. An entry that is missing in a completely read list is removed here. */
export class Inventory {
  applicationList: Task;
  keyTransactionList: Task;
  readonly entities: EntityRecords;
  readonly queries: QueryRecords;
  /** By id, in the order of the list. */
  applications: ReadonlyMap<number, ApplicationRecord> = new Map();
  /** The lists as New Relic gave them, from which a reload selects and labels again; undefined before the first read. */
  listedApplications: readonly Application[] | undefined;
  listedKeyTransactions: readonly KeyTransaction[] | undefined;
  /** True once an application list was not empty. */
  hasListed = false;
  /** The ids to which the application list was narrowed; empty for the whole list. */
  #listedIds: readonly number[] = [];
  #context: AccountContext;
  #keyTransactions: ReadonlyMap<number, Listed<KeyTransaction>> = new Map();
  #otherOwners: readonly Application[] = [];
  /** Records of new applications, for the list that is applied next. */
  #prepared: ReadonlyMap<Application, ApplicationRecord> = new Map();
  /** Lengths of the application list with the requested ids (empty: all), each since the time of its first read; oldest first. */
  #counts: { readonly listed: number; readonly of: string; readonly at: number }[] = [];
  /** The seconds that the counters of the account missed, and the transactions that arrived late, since the start. */
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

  /** Empty before the application list has been tried, because application names are needed as labels. */
  get keyTransactions(): ReadonlyMap<number, Listed<KeyTransaction>> {
    return this.applicationList.tried ? this.#keyTransactions : new Map();
  }

  /** The highest number of applications listed within the last hour, for the same ids as the last list; forgets older ones. */
  largestList(): number {
    const since = this.#context.clock.monotonic() - REMEMBERED;
    this.#counts = this.#counts.filter((_, index) => (this.#counts[index + 1]?.at ?? Infinity) > since);
    const of = this.#counts.at(-1)?.of;
    return Math.max(0, ...this.#counts.map((count) => (count.of === of ? count.listed : 0)));
  }

  /** All tasks, or the tasks that matter to one application: lists first. */
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
   * New Relic does not know the subject of a task: its list is made overdue, once.
   *
   * @returns that list; undefined when it was never read, or was read in this window or since the subject became unknown
   */
  readListAgain(task: Task, windowEnd: number): Task | undefined {
    const since = (task.unknownSince ??= this.#context.clock.monotonic());
    const list = this.#listOf(task);
    if (list?.lastRead === undefined || list.lastRead.windowEnd >= windowEnd) return undefined;
    if (list.failures === 0 && list.startedAt >= since) return undefined;
    if (list.state === 'idle') list.overdue = true;
    return list;
  }

  /** Makes the records of new applications in slices, because `setApplications` is one step and there may be thousands. */
  async makeRecords(list: readonly Application[]): Promise<readonly Application[]> {
    const prepared = (this.#prepared = new Map<Application, ApplicationRecord>());
    await inSlices(list, (application) => {
      // After a reload they would be of the old configuration.
      if (this.#prepared !== prepared || this.applications.has(application.id)) return;
      const isServed = selects(this.#context.account.applications, application);
      if (isServed) prepared.set(application, this.#applicationRecord(application, undefined));
    });
    return list;
  }

  /** @param ids the ids to which the list was narrowed; empty for the whole list */
  setApplications(list: readonly Application[], ids = this.#listedIds): void {
    this.listedApplications = list;
    this.hasListed ||= list.length > 0;
    this.#listedIds = ids;
    const [last, of] = [this.#counts.at(-1), ids.toSorted((a, b) => a - b).join()];
    if (last?.listed !== list.length || last.of !== of) {
      this.#counts.push({ listed: list.length, of, at: this.#context.clock.monotonic() });
    }
    const { applications } = this.#context.account;
    const served = list.filter((application) => selects(applications, application));
    this.applications = this.store.sync(
      this.applications,
      served,
      ({ id }) => id,
      (application, before) => {
        const prepared = before === undefined ? this.#prepared.get(application) : undefined;
        return prepared ?? this.#applicationRecord(application, before);
      },
      tasksOf,
    );
    this.#prepared = new Map();
    if (this.listedKeyTransactions !== undefined) this.setKeyTransactions(this.listedKeyTransactions);
    for (const record of this.applications.values()) {
      const { data } = record;
      if (data?.reading !== undefined && decideDatabase(record, data, data.reading)) recalculate(data, this.#context);
    }
  }

  /** @param otherOwners applications of these key transactions that are not in the application list */
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
        // One that moved to another application gets a new task.
        const isMoved = before !== undefined && before.entry.applicationId !== applicationId;
        if (isMoved) this.store.remove(tasksOf(before));
        const same = isMoved ? undefined : before;
        return listed('key_transactions', keyTransaction, labels, before, {
          // One that does not report is read, too: while its application reports, silence means no requests.
          rolling: this.store.keep(reader.rolling !== undefined, same?.rolling, 'key_transaction_rolling', subject),
          rollingValues: same?.rollingValues,
        });
      },
      tasksOf,
    );
  }

  /** Stores the hosts of an application; without a list, labels the known ones again. */
  setHosts(of: ApplicationRecord | undefined, list?: readonly Host[]): void {
    if (of?.data === undefined) return;
    const { entry: application, data } = of;
    const { account, reader } = this.#context;
    const hosts = list ?? Array.from(data.hosts.values(), ({ entry }) => entry);
    if (hosts.length > MOST_OF_APPLICATION) throw tooMany(application, hosts.length, 'hosts');
    // With too many series of a custom metric, the first hosts by key keep theirs, in any order of the list.
    const keys = hosts.map(({ key }) => key).sort();
    const ranks = new Map(keys.map((key, rank) => [key, rank]));
    const before = data.hosts.size;
    data.hosts = this.store.sync(
      data.hosts,
      hosts,
      ({ key }) => key,
      (host, before) => {
        const subject = { applicationId: application.id, hostKey: host.key };
        return listed('hosts', host, hostLabels(account, application, host), before, {
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

  setInstances(of: ApplicationRecord | undefined, list?: readonly Instance[]): void {
    if (of?.data === undefined) return;
    const { entry: application, data } = of;
    const instances = list ?? Array.from(data.instances.values(), ({ entry }) => entry);
    if (instances.length > MOST_OF_APPLICATION) throw tooMany(application, instances.length, 'instances');
    const { account } = this.#context;
    data.instances = this.store.sync(
      data.instances,
      instances,
      ({ id }) => id,
      (instance, before) => listed('instances', instance, instanceLabels(account, application, instance), before, {}),
      tasksOf,
    );
  }

  setRolling(subject: Subject, values: RollingValues): void {
    const { keyTransactionId, hostKey } = subject;
    const other = hostKey === undefined ? this.recordOf(subject) : this.hostOf(subject);
    const record = keyTransactionId === undefined ? other : this.#keyTransactions.get(keyTransactionId);
    if (record?.rolling === undefined) return;
    record.rollingValues = values;
    record.samples = undefined;
  }

  /** Applies a changed configuration: selects and labels again, and requests lists whose requests have changed. */
  reconfigure(context: AccountContext): void {
    const { account: before, customMetrics } = this.#context;
    this.#context = context;
    this.#prepared = new Map();
    const { account } = context;
    const otherApplications = !isEqual(before.applications.include, account.applications.include);
    if (otherApplications) this.applicationList.overdue = true;
    // The application names that come with the key transactions depend on both.
    const isFiltered = typeof account.key_transactions !== 'boolean';
    if (!isEqual(before.key_transactions, account.key_transactions) || (otherApplications && isFiltered)) {
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
    // A list that is read again later is a new task: a result that still arrives is dropped, and the entries are unknown.
    if (!account.applications.read) {
      this.setApplications([]);
      this.listedApplications = undefined;
      this.#counts = [];
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

  #applicationRecord(application: Application, before: ApplicationRecord | undefined): ApplicationRecord {
    const { account, clock, collection, reader } = this.#context;
    const labels = applicationLabels(account, application);
    const settings = effectiveSettings(account, application);
    const isReporting = application.reporting !== false;
    const counts = this.#context.enabled.has('counters');
    const counters = counts ? (before?.counters ?? new CounterLedger()) : undefined;
    counters?.reports(isReporting, windowAt(clock.now(), collection).to);
    if (!readsMetricData(account, application)) {
      if (before !== undefined) this.store.remove(tasksOf(before));
      const none = { settings, samples: undefined, counters, data: undefined };
      return listed('applications', application, labels, before, none);
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
    const rolling = this.store.keep(reader.rolling !== undefined, before?.rolling, 'application_rolling', subject);
    const rollingValues = before?.rollingValues;
    // Its samples depend on the configuration, too.
    const own = { rolling, rollingValues, settings, samples: undefined, counters, data };
    const record = listed('applications', application, labels, before, own);
    data.tasks = this.store.keepAll(data.tasks, subject, ({ group, isOfApplications = false }) => {
      if (group === 'counters' && !isReporting) return false;
      return isOfApplications && (group === 'hosts' ? settings.hosts : this.#context.enabled.has(group));
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

/** The record of an entry: samples stay while the entry does. `own` is assigned, because a spread takes four times the memory. */
function listed<Entry extends ListRecord['entry'], Own>(
  group: ListRecord['group'],
  entry: Entry,
  labels: Labels,
  before: Listed<Entry> | undefined,
  own: Own,
) {
  const samples = before?.entry === entry ? before.samples : undefined;
  const written = writeLabels(labels, before?.labels);
  return Object.assign({ group, entry, labels: written, samples, rolling: undefined, rollingValues: undefined }, own);
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
