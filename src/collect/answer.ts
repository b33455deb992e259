import type { Group } from '../metrics/groups.ts';
import type { Block, Labels, Sample } from '../metrics/sample.ts';
import type { AccountCollector } from './account.ts';
import { stateOf } from './due.ts';
import type { WindowReading } from './records.ts';
import { coversApplication } from './scope.ts';
import type { Unit } from './unit.ts';
import type { Answer, EntityState, Scope } from './view.ts';

/** When an answer was asked for, which decides what is fresh, and when it is put together; Unix milliseconds. */
export interface AnswerTime {
  readonly asOf: number;
  readonly now: number;
}

/** The state of what a unit holds. */
export function unitState(account: AccountCollector, unit: Unit, time: AnswerTime): EntityState {
  return stateOf(unit.held, account.pace(unit.group), account.context.collection.max_age, time);
}

/** What an account serves for a scope: whatever is held and not too old, under the labels of today. */
export function answerOf(account: AccountCollector, scope: Scope, time: AnswerTime): Omit<Answer, 'complete'> {
  const blocks: Block[] = [];
  const cut = new Map<string, number>();
  const { inventory } = account;
  const served = (unit: Unit): boolean => unitState(account, unit, time) !== 'missing';
  const add = (group: Group, labels: Labels, samples: readonly Sample[]): void => {
    if (samples.length > 0 && scope.groups.has(group)) blocks.push({ group, labels, samples });
  };
  const addCustom = (labels: Labels, reading: WindowReading, countCut: boolean): void => {
    add('custom_metrics', labels, reading.customSamples);
    if (!countCut || !scope.groups.has('custom_metrics')) return;
    for (const [family, series] of reading.cut) cut.set(family, (cut.get(family) ?? 0) + series);
  };
  const listServed = served(account.applications);
  for (const record of inventory.applications.values()) {
    if (!coversApplication(scope, record.application.id)) continue;
    if (listServed) add('applications', record.labels, record.samples);
    const { units } = record;
    if (units === undefined) continue;
    if (units.metrics.held !== undefined && served(units.metrics)) {
      add('application_metrics', record.labels, units.metrics.held.value.samples);
      addCustom(record.labels, units.metrics.held.value, true);
    }
    const hostsServed = units.hosts !== undefined && served(units.hosts);
    let firstHost = true;
    for (const host of record.hosts.values()) {
      if (hostsServed) add('hosts', host.labels, host.samples);
      if (host.metrics?.held === undefined || !served(host.metrics)) continue;
      add('host_metrics', host.labels, host.metrics.held.value.samples);
      addCustom(host.labels, host.metrics.held.value, firstHost);
      firstHost = false;
    }
    if (units.instances === undefined || !served(units.instances)) continue;
    for (const instance of record.instances) add('instances', instance.labels, instance.samples);
  }
  if (!served(account.keyTransactions)) return { blocks, cut };
  for (const { keyTransaction, labels, samples } of inventory.keyTransactions) {
    const ofScope = scope.applicationId === undefined || keyTransaction.applicationId === scope.applicationId;
    if (ofScope) add('key_transactions', labels, samples);
  }
  return { blocks, cut };
}
