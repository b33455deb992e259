import { getOrAdd } from '../../api/maps.ts';
import { READS, type Group } from '../../reads/reads.ts';
import {
  NO_SAMPLES,
  type Block,
  type DroppedSeries,
  type PackedSamples,
  type WrittenLabels,
} from '../../metrics/writeSamples.ts';
import type { AccountCollector } from '../accounts/accountCollector.ts';
import type { EvaluationTime, Task, TaskState } from '../inventory/task.ts';
import { listedSamples, type ApplicationRecord, type ListRecord, type WindowReading } from '../inventory/records.ts';
import { findNeededGroups, type Scope } from '../schedule/demand.ts';

interface Tally {
  readonly tasks: Record<TaskState, number>;
  /** Unix seconds; Infinity while no window is served. */
  oldestWindowEnd: number;
}

/**
 * What an account serves for a scope. One walk collects the samples and counts the fresh, stale and missing tasks, so
 * that no exposition counts a task as fresh without its samples.
 */
export class AccountSnapshot {
  readonly blocks: Block[] = [];
  /** The series that `max_series` of custom metrics and queries cuts, by read. */
  readonly cut: DroppedSeries[] = [];
  /** True if every task of the scope and every list of its subjects is fresh. */
  complete = true;
  /** The end of the newest served window, in Unix seconds. */
  newestWindowEnd: number | undefined;
  readonly #account: AccountCollector;
  readonly #scope: Scope;
  readonly #time: EvaluationTime;
  readonly #needs: ReturnType<typeof findNeededGroups>;
  readonly #groups = new Map<Group, Tally>();

  constructor(account: AccountCollector, scope: Scope, time: EvaluationTime) {
    this.#account = account;
    this.#scope = scope;
    this.#time = time;
    this.#needs = findNeededGroups(scope, account.context);
  }

  static atOnce(account: AccountCollector, scope: Scope, time: EvaluationTime): AccountSnapshot {
    const snapshot = new AccountSnapshot(account, scope, time);
    Array.from(snapshot.walk());
    return snapshot;
  }

