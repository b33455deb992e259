import type { Group } from '../../metrics/groups.ts';
import type { Block, DroppedSeries, WrittenLabels, WrittenSamples } from '../../metrics/sample.ts';
import type { AccountContext } from '../inventory/context.ts';
import type { Entity } from '../inventory/entity.ts';
import { concerns, type Inventory } from '../inventory/inventory.ts';
import type { ApplicationRecord, KeyTransactionRecord, Listed, WindowReading } from '../inventory/records.ts';
import type { AccountProgress } from '../schedule/accountProgress.ts';
import type { Budget } from '../schedule/budget.ts';
import { coversApplication } from '../schedule/scope.ts';
import type { Timetable } from '../schedule/timetable.ts';
import type { AnswerTime, EntityState, Scope } from '../view.ts';
import { visitAtOnce, type Visitor } from './visit.ts';

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
