import { UpstreamError } from '../api/errors.ts';
import type { AccountConfig } from '../config/config.ts';
import { GROUPS, type Group } from '../metrics/groups.ts';
import type { Clock } from './clock.ts';
import { intervalOf, type AccountContext } from './context.ts';
import { dueAt, type Pace } from './due.ts';
import { Inventory } from './inventory.ts';
import { planCalls, type GroupCalls, type Plan } from './plan.ts';
import { GroupProgress } from './progress.ts';
import { unitsOf, type ApplicationRecord } from './records.ts';
import { Refresh } from './refresh.ts';
import { Scheduler } from './scheduler.ts';
import { isEnabled } from './scope.ts';
import { Unit } from './unit.ts';
import type { Scope } from './view.ts';
import { windowAt, type Window } from './window.ts';
import { applicationsWork, keyTransactionsWork } from './works.ts';

/** Upstream's page size for lists (api-facts 5), to know how many calls a list takes. */
const PAGE_SIZE = 200;

/** Groups whose refresh can change which entities there are. */
const LISTS: ReadonlySet<Group> = new Set(['applications', 'key_transactions', 'hosts', 'instances']);

/** Who is told what happens to an account's units, for the log. */
export interface AccountListener {
  /** A unit began to fail, fails for another reason, or works again (`problem` undefined). */
  changed(unit: Unit, problem: string | undefined): void;
  /** All work of a refresh has ended. */
  refreshed(refresh: Refresh, seconds: number): void;
  refused(reason: string | undefined): void;
}

/**
 * Collects one account: keeps its inventory, decides what is due, and has it read under the account's budget
 * (contract 4). A scrape asks with `refresh`; the work it starts goes on after the scrape was answered.
 */
export class AccountCollector {
  readonly inventory: Inventory;
  readonly applications: Unit;
  readonly keyTransactions: Unit;
  readonly scheduler: Scheduler;
  readonly progress: ReadonlyMap<Group, GroupProgress>;
  readonly #clock: Clock;
  readonly #listener: AccountListener;
  readonly #refreshes = new Set<Refresh>();
  /** Called whenever work has ended: waiting scrapes look again. */
  readonly #watchers = new Set<() => void>();
  #context: AccountContext;
  #window: Window;
  #plan: Plan | undefined;
  /** Why upstream refuses the account; then only the application list is read, once per interval. */
  #refused: string | undefined;

  constructor(context: AccountContext, clock: Clock, listener: AccountListener) {
    this.#context = context;
    this.#clock = clock;
    this.#listener = listener;
    const current = (): AccountContext => this.#context;
    this.#window = windowAt(clock.now(), context.collection);
    this.inventory = new Inventory(current, () => clock.now());
    this.progress = new Map(GROUPS.map((group) => [group, new GroupProgress(group)]));
    this.scheduler = new Scheduler(context.account.limits, clock, {
      dueAt: (unit) => (unit.held === undefined ? -Infinity : dueAt(unit.held, this.pace(unit.group))),
      intervalOf: (group) => intervalOf(this.#context.collection, group),
      window: () => this.#window,
      mayStart: (unit) => this.#refused === undefined || unit === this.applications,
      queued: (unit) => this.#progressOf(unit).queued(unit, this.#window.to, clock.now()),
      ended: (unit, error) => this.#ended(unit, error),
    });
    this.applications = new Unit('applications', {}, clock.now(), applicationsWork(current), ({ value }) => {
      this.inventory.setApplications(value);
    });
    this.keyTransactions = new Unit('key_transactions', {}, clock.now(), keyTransactionsWork(current), ({ value }) => {
      this.inventory.setKeyTransactions(value);
    });
  }

  get config(): AccountConfig {
    return this.#context.account;
  }

  get context(): AccountContext {
    return this.#context;
  }

  get refused(): string | undefined {
    return this.#refused;
  }

  /** True when the last application list was read whole (`newrelic_up`). */
  get up(): boolean {
    return this.applications.held !== undefined && this.applications.failures === 0;
  }

  /** How often a group is refreshed, the budget considered. */
  pace(group: Group): Pace {
    const { collection } = this.#context;
    return { interval: intervalOf(collection, group), stretch: this.plan().stretch, delay: collection.delay };
  }

  /** What a steady state of what is known now costs. */
  plan(): Plan {
    const { account, collection } = this.#context;
    this.#plan ??= planCalls(
      this.#calls(),
      (group) => intervalOf(collection, group),
      account.limits.requests_per_minute,
    );
    return this.#plan;
  }

