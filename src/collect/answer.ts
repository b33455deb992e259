import { inSlices } from '../eventLoop/turns.ts';
import type { Block, DroppedSeries, Group, WrittenLabels, WrittenSamples } from '../metrics/sample.ts';
import type { AccountCollector } from './accountCollector.ts';
import type { Entity } from './entity.ts';
import { concerns } from './inventory.ts';
import { listedSamples, type ApplicationRecord, type ListRecord, type WindowReading } from './records.ts';
import type { QueryRecord } from './queryRecords.ts';
import { isEnabled } from './selection.ts';
import { neededGroups, type Needs, type Scope } from './refresh.ts';
import type { AnswerTime, EntityState } from './due.ts';

/** The entities of a group that something asks for. */
export interface GroupTally {
  readonly entities: Record<EntityState, number>;
  /** End of the oldest window that is served, Unix seconds; Infinity where none is. */
  oldestWindowEnd: number;
}

/**
 * What an account serves for a scope, whatever is held and not too old, under the labels of today; and how much of the
 * account is fresh, stale and missing. One walk gives both, so that an answer never counts as fresh what it does not hold.
 *
 * What a list brings counts one by one, each by the state of its list; with rolling values of its own, by the worse of both.
 */
export class AccountAnswer {
  readonly blocks: Block[] = [];
  /** Series left out by the caps of custom metrics and queries, reading by reading. */
  readonly cut: DroppedSeries[] = [];
  /** True when every entity of the scope, with the lists they come from, is fresh. */
  complete = true;
  /** The end of the newest window of metric data that is served. */
  newestWindowEnd: number | undefined;
  readonly #account: AccountCollector;
  readonly #scope: Scope;
  readonly #time: AnswerTime;
  readonly #needs: Needs;
  readonly #groups = new Map<Group, GroupTally>();

  private constructor(account: AccountCollector, scope: Scope, time: AnswerTime) {
    this.#account = account;
    this.#scope = scope;
    this.#time = time;
    this.#needs = neededGroups(scope, account.context);
  }

  /** In portions between which other work goes on; all that belongs to one application is of one moment. */
  static async inPortions(account: AccountCollector, scope: Scope, time: AnswerTime): Promise<AccountAnswer> {
    const answer = new AccountAnswer(account, scope, time);
    await inSlices(answer.#walk());
    return answer;
  }

  static atOnce(account: AccountCollector, scope: Scope, time: AnswerTime): AccountAnswer {
    const answer = new AccountAnswer(account, scope, time);
    Array.from(answer.#walk());
    return answer;
  }

  of(group: Group): GroupTally {
    let tally = this.#groups.get(group);
    if (tally === undefined) {
      tally = { entities: { fresh: 0, stale: 0, missing: 0 }, oldestWindowEnd: Infinity };
      this.#groups.set(group, tally);
    }
    return tally;
  }

  /**
   * The applications in the order of their list, each with all that belongs to it, then the key transactions, then the
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
    for (const record of inventory.queries.all()) {
      this.#query(record);
      yield undefined;
    }
  }

  #query({ entity, labels, samples, cut }: QueryRecord): void {
    if (this.#single(entity) === 'missing') return;
    this.#add('queries', labels, samples);
    if (this.#scope.groups.has('queries')) this.cut.push(...cut);
  }

  #application(record: ApplicationRecord): void {
    const { labels, data } = record;
    this.#entry(this.#account.inventory.applicationList, record);
    if (data === undefined) return;
    for (const entity of [data.datastoreList, data.customNameList]) if (entity !== undefined) this.#single(entity);
    this.#countCut(this.#metrics(data.metrics, labels, data.reading));
    const { hostList, instanceList } = data;
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
  #entry(list: Entity, record: ListRecord): void {
    const { labels, rolling } = record;
    const state = this.#stateOf(list);
    const ofRolling = rolling === undefined ? undefined : this.#stateOf(rolling.entity);
    if (list.held !== undefined) this.#count(list, state, rolling?.entity);
    if (rolling !== undefined && ofRolling !== undefined) this.#window(rolling.entity, ofRolling);
    if (state === 'missing' || !this.#scope.groups.has(list.group)) return;
    this.#add(list.group, labels, listedSamples(record, this.#account.context, ofRolling === 'missing'));
  }

  /** @returns the metric data, where the answer holds them */
  #metrics(entity: Entity, labels: WrittenLabels, reading: WindowReading | undefined): WindowReading | undefined {
    const isServed = this.#single(entity) !== 'missing';
    if (!isServed || reading === undefined) return undefined;
    this.#add(entity.group, labels, reading.samples);
    this.#add('custom_metrics', labels, reading.customSamples);
    return reading;
  }

  #stateOf(entity: Entity): EntityState {
    return this.#account.timetable.stateOf(entity, this.#time);
  }

