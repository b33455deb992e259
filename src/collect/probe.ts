import { GROUPS } from '../metrics/groups.ts';
import type { Block } from '../metrics/sample.ts';
import type { AccountCollector } from './account.ts';
import { answerOf, unitState, type AnswerTime } from './answer.ts';
import { explainReading } from './explain.ts';
import { unitsOf, type ApplicationRecord } from './records.ts';
import type { Unit } from './unit.ts';
import type { Scope } from './view.ts';

/** What a probe of one application gives (contract 3, `/probe`). */
export type ProbeResult =
  | { readonly kind: 'unknown_account' }
  | { readonly kind: 'unknown_application' }
  /** The application list could not be read, so nobody knows; the notes say why. */
  | { readonly kind: 'unreadable'; readonly notes: readonly string[] }
  /** `success`: nothing failed and nothing is missing; `notes`: what was read and why a family is absent, in words. */
  | {
      readonly kind: 'answer';
      readonly success: boolean;
      readonly blocks: readonly Block[];
      readonly notes: readonly string[];
    };

/** Does the lists' and one application's work, and answers for that application. `clock` gives Unix milliseconds. */
export async function probeAccount(
  account: AccountCollector,
  applicationId: number,
  refresh: (scope: Scope) => Promise<void>,
  clock: () => number,
): Promise<ProbeResult> {
  const scope: Scope = { groups: new Set(GROUPS), account: account.config.name, applicationId };
  const asOf = clock();
  await refresh(scope);
  const time = { asOf, now: clock() };
  const record = account.inventory.applications.get(applicationId);
  const lists = [account.applications, ...(account.config.key_transactions === false ? [] : [account.keyTransactions])];
  const notes = lists.map((unit) => noteOf(account, unit, time));
  if (account.inventory.applicationList === undefined) return { kind: 'unreadable', notes };
  if (record === undefined) {
    return account.up ? { kind: 'unknown_application' } : { kind: 'unreadable', notes };
  }
  const units = [...lists, ...unitsOf(record)];
  return {
    kind: 'answer',
    success:
      account.refused === undefined &&
      units.every((unit) => unit.failures === 0 && unitState(account, unit, time) !== 'missing'),
    blocks: answerOf(account, scope, time).blocks,
    notes: [...notes, ...unitsOf(record).map((unit) => noteOf(account, unit, time)), ...absences(record)],
  };
}

function noteOf(account: AccountCollector, unit: Unit, time: AnswerTime): string {
  const { hostKey } = unit.subject;
  const what = hostKey === undefined ? unit.group : `${unit.group} of host ${hostKey}`;
  const state = unitState(account, unit, time);
  const held =
    unit.held === undefined
      ? 'nothing is held'
      : `held since ${new Date(unit.held.fetchedAt).toISOString()} for the window that ends ` +
        new Date(unit.held.windowEnd * 1000).toISOString();
  const took = unit.seconds === undefined ? '' : `, the last attempt took ${unit.seconds.toFixed(3)} s`;
  const problem = unit.problem === undefined ? '' : `; failed ${unit.failures} times in a row: ${unit.problem}`;
  return `${what}: ${state}, ${held}${took}${problem}`;
}

function absences(record: ApplicationRecord): string[] {
  if (record.units === undefined)
    return ['no metric data: the application does not report (applications.reporting_only)'];
  const { names, metrics } = record.units;
  const datastores = names.held?.value;
  const known =
    datastores === undefined
      ? ['database types: not known, so there are no component times, component calls and total time']
      : [
          `database types: ${datastores.length === 0 ? 'none' : datastores.join(', ')}; what counts: ${record.database?.choice ?? 'not decided'}`,
        ];
  if (metrics.held === undefined) return known;
  return [...known, ...explainReading(metrics.held.value)];
}