  /** Takes over a changed configuration; what is held and what was spent stay (contract 2, Reload). */
  reconfigure(context: AccountContext): void {
    const listsChanged =
      JSON.stringify([this.config.applications.include, this.config.key_transactions]) !==
      JSON.stringify([context.account.applications.include, context.account.key_transactions]);
    this.#context = context;
    this.#plan = undefined;
    this.scheduler.resize(context.account.limits);
    this.inventory.reconfigure();
    if (listsChanged) for (const unit of [this.applications, this.keyTransactions]) unit.overdue = true;
    this.keyChanged();
  }

  /** The key is another one: a refused account is tried again at once. */
  keyChanged(): void {
    for (const unit of this.#units()) unit.retryAt = 0;
    if (this.#refused !== undefined) this.#setRefused(undefined);
  }

  /**
   * Starts whatever is due in the scope. Resolves when all of it has ended, when the deadline (Unix milliseconds) is
   * reached, or at once when it cannot end before (contract 4, point 4). The work goes on either way.
   */
  async refresh(scope: Scope, deadline: number): Promise<void> {
    const now = this.#clock.now();
    const window = windowAt(now, this.#context.collection);
    if (window.to > this.#window.to) this.#window = window;
    const refresh = new Refresh(scope, now);
    this.#refreshes.add(refresh);
    this.#join(refresh, this.#units());
    this.scheduler.pump();
    await this.#ends(refresh, deadline);
  }

  /** Ends for good: no call starts any more, calls in flight are aborted. */
  stop(): void {
    this.scheduler.stop();
    for (const watch of [...this.#watchers]) watch();
  }

  /** Adds what is due of `units` to a refresh and to the queue. */
  #join(refresh: Refresh, units: Iterable<Unit>): void {
    for (const unit of units) {
      if (!this.#wants(refresh, unit)) continue;
      refresh.add(unit);
      this.scheduler.enqueue(unit);
    }
    this.#finishIfDone(refresh);
  }

  #finishIfDone(refresh: Refresh): void {
    if (refresh.pending.size > 0 || !this.#refreshes.delete(refresh)) return;
    if (refresh.units > 0) this.#listener.refreshed(refresh, (this.#clock.now() - refresh.askedAt) / 1000);
  }

  #wants(refresh: Refresh, unit: Unit): boolean {
    if (unit.gone || !refresh.covers(unit)) return false;
    if (this.#refused !== undefined && unit !== this.applications) return false;
    if (unit.state !== 'idle') return true;
    if (unit.retryAt > refresh.askedAt || !this.#ready(unit)) return false;
    return unit.held === undefined || unit.overdue || dueAt(unit.held, this.pace(unit.group)) <= refresh.askedAt;
  }

  /**
   * Metric data waits for the first reading of the names to ask for, a host's also for the first of its application,
   * which decides the database kind.
   */
  #ready(unit: Unit): boolean {
    if (unit.group !== 'application_metrics' && unit.group !== 'host_metrics') return true;
    const units = this.inventory.applications.get(unit.subject.applicationId ?? 0)?.units;
    if (units === undefined || !units.names.tried || units.customNames?.tried === false) return false;
    return unit.group === 'application_metrics' || units.metrics.tried;
  }

  #ended(unit: Unit, error: unknown): void {
    const now = this.#clock.now();
    if (LISTS.has(unit.group)) this.#plan = undefined;
    this.#noteRefusal(unit, error);
    this.#progressOf(unit).ended(unit, error !== undefined, now);
    if (LISTS.has(unit.group)) this.#forgetGone(now);
    if (unit === this.applications && error === undefined) this.#reportIdleGroups(now);
    const related = this.#related(unit);
    for (const refresh of [...this.#refreshes]) {
      if (!refresh.pending.delete(unit)) continue;
      if (error !== undefined) refresh.failures += 1;
      this.#join(refresh, related);
    }
    this.#listener.changed(unit, unit.problem);
    for (const watch of [...this.#watchers]) watch();
  }

  /** What may have become due because `unit` has ended: all of an account after a list, else that application's. */
  #related(unit: Unit): Iterable<Unit> {
    if (unit.group === 'key_transactions' || unit.group === 'host_metrics') return [unit];
    if (unit.subject.applicationId === undefined) return this.#units();
    const record = this.inventory.applications.get(unit.subject.applicationId);
    return record === undefined ? [] : unitsOf(record);
  }

  /** A 401 anywhere, or a 403 on the application list, stops the account until that list works again. */
  #noteRefusal(unit: Unit, error: unknown): void {
    if (unit === this.applications && error === undefined) {
      if (unit.failures === 0 && unit.held !== undefined) this.#setRefused(undefined);
      return;
    }
    if (!(error instanceof UpstreamError)) return;
    const { reason } = error.failure;
    if (reason !== 'auth' && !(reason === 'forbidden' && unit === this.applications)) return;
    const interval = intervalOf(this.#context.collection, 'applications');
    this.applications.retryAt = this.#clock.now() + interval;
    this.#setRefused(error.message);
  }

  #setRefused(reason: string | undefined): void {
    if (reason === this.#refused) return;
    this.#refused = reason;
    this.#listener.refused(reason);
    if (reason === undefined) return;
    // What waits would be refused, too: refreshes go on without it.
    this.#leaveOut((unit) => unit.state === 'queued' && unit !== this.applications);
  }

  /** Units that left the inventory before their turn are waited for by nobody. */
  #forgetGone(now: number): void {
    for (const progress of this.progress.values()) progress.forgetGone(now);
    this.#leaveOut((unit) => unit.gone && unit.state !== 'running');
  }

  #leaveOut(unwanted: (unit: Unit) => boolean): void {
    for (const refresh of [...this.#refreshes]) {
      for (const unit of refresh.pending) if (unwanted(unit)) refresh.pending.delete(unit);
      this.#finishIfDone(refresh);
    }
  }

  #reportIdleGroups(now: number): void {
    const busy = new Set([...this.#units()].map(({ group }) => group));
    for (const [group, progress] of this.progress) {
      if (isEnabled(this.config, group) && !busy.has(group)) progress.nothingToDo(now);
    }
  }

  /** Waits for a refresh, in vain neither for a deadline nor for work that cannot end before it. */
  async #ends(refresh: Refresh, deadline: number): Promise<void> {
    const over = (): boolean =>
      !this.#refreshes.has(refresh) ||
      this.#clock.now() >= deadline ||
      (deadline !== Infinity && !this.scheduler.canEnd(refresh.pending.size, deadline));
    if (over()) return;
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        this.#watchers.delete(watch);
        cancel();
        resolve();
      };
      const watch = (): void => {
        if (over()) finish();
      };
      this.#watchers.add(watch);
      const cancel =
        deadline === Infinity ? () => undefined : this.#clock.after(Math.max(0, deadline - this.#clock.now()), finish);
    });
  }

  /** Every unit of the account, lists first. */
  *#units(): Generator<Unit> {
    yield this.applications;
    if (isEnabled(this.config, 'key_transactions')) yield this.keyTransactions;
    for (const record of this.inventory.applications.values()) yield* unitsOf(record);
  }

  #progressOf(unit: Unit): GroupProgress {
    const progress = this.progress.get(unit.group);
    if (progress === undefined) throw new Error(`no progress is kept for ${unit.group}`);
    return progress;
  }

  #calls(): GroupCalls {
    const calls = new Map<Group, number>();
    const add = (group: Group, count: number): void => void calls.set(group, (calls.get(group) ?? 0) + count);
    add('applications', pages(this.inventory.applicationList?.length ?? 0));
    if (isEnabled(this.config, 'key_transactions')) add('key_transactions', pages(this.inventory.keyTransactions.length));
    for (const record of this.inventory.applications.values()) {
      for (const unit of unitsOf(record)) add(unit.group, 1);
    }
    return calls;
  }

  /** The applications it serves, for whoever shows them. */
  get records(): readonly ApplicationRecord[] {
    return [...this.inventory.applications.values()];
  }
}

function pages(entities: number): number {
  return Math.max(1, Math.ceil(entities / PAGE_SIZE));
}
