import { inSlices } from '../eventLoop/turns.ts';
import type { Block, DroppedSeries, Group, WrittenLabels, WrittenSamples } from '../metrics/sample.ts';
import type { AccountCollector } from './accountCollector.ts';
import type { Task } from './task.ts';
import { concerns } from './inventory.ts';
import { listedSamples, type ApplicationRecord, type ListRecord, type WindowReading } from './records.ts';
import type { EntityRecord } from './entityRecords.ts';
import type { QueryRecord } from './queryRecords.ts';
import { isEnabled } from './selection.ts';
import { neededGroups, type Needs, type Scope } from './scope.ts';
import type { EvaluationTime, TaskState } from './due.ts';

/** The tasks of a group that something asks for. */
export interface GroupTally {
  readonly tasks: Record<TaskState, number>;
  /** End of the oldest window that is served, Unix seconds; Infinity where none is. */
  oldestWindowEnd: number;
}

/**
 * What an account serves for a scope, whatever is held and not too old, under the labels of today; and how much of the
 * account is fresh, stale and missing. One walk gives both, so that an answer never counts as fresh what it does not hold.
 *
 * What a list brings counts one by one, each by the state of its list; with rolling values of its own, by the worse of both.
 */
export class AccountSnapshot {
  readonly blocks: Block[] = [];
  /** Series left out by the caps of custom metrics and queries, reading by reading. */
  readonly cut: DroppedSeries[] = [];
  /** True when every task of the scope, with the lists they come from, is fresh. */
  complete = true;
  /** The end of the newest window of metric data that is served. */
  newestWindowEnd: number | undefined;
  readonly #account: AccountCollector;
  readonly #scope: Scope;
  readonly #time: EvaluationTime;
  readonly #needs: Needs;
  readonly #groups = new Map<Group, GroupTally>();

  private constructor(account: AccountCollector, scope: Scope, time: EvaluationTime) {
    this.#account = account;
    this.#scope = scope;
    this.#time = time;
    this.#needs = neededGroups(scope, account.context);
  }

  /** In portions between which other work goes on; all that belongs to one application is of one moment. */
  static async inPortions(account: AccountCollector, scope: Scope, time: EvaluationTime): Promise<AccountSnapshot> {
    const snapshot = new AccountSnapshot(account, scope, time);
    await inSlices(snapshot.#walk());
    return snapshot;
  }

  static atOnce(account: AccountCollector, scope: Scope, time: EvaluationTime): AccountSnapshot {
    const snapshot = new AccountSnapshot(account, scope, time);
    Array.from(snapshot.#walk());
    return snapshot;
  }

  of(group: Group): GroupTally {
    let tally = this.#groups.get(group);
    if (tally === undefined) {
      tally = { tasks: { fresh: 0, stale: 0, missing: 0 }, oldestWindowEnd: Infinity };
      this.#groups.set(group, tally);
    }
    return tally;
  }

  /**
   * The applications in the order of their list, each with all that belongs to it, then the key transactions, the entities of other types, and the
   * queries; of a scope of one application that one only, without queries.
   */
  *#walk(): Generator<undefined> {
    const { inventory, context } = this.#account;
    const { applicationId } = this.#scope;
    if (isEnabled(context, 'applications')) this.#list(inventory.applicationList);
    if (isEnabled(context, 'key_transactions')) this.#list(inventory.keyTransactionList);
    for (const id of applicationId === undefined ? inventory.applications.keys() : [applicationId]) {
      // As it is by now: a list that arrives meanwhile gives new labels to it and to its hosts.
      const record = inventory.applications.get(id);
      if (record !== undefined) this.#application(record);
      yield undefined;
    }
    for (const record of inventory.keyTransactions.values()) {
      if (!concerns(record.keyTransaction, applicationId)) continue;
      this.#entry(inventory.keyTransactionList, record);
      yield undefined;
    }
    if (applicationId !== undefined) return;
    for (const type of inventory.entities.types()) {
      const isListed = this.#single(type.list) !== 'missing';
      for (const record of type.entities.values()) {
        this.#monitored(record, isListed);
        yield undefined;
      }
    }
    for (const [record, samples] of inventory.queries.served(({ task }) => this.#stateOf(task) !== 'missing')) {
      this.#query(record, samples);
      yield undefined;
    }
  }

  #query({ task, labels, cut }: QueryRecord, samples: WrittenSamples): void {
    if (this.#single(task) === 'missing') return;
    this.#add('queries', labels, samples);
    if (this.#scope.groups.has('queries')) this.cut.push(...cut);
  }

  #monitored({ labels, samples, task, goldenLabels, goldenSamples }: EntityRecord, isListed: boolean): void {
    if (isListed) this.#add('entities', labels, samples);
    if (task === undefined || this.#single(task) === 'missing') return;
    this.#add('golden_metrics', goldenLabels, goldenSamples);
  }

  #application(record: ApplicationRecord): void {
    const { labels, data, counters } = record;
    this.#entry(this.#account.inventory.applicationList, record);
    if (data === undefined) return;
    for (const task of [data.datastoreList, data.customNameList]) if (task !== undefined) this.#single(task);
    this.#countCut(this.#metrics(data.metrics, labels, data.reading));
    const { counterSeries, hostList, instanceList } = data;
    if (counterSeries !== undefined && this.#single(counterSeries) !== 'missing' && counters !== undefined) {
      this.#add('counters', labels, counters.samples);
    }
    if (hostList !== undefined) {
      this.#list(hostList);
      let first: WindowReading | undefined;
      for (const host of data.hosts.values()) {
        this.#entry(hostList, host);
        const served = this.#metrics(host.metrics, host.labels, host.reading);
        first ??= served;
      }
      this.#countCut(first);
    }
    if (instanceList === undefined) return;
    this.#list(instanceList);
    for (const instance of data.instances.values()) this.#entry(instanceList, instance);
  }

  /** Something that a list brings, in the state of the list; with the rolling values read apart while they are not too old. */
  #entry(list: Task, record: ListRecord): void {
    const { labels, rolling } = record;
    const state = this.#stateOf(list);
    const rollingState = rolling === undefined ? undefined : this.#stateOf(rolling.task);
    if (list.lastRead !== undefined) this.#count(list, state, rolling?.task);
    if (rolling !== undefined && rollingState !== undefined) this.#window(rolling.task, rollingState);
    if (state === 'missing' || !this.#scope.groups.has(list.group)) return;
    this.#add(list.group, labels, listedSamples(record, this.#account.context, rollingState === 'missing'));
  }

  /** @returns the metric data, where the answer holds them */
  #metrics(task: Task, labels: WrittenLabels, reading: WindowReading | undefined): WindowReading | undefined {
    const isServed = this.#single(task) !== 'missing';
    if (!isServed || reading === undefined) return undefined;
    this.#add(task.group, labels, reading.samples);
    this.#add('custom_metrics', labels, reading.customSamples);
    return reading;
  }

  #stateOf(task: Task): TaskState {
    return this.#account.schedule.stateOf(task, this.#time);
  }