  /** Something that is read by itself; its state. */
  #single(entity: Entity): EntityState {
    const state = this.#stateOf(entity);
    this.#count(entity, state, undefined);
    this.#window(entity, state);
    return state;
  }

  /** A list counts by what it brings; one that was never read, or waits, counts as one entity that is missing. */
  #list(list: Entity): void {
    const state = this.#stateOf(list);
    if (list.held === undefined || this.#waits(list)) this.#count(list, 'missing', undefined);
    // One that brings nothing is a part of the answer, too.
    else if (this.#needs.always.has(list.group)) this.complete &&= state === 'fresh';
    this.#window(list, state);
  }

  /** True for key transactions that are not served yet, because their applications' names are not known. */
  #waits(list: Entity): boolean {
    const { applicationList, keyTransactionList } = this.#account.inventory;
    return list === keyTransactionList && !applicationList.tried;
  }

  /** @param entity what it is read as: a list entry by its list */
  #count(entity: Entity, state: EntityState, rolling: Entity | undefined): void {
    const { timetable } = this.#account;
    const { group } = entity;
    const ofBoth = rolling === undefined ? state : worse(state, this.#stateOf(rolling));
    if (this.#needs.always.has(group)) {
      // Rolling values do not matter to a scope that needs the group for its list only.
      this.complete &&= (this.#needs.rolling.has(group) ? ofBoth : state) === 'fresh';
    }
    if (!timetable.counts(entity)) return;
    const isAsked = rolling !== undefined && timetable.counts(rolling);
    this.of(group).entities[isAsked ? ofBoth : state] += 1;
  }

  #window(entity: Entity, state: EntityState): void {
    const { held, group } = entity;
    if (held === undefined || state === 'missing') return;
    const { windowEnd } = held;
    if (isWindowGroup(group)) this.newestWindowEnd = Math.max(this.newestWindowEnd ?? windowEnd, windowEnd);
    if (!this.#account.timetable.counts(entity)) return;
    const tally = this.of(group);
    tally.oldestWindowEnd = Math.min(tally.oldestWindowEnd, windowEnd);
  }

  #countCut(reading: WindowReading | undefined): void {
    if (reading === undefined || !this.#scope.groups.has('custom_metrics')) return;
    // An answer may have none of the metrics of which some are cut.
    const number = Math.max(reading.customSamples.number, reading.samples.number);
    for (const [family, series] of reading.cut) this.cut.push({ family, series, number });
  }

  #add(group: Group, { labels, bytes }: WrittenLabels, samples: WrittenSamples): void {
    if (samples.values.length === 0 || !this.#scope.groups.has(group)) return;
    this.blocks.push({ group, labels, labelBytes: bytes, samples });
  }
}

/** The state of a list entry whose rolling values have a state of their own. */
function worse(state: EntityState, ofRolling: EntityState): EntityState {
  return state === 'missing' || ofRolling === 'fresh' ? state : ofRolling;
}

function isWindowGroup(group: Group): boolean {
  return group === 'application_metrics' || group === 'host_metrics';
}
