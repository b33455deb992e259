import { coversApplication, isEnabled } from './scope.ts';
import type { AccountContext } from './context.ts';
import { Costs } from './costs.ts';
import { Inventory } from './inventory.ts';
import { unitsOf, type ApplicationRecord } from './records.ts';
import { Unit } from './unit.ts';
import { Units } from './units.ts';
import type { Scope } from './view.ts';
import { applicationsWork, keyTransactionsWork } from './works.ts';

/** Upstream's page size for lists (api-facts 5), to know how many calls a list takes. */
const PAGE_SIZE = 200;

/** Everything an account reads: its two lists, and the units of the applications that the lists bring. */
export class Roster {
  readonly inventory: Inventory;
  readonly applications: Unit;
  readonly keyTransactions: Unit;
  readonly costs = new Costs();
  readonly #context: () => AccountContext;

  /** @param retired told of every unit that leaves */
  constructor(context: () => AccountContext, now: () => number, retired: (unit: Unit) => void) {
    this.#context = context;
    this.inventory = new Inventory(context, new Units(context, now, this.costs, retired));
    this.applications = new Unit('applications', {}, now(), applicationsWork(context), ({ value }) => {
      this.costs.learn(this.applications, pages(value.length));
      this.inventory.setApplications(value);
    });
    this.keyTransactions = new Unit('key_transactions', {}, now(), keyTransactionsWork(context), ({ value }) => {
      if (this.#readsKeyTransactions) this.costs.learn(this.keyTransactions, pages(value.length));
      this.inventory.setKeyTransactions(value);
    });
    this.costs.add(this.applications);
    if (this.#readsKeyTransactions) this.costs.add(this.keyTransactions);
  }

  /** Every unit that matters to a scope's application, or all: lists first. */
  *units({ applicationId }: Pick<Scope, 'applicationId'>): Generator<Unit> {
    yield this.applications;
    if (this.#readsKeyTransactions) yield this.keyTransactions;
    const { applications } = this.inventory;
    if (applicationId !== undefined) yield* unitsOf(applications.get(applicationId));
    else for (const record of applications.values()) yield* unitsOf(record);
  }

  /** What may have become due for a scope because `unit` has ended: all after a list, else that application's. */
  related(unit: Unit, scope: Scope): Iterable<Unit> {
    if (unit.group === 'key_transactions' || unit.group === 'host_metrics') return [unit];
    if (unit.subject.applicationId === undefined) return this.units(scope);
    return coversApplication(scope, unit.subject.applicationId) ? unitsOf(this.#recordOf(unit)) : [];
  }

  /** The list that says whether what a unit is about exists; undefined for a list of the account. */
  listOf(unit: Unit): Unit | undefined {
    if (unit.subject.applicationId === undefined) return undefined;
    return unit.subject.hostKey === undefined ? this.applications : this.#recordOf(unit)?.units?.hosts;
  }

  /**
   * False for metric data that has to wait: for the first reading of the names to ask for, and a host's for the first of
   * its application, which decides the database kind.
   */
  isReady(unit: Unit): boolean {
    if (unit.group !== 'application_metrics' && unit.group !== 'host_metrics') return true;
    const units = this.#recordOf(unit)?.units;
    if (units === undefined || !units.names.tried || units.customNames?.tried === false) return false;
    return unit.group === 'application_metrics' || units.metrics.tried;
  }

  /** Has the configuration changed by `change`, and follows it. */
  reconfigure(change: () => void): void {
    const before = this.#context();
    if (this.#readsKeyTransactions) this.costs.remove(this.keyTransactions);
    change();
    if (this.#readsKeyTransactions) this.costs.add(this.keyTransactions);
    const { account, customMetrics } = this.#context();
    this.inventory.reconfigure(customMetrics !== before.customMetrics);
    this.applications.overdue ||= differ(before.account.applications.include, account.applications.include);
    this.keyTransactions.overdue ||= differ(before.account.key_transactions, account.key_transactions);
  }

  get #readsKeyTransactions(): boolean {
    return isEnabled(this.#context().account, 'key_transactions');
  }

  #recordOf({ subject }: Unit): ApplicationRecord | undefined {
    return subject.applicationId === undefined ? undefined : this.inventory.applications.get(subject.applicationId);
  }
}

function differ(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}

function pages(entities: number): number {
  return Math.max(1, Math.ceil(entities / PAGE_SIZE));
}