  /** Something that is read by itself; its state. */
  #single(task: Task): TaskState {
    const state = this.#stateOf(task);
    this.#count(task, state, undefined);
    this.#window(task, state);
    return state;
  }

  /** A list counts by what it brings; one that was never read, or waits, counts as one task that is missing. */
  #list(list: Task): void {
    const state = this.#stateOf(list);
    if (list.lastRead === undefined || this.#waits(list)) this.#count(list, 'missing', undefined);
    // One that brings nothing is a part of the answer, too.
    else if (this.#needs.always.has(list.group)) this.complete &&= state === 'fresh';
    this.#window(list, state);
  }

  /** True for key transactions that are not served yet, because their applications' names are not known. */
  #waits(list: Task): boolean {
    const { applicationList, keyTransactionList } = this.#account.inventory;
    return list === keyTransactionList && !applicationList.tried;
  }

  /** @param task what it is read as: a list entry by its list */
  #count(task: Task, state: TaskState, rolling: Task | undefined): void {
    const { schedule } = this.#account;
    const { group } = task;
    const ofBoth = rolling === undefined ? state : worse(state, this.#stateOf(rolling));
    if (this.#needs.always.has(group)) {
      // Rolling values do not matter to a scope that needs the group for its list only.
      this.complete &&= (this.#needs.rolling.has(group) ? ofBoth : state) === 'fresh';
    }
    if (!schedule.isInDemand(task)) return;
    const isRollingInDemand = rolling !== undefined && schedule.isInDemand(rolling);
    this.of(group).tasks[isRollingInDemand ? ofBoth : state] += 1;
  }

  #window(task: Task, state: TaskState): void {
    const { lastRead, group } = task;
    if (lastRead === undefined || state === 'missing') return;
    const { windowEnd } = lastRead;
    if (isWindowGroup(group)) this.newestWindowEnd = Math.max(this.newestWindowEnd ?? windowEnd, windowEnd);
    if (!this.#account.schedule.isInDemand(task)) return;
    const tally = this.of(group);
    tally.oldestWindowEnd = Math.min(tally.oldestWindowEnd, windowEnd);
  }

  #countCut(reading: WindowReading | undefined): void {
    if (reading === undefined || !this.#scope.groups.has('custom_metrics')) return;
    // An answer may have none of the metrics of which some are cut.
    for (const [family, series] of reading.cut) this.cut.push({ family, series, reading });
  }

  #add(group: Group, { labels, bytes }: WrittenLabels, samples: WrittenSamples): void {
    if (samples.values.length === 0 || !this.#scope.groups.has(group)) return;
    this.blocks.push({ group, labels, labelBytes: bytes, samples });
  }
}

/** The state of a list entry whose rolling values have a state of their own. */
function worse(state: TaskState, rollingState: TaskState): TaskState {
  return state === 'missing' || rollingState === 'fresh' ? state : rollingState;
}

function isWindowGroup(group: Group): boolean {
  return group === 'application_metrics' || group === 'host_metrics';
}
