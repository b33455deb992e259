import { type Inventory, concerns } from './inventory.ts';
import type { ApplicationRecord, KeyTransactionRecord, Listed, WindowReading, HostRecord } from './records.ts';
import type { Group, Block, DroppedSeries, WrittenLabels, WrittenSamples } from '../metrics/sample.ts';
import { type AccountContext, coversApplication, isEnabled, neededGroups, type Needs } from './scope.ts';
import type { Entity } from './entity.ts';
import type { AccountProgress } from './groupProgress.ts';
import type { Budget } from './budget.ts';
import type { Timetable } from './timetable.ts';
import type { AnswerTime, EntityState, Scope } from './view.ts';

/** Looks at what an account holds, one part after another. */
interface Visitor {
  /** An application with all that belongs to it. */
  application(record: ApplicationRecord): void;
  keyTransaction(record: KeyTransactionRecord): void;
}

/**
 * Shows visitors an account: the applications in the order of their list, then the key transactions. Gives
 * after each part how many entities it had, so that other work may go on before the next. All visitors see one part as
 * it is at one moment.
 */
export function* visit(inventory: Inventory, visitors: readonly Visitor[]): Generator<number> {
  for (const record of inventory.applications.values()) {
    for (const visitor of visitors) visitor.application(record);
    yield 1 + (record.data?.hosts.size ?? 0);
  }
  for (const record of inventory.keyTransactions.values()) {
    for (const visitor of visitors) visitor.keyTransaction(record);
    yield 1;
  }
}

/** As `visit`, all at once. */
export function visitAtOnce(inventory: Inventory, visitors: readonly Visitor[]): void {
  const steps = visit(inventory, visitors);
  while (steps.next().done !== true);
}

/** What answers and pages are made of: an account as its collector holds it. */
export interface AnsweredAccount {
  readonly context: Readonly<AccountContext>;
  readonly inventory: Inventory;
  readonly timetable: Timetable;
  readonly budget: Budget;
  readonly progress: AccountProgress;
  /** True when the last application list was read whole. */
  readonly up: boolean;
  /** Why upstream refuses the account, in words; undefined when it does not. */
  readonly refused: string | undefined;
}

/** What an account serves for a scope: whatever is held and not too old, under the labels of today. */
export function answerOf(account: AnsweredAccount, scope: Scope, time: AnswerTime): AnswerDraft {
  const answer = new AnswerDraft(account, scope, time);
  visitAtOnce(account.inventory, [answer]);
  return answer;
}

/** Chooses the series of an answer. */
export class AnswerDraft implements Visitor {
  readonly blocks: Block[] = [];
  /** Series left out by the caps of custom metrics, reading by reading. */
  readonly cut: DroppedSeries[] = [];
  readonly #inventory: Inventory;
  readonly #stateOf: (entity: Entity) => EntityState;
  readonly #scope: Scope;

  constructor({ inventory, timetable }: AnsweredAccount, scope: Scope, time: AnswerTime) {
    this.#inventory = inventory;
    this.#stateOf = timetable.states(time);
    this.#scope = scope;
  }