  tallyOf(group: Group): Tally {
    const make = (): Tally => ({ tasks: { fresh: 0, stale: 0, missing: 0 }, oldestWindowEnd: Infinity });
    return getOrAdd(this.#groups, group, make);
  }

  /**
   * Collects in portions, in the order of the lists and the configuration. All samples of one application belong to
   * one moment. A scope of one application has no entities and no queries.
   */
  *walk(): Generator<undefined> {
    const { inventory, context, schedule } = this.#account;
    const { applicationId } = this.#scope;
    if (context.enabled.has('applications')) this.#countList(inventory.applicationList);
    if (context.enabled.has('key_transactions')) this.#countList(inventory.keyTransactionList);
    for (const id of applicationId === undefined ? inventory.applications.keys() : [applicationId]) {
      // Looked up late, because a list that arrives meanwhile brings new records with new labels.
      const record = inventory.applications.get(id);
      if (record !== undefined) this.#addApplication(record);
      yield undefined;
    }
    for (const record of inventory.keyTransactions.values()) {
      if (applicationId !== undefined && record.entry.applicationId !== applicationId) continue;
      this.#addEntry(inventory.keyTransactionList, record);
      yield undefined;
    }
    if (applicationId !== undefined) return;
    const { entities } = inventory;
    for (const type of entities.types.values()) {
      const isListed = this.#countTask(type.list) !== 'missing' && this.#scope.groups.has('entities');
      for (const record of type.entities.values()) {
        if (record.oldValuesDueAt.size > 0) entities.removeTooOld(record);
        if (isListed) {
          this.#add('entities', entities.labelsOf(type, record).listed, entities.listedSamples(type, record));
        }
        if (record.subject !== undefined && this.#countTask(record.subject.task) !== 'missing') {
          this.#add('golden_metrics', entities.labelsOf(type, record).golden, record.golden);
        }
        yield undefined;
      }
    }
    const isServed = (task: Task): boolean => schedule.stateOf(task, this.#time) !== 'missing';
    for (const [{ task, labels, cut }, samples] of inventory.queries.publish(isServed)) {
      if (this.#countTask(task) !== 'missing') {
        this.#add('queries', labels, samples);
        if (this.#scope.groups.has('queries')) this.cut.push(...cut);
      }
      yield undefined;
    }
  }

  #addApplication(record: ApplicationRecord): void {
    const { labels, data } = record;
    this.#addEntry(this.#account.inventory.applicationList, record);
    if (data === undefined) return;
    const { application_metrics: metrics, hosts, instances, ...others } = data.tasks;
    if (metrics !== undefined) this.#addMetrics(metrics, labels, data.reading, true);
    for (const task of Object.values(others)) {
      if (this.#countTask(task) !== 'missing') this.#add(task.group, labels, data.samples[task.kind] ?? NO_SAMPLES);
    }
    if (hosts !== undefined) {
      this.#countList(hosts);
      let isFirst = true;
      for (const host of data.hosts.values()) {
        this.#addEntry(hosts, host);
        if (this.#addMetrics(host.metrics, host.labels, host.reading, isFirst)) isFirst = false;
      }
    }
    if (instances === undefined) return;
    this.#countList(instances);
    for (const instance of data.instances.values()) this.#addEntry(instances, instance);
  }

  #addEntry(list: Task, record: ListRecord): void {
    const { labels, rolling } = record;
    const { schedule, context } = this.#account;
    const state = schedule.stateOf(list, this.#time);
    const rollingState = rolling && schedule.stateOf(rolling, this.#time);
    if (list.lastRead !== undefined) this.#count(list, state, rolling);
    if (rolling !== undefined && rollingState !== undefined) this.#noteWindow(rolling, rollingState);
    if (state === 'missing' || !this.#scope.groups.has(list.group)) return;
    this.#add(list.group, labels, listedSamples(record, context, rollingState === 'missing'));
  }

  /**
   * Adds the metric data of an application or a host. Returns true if the data is served.
   *
   * @param countsCut true to count what `max_series` cuts; each host has the number for all hosts, so only one counts
   */
  #addMetrics(task: Task, labels: WrittenLabels, reading: WindowReading | undefined, countsCut: boolean): boolean {
    const isServed = this.#countTask(task) !== 'missing';
    if (!isServed || reading === undefined) return false;
    this.#add(task.group, labels, reading.samples);
    this.#add('custom_metrics', labels, reading.customSamples);
    if (countsCut && this.#scope.groups.has('custom_metrics')) {
      // A cut family counts even if the exposition has no sample of the family.
      for (const [family, series] of reading.cut) this.cut.push({ family, series, reading });
    }
    return true;
  }

  #countTask(task: Task): TaskState {
    const state = this.#account.schedule.stateOf(task, this.#time);
    this.#count(task, state, undefined);
    this.#noteWindow(task, state);
    return state;
  }

  /** A list that was never read, or waits, counts as one missing task; any other counts by its entries. */
  #countList(list: Task): void {
    const { inventory, schedule } = this.#account;
    const { applicationList, keyTransactionList } = inventory;
    const state = schedule.stateOf(list, this.#time);
    // Key transactions are served only after an attempt to read the names of their applications.
    const waits = list === keyTransactionList && !applicationList.tried;
    if (list.lastRead === undefined || waits) this.#count(list, 'missing', undefined);
    // The list itself decides `complete`, too, because an empty list has no entries.
    else if (this.#needs.always.has(list.group)) this.complete &&= state === 'fresh';
    this.#noteWindow(list, state);
  }

  /** @param task the task to count; for an entry of a list, the task of the list */
  #count(task: Task, state: TaskState, rolling: Task | undefined): void {
    const { schedule } = this.#account;
    const { group } = task;
    const rollingState = rolling === undefined ? 'fresh' : schedule.stateOf(rolling, this.#time);
    const worseState = state === 'missing' || rollingState === 'fresh' ? state : rollingState;
    if (this.#needs.always.has(group)) {
      // A scope that needs only the list of the group ignores rolling values.
      this.complete &&= (this.#needs.rolling.has(group) ? worseState : state) === 'fresh';
    }
    if (!schedule.isInDemand(task)) return;
    const isRollingInDemand = rolling !== undefined && schedule.isInDemand(rolling);
    this.tallyOf(group).tasks[isRollingInDemand ? worseState : state] += 1;
  }

  #noteWindow(task: Task, state: TaskState): void {
    const { lastRead, group, kind } = task;
    if (lastRead === undefined || state === 'missing' || READS[kind].gives === 'names') return;
    const { windowEnd } = lastRead;
    if (READS[kind].gives === 'window') this.newestWindowEnd = Math.max(this.newestWindowEnd ?? windowEnd, windowEnd);
    if (!this.#account.schedule.isInDemand(task)) return;
    const tally = this.tallyOf(group);
    tally.oldestWindowEnd = Math.min(tally.oldestWindowEnd, windowEnd);
  }

  #add(group: Group, { labels, text }: WrittenLabels, samples: PackedSamples): void {
    if (samples.values.length === 0 || !this.#scope.groups.has(group)) return;
    this.blocks.push({ group, labels, text, samples });
  }
}
