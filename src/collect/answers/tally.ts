import type { Group } from '../../metrics/groups.ts';
import { isEnabled } from '../inventory/context.ts';
import type { Entity } from '../inventory/entity.ts';
import type { ApplicationRecord, HostRecord, KeyTransactionRecord } from '../inventory/records.ts';
import { coversApplication, neededGroups, type Needs } from '../schedule/scope.ts';
import type { AnswerTime, EntityState, Scope } from '../view.ts';
import type { AnsweredAccount } from './answer.ts';
import type { Visitor } from './visit.ts';

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