  application(record: ApplicationRecord): void {
    if (!coversApplication(this.#scope, record.application.id)) return;
    if (this.#serves(this.#inventory.applicationList)) this.#addListed('applications', record);
    this.#addData(record);
  }

  keyTransaction(record: KeyTransactionRecord): void {
    if (!concerns(record, this.#scope.applicationId)) return;
    if (this.#serves(this.#inventory.keyTransactionList)) this.#addListed('key_transactions', record);
  }

  #serves(entity: Entity | undefined): boolean {
    return entity !== undefined && this.#stateOf(entity) !== 'missing';
  }

  /** With the rolling values that were read apart, as long as those are not too old. */
  #addListed(group: Group, { labels, samples, rolling }: Listed): void {
    const merged = rolling !== undefined && this.#serves(rolling.entity) ? rolling.samples : undefined;
    this.#add(group, labels, merged ?? samples);
  }

  #addData({ labels, data }: ApplicationRecord): void {
    if (data === undefined) return;
    if (data.reading !== undefined && this.#serves(data.metrics)) {
      this.#addReading('application_metrics', labels, data.reading);
      this.#countCut(data.reading);
    }
    const hostsServed = this.#serves(data.hostList);
    let firstHost = true;
    for (const host of data.hosts.values()) {
      if (hostsServed) this.#addListed('hosts', host);
      if (host.reading === undefined || !this.#serves(host.metrics)) continue;
      this.#addReading('host_metrics', host.labels, host.reading);
      if (firstHost) this.#countCut(host.reading);
      firstHost = false;
    }
    if (!this.#serves(data.instanceList)) return;
    for (const instance of data.instances) this.#add('instances', instance.labels, instance.samples);
  }

  #addReading(group: Group, labels: WrittenLabels, { samples, customSamples }: WindowReading): void {
    this.#add(group, labels, samples);
    this.#add('custom_metrics', labels, customSamples);
  }

  #countCut({ cut, customSamples: { number } }: WindowReading): void {
    if (!this.#scope.groups.has('custom_metrics')) return;
    for (const [family, series] of cut) this.cut.push({ family, series, number });
  }

  #add(group: Group, { labels, bytes }: WrittenLabels, samples: WrittenSamples): void {
    if (samples.values.length === 0 || !this.#scope.groups.has(group)) return;
    this.blocks.push({ group, labels, labelBytes: bytes, samples });
  }
}

/** The entities of a group that something asks for. */
export interface GroupTally {
  readonly entities: Record<EntityState, number>;
  /** End of the oldest window that is served, Unix seconds; Infinity where none is. */
  oldestWindowEnd: number;
}

/**
 * Counts how many entities of an account are fresh, stale and missing. What a list brings counts one by one, each by the
 * state of its list; with rolling values of its own, by the worse of both.
 */
export class Tally implements Visitor {
  readonly #account: AnsweredAccount;
  readonly #scope: Scope;
  readonly #needs: Needs;
  readonly #stateOf: (entity: Entity) => EntityState;
  readonly #counts: (entity: Entity) => boolean;
  readonly #groups = new Map<Group, GroupTally>();
  #complete = true;
  #newestWindowEnd: number | undefined;

  constructor(account: AnsweredAccount, scope: Scope, time: AnswerTime) {
    this.#account = account;
    this.#scope = scope;
    this.#needs = neededGroups(scope, account.context);
    this.#stateOf = account.timetable.states(time);
    this.#counts = account.timetable.counting();
    this.#list(account.inventory.applicationList);
    if (isEnabled(account.context, 'key_transactions')) this.#list(account.inventory.keyTransactionList);
  }

  /** True when every entity of the scope, with the lists they come from, is fresh. */
  get complete(): boolean {
    return this.#complete;
  }

  /** The end of the newest window of metric data that is served. */
  get newestWindowEnd(): number | undefined {
    return this.#newestWindowEnd;
  }

  of(group: Group): GroupTally {
    let tally = this.#groups.get(group);
    if (tally === undefined) {
      tally = { entities: { fresh: 0, stale: 0, missing: 0 }, oldestWindowEnd: Infinity };
      this.#groups.set(group, tally);
    }
    return tally;
  }

  application({ application: { id }, data, rolling }: ApplicationRecord): void {
    this.#listed(this.#account.inventory.applicationList, id, rolling?.entity);
    if (data === undefined) return;
    for (const entity of [data.datastoreList, data.customNameList, data.metrics]) {
      if (entity !== undefined) this.#single(entity);
    }
    if (data.hostList !== undefined) {
      this.#list(data.hostList);
      for (const host of data.hosts.values()) this.#host(data.hostList, host);
    }
    if (data.instanceList !== undefined) {
      this.#list(data.instanceList);
      for (let index = 0; index < data.instances.length; index += 1) this.#listed(data.instanceList, id, undefined);
    }
  }

  keyTransaction({ keyTransaction, rolling }: KeyTransactionRecord): void {
    this.#listed(this.#account.inventory.keyTransactionList, keyTransaction.applicationId, rolling?.entity);
  }

  #host(list: Entity, { metrics, rolling }: HostRecord): void {
    this.#listed(list, list.subject.applicationId, rolling?.entity);
    this.#single(metrics);
  }

  /** Something that is read by itself. */
  #single(entity: Entity): void {
    this.#add(entity, entity.subject.applicationId, undefined);
    this.#window(entity);
  }

  /** A list counts by what it brings; one that was never read, or waits, counts as one entity that is missing. */
  #list(list: Entity): void {
    if (list.held === undefined || this.#waits(list)) this.#add(list, list.subject.applicationId, undefined);
    this.#window(list);
  }

  /** True for key transactions that are not served yet, because their applications' names are not known. */
  #waits(entity: Entity): boolean {
    const { applicationList, keyTransactionList } = this.#account.inventory;
    return entity === keyTransactionList && !applicationList.tried;
  }

  /** Something that a list brings. */
  #listed(list: Entity, applicationId: number | undefined, rolling: Entity | undefined): void {
    if (list.held !== undefined) this.#add(list, applicationId, rolling);
    if (rolling !== undefined) this.#window(rolling);
  }

  /** @param entity what it is read as: a list entry by its list */
  #add(entity: Entity, applicationId: number | undefined, rolling: Entity | undefined): void {
    const { group } = entity;
    const state = this.#waits(entity) ? 'missing' : this.#stateOf(entity);
    if (this.#needs.always.has(group) && coversApplication(this.#scope, applicationId)) {
      // Rolling values do not matter to a scope that needs the group for its list only.
      const ofScope = this.#needs.rolling.has(group) ? this.#worse(state, rolling) : state;
      this.#complete &&= ofScope === 'fresh';
    }
    if (!this.#counts(entity)) return;
    const asked = rolling !== undefined && this.#counts(rolling);
    this.of(group).entities[asked ? this.#worse(state, rolling) : state] += 1;
  }

  #worse(state: EntityState, rolling: Entity | undefined): EntityState {
    if (rolling === undefined || state === 'missing') return state;
    const other = this.#stateOf(rolling);
    return other === 'fresh' ? state : other;
  }

  #window(entity: Entity): void {
    const { held, group } = entity;
    if (held === undefined || this.#stateOf(entity) === 'missing') return;
    const { windowEnd } = held;
    if (isWindowGroup(group)) this.#newestWindowEnd = Math.max(this.#newestWindowEnd ?? windowEnd, windowEnd);
    if (!this.#counts(entity)) return;
    const tally = this.of(group);
    tally.oldestWindowEnd = Math.min(tally.oldestWindowEnd, windowEnd);
  }
}

function isWindowGroup(group: Group): boolean {
  return group === 'application_metrics' || group === 'host_metrics';
}
