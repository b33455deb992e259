import type { AccountConfig } from '../config/config.ts';
import { GROUPS, type Group } from '../metrics/groups.ts';
import type { Clock } from './clock.ts';
import { UpstreamError } from '../api/errors.ts';
import type { AccountContext } from './context.ts';
import { Costs } from './costs.ts';
import type { Pace } from './due.ts';
import { Inventory } from './inventory.ts';
import { Pacing } from './pacing.ts';
import type { Plan } from './plan.ts';
import { GroupProgress } from './progress.ts';
import { unitsOf, type ApplicationRecord } from './records.ts';
import { Refresh } from './refresh.ts';
import { Refreshes } from './refreshes.ts';
import { Refusal } from './refusal.ts';
import { Scheduler, type Ending } from './scheduler.ts';
import { isEnabled } from './scope.ts';
import { Unit } from './unit.ts';
import type { Scope } from './view.ts';
import { applicationsWork, keyTransactionsWork } from './works.ts';

/** Upstream's page size for lists (api-facts 5), to know how many calls a list takes. */
const PAGE_SIZE = 200;

/** A clock that goes back by more than this was set; less is a correction that does no harm. */
const CLOCK_TOLERANCE = 2_000;

/** Who is told what happens to an account's units, for the log. */
export interface AccountListener {
  /** A unit was read, or could not be (`problem`). */
  ended(unit: Unit, problem: string | undefined): void;
  /** A refresh is over: all of its work has ended, or the next refresh carries on what is left. */
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
  readonly #costs = new Costs();
  readonly #pacing: Pacing;
  readonly #refreshes: Refreshes;
  readonly #refusal: Refusal;
  #context: AccountContext;
  /** When a refresh was last asked for, Unix milliseconds. */
  #lastAsked = -Infinity;

  constructor(context: AccountContext, clock: Clock, listener: AccountListener) {
    this.#context = context;
    this.#clock = clock;
    this.#listener = listener;
    const current = (): AccountContext => this.#context;
    this.#pacing = new Pacing(current, this.#costs, clock.now());
    this.#refreshes = new Refreshes(clock, (refresh, seconds) => listener.refreshed(refresh, seconds));
    this.#refusal = new Refusal((reason) => listener.refused(reason));
    this.inventory = new Inventory(
      current,
      () => clock.now(),
      this.#costs,
      (unit) => this.#forget(unit),
    );
    this.progress = new Map(GROUPS.map((group) => [group, new GroupProgress(group)]));
    this.scheduler = new Scheduler(context.account.limits, clock, {
      dueAt: (unit) => this.#pacing.dueAt(unit),
      intervalOf: (group) => this.#pacing.pace(group).interval,
      effectiveIntervalOf: (group) => this.#pacing.effectiveIntervalOf(group),
      window: () => this.#pacing.window,
      mayStart: (unit) => this.#accepts(unit),
      retryAt: (unit, { to }) => this.#retryAt(unit, to),
      queued: (unit) => this.#progressOf(unit).queued(unit, this.#pacing.window.to, clock.now()),
      ended: (unit, ending) => this.#ended(unit, ending),
    });
    this.applications = new Unit('applications', {}, clock.now(), applicationsWork(current), ({ value }) => {
      this.#costs.learn(this.applications, pages(value.length));
      this.inventory.setApplications(value);
    });
    this.keyTransactions = new Unit('key_transactions', {}, clock.now(), keyTransactionsWork(current), ({ value }) => {
      if (this.#hasKeyTransactions) this.#costs.learn(this.keyTransactions, pages(value.length));
      this.inventory.setKeyTransactions(value);
    });
    this.#costs.add(this.applications);
    if (this.#hasKeyTransactions) this.#costs.add(this.keyTransactions);
  }

  get config(): AccountConfig {
    return this.#context.account;
  }

  get context(): AccountContext {
    return this.#context;
  }

  /** Why upstream refuses the account, in words; undefined when it does not. */
  get refused(): string | undefined {
    return this.#refusal.reason;
  }

  /** True when the last application list was read whole (`newrelic_up`). */
  get up(): boolean {
    return this.applications.held !== undefined && this.applications.failures === 0;
  }

  /** The applications it serves, for whoever shows them. */
  get records(): readonly ApplicationRecord[] {
    return [...this.inventory.applications.values()];
  }

  /** How often a group is refreshed, the budget considered. */
  pace(group: Group): Pace {
    return this.#pacing.pace(group);
  }

  /** What a steady state of what is known now costs. */
  plan(): Plan {
    return this.#pacing.plan();
  }

  /** Takes over a changed configuration; what is held and what was spent stay (contract 2, Reload). */
  reconfigure(context: AccountContext): void {
    const before = this.#context;
    if (this.#hasKeyTransactions) this.#costs.remove(this.keyTransactions);
    this.#context = context;
    if (this.#hasKeyTransactions) this.#costs.add(this.keyTransactions);
    this.#pacing.reset(this.#clock.now());
    this.inventory.reconfigure(context.customMetrics !== before.customMetrics);
    this.applications.overdue ||= differ(before.account.applications.include, context.account.applications.include);
    this.keyTransactions.overdue ||= differ(before.account.key_transactions, context.account.key_transactions);
    this.keyChanged();
    this.scheduler.resize(context.account.limits);
  }

  /** The key is another one: whatever failed is tried again with the next refresh. */
  keyChanged(): void {
    for (const unit of this.#units({})) unit.retryAt = 0;
    this.#refusal.lift(this.#clock.now());
  }

  /**
   * Starts whatever is due in the scope. Resolves when all of it has ended (true), when the deadline (Unix milliseconds)
   * is reached, or at once when it cannot end before (contract 4, point 4). The work goes on either way.
   */
  async refresh(scope: Scope, deadline: number): Promise<boolean> {
    const now = this.#clock.now();
    if (now < this.#lastAsked - CLOCK_TOLERANCE) this.#clockSetBack();
    this.#lastAsked = now;
    this.#pacing.moveOn(now);
    const refresh = new Refresh(scope, now);
    this.#refreshes.open(refresh);
    this.#join(refresh, this.#units(scope));
    this.scheduler.pump();
    return this.#refreshes.wait(
      refresh,
      deadline,
      () => deadline === Infinity || this.scheduler.canEnd(refresh.pending.size, deadline),
    );
  }

  /** Ends for good: no call starts any more, calls in flight are aborted. */
  stop(): void {
    this.scheduler.stop();
    this.#refreshes.closeAll();
  }

  /** Adds what is due of `units` to a refresh and to the queue. */
  #join(refresh: Refresh, units: Iterable<Unit>): void {
    const overloaded = this.plan().stretch > 1;
    for (const unit of units) {
      if (!this.#mayRead(refresh, unit)) continue;
      const dueAt = this.#pacing.dueAt(unit);
      if (unit.state !== 'idle' || unit.overdue || dueAt <= refresh.askedAt) {
        refresh.add(unit);
        this.scheduler.enqueue(unit);
      } else if (overloaded && dueAt < this.#pacing.nextWindowAt) {
        // The next scrape may be as far away as the next window: until then the budget would lie idle. Nobody waits.
        this.scheduler.enqueue(unit);
      }
    }
    this.#refreshes.closeIfDone(refresh);
  }

  #mayRead(refresh: Refresh, unit: Unit): boolean {
    if (unit.gone || !refresh.covers(unit) || !this.#accepts(unit)) return false;
    return unit.state !== 'idle' || (unit.retryAt <= refresh.askedAt && this.#ready(unit));
  }

  /** While upstream refuses the account, only the application list is read. */
  #accepts(unit: Unit): boolean {
    return this.refused === undefined || unit === this.applications;
  }

  #retryAt(unit: Unit, windowEnd: number): number {
    const now = this.#clock.now();
    // Once per interval while the account is refused, whatever the list answers.
    if (this.refused !== undefined && unit === this.applications) return this.#pacing.nextTurn('applications', now);
    return this.#pacing.retryAt(unit, windowEnd, now);
  }

  /**
   * Metric data waits for the first reading of the names to ask for, a host's also for the first of its application,
   * which decides the database kind.
   */
  #ready(unit: Unit): boolean {
    if (unit.group !== 'application_metrics' && unit.group !== 'host_metrics') return true;
    const units = this.#recordOf(unit)?.units;
    if (units === undefined || !units.names.tried || units.customNames?.tried === false) return false;
    return unit.group === 'application_metrics' || units.metrics.tried;
  }

  #ended(unit: Unit, ending: Ending): void {
    if (unit.gone) return;
    const now = this.#clock.now();
    const failed = ending.kind !== 'read';
    const doubted = ending.kind === 'failed' ? this.#doubt(unit, ending.error) : undefined;
    if (ending.kind !== 'not_started') this.#note(unit, ending.kind === 'failed' ? ending.error : undefined, now);
    this.#progressOf(unit).ended(unit, failed, now);
    for (const refresh of this.#refreshes.ended(unit, failed)) {
      this.#join(refresh, this.#related(unit, refresh));
      if (doubted !== undefined) this.#join(refresh, [doubted]);
    }
    this.#refreshes.notify();
  }

  #note(unit: Unit, error: unknown, now: number): void {
    const isList = unit === this.applications;
    if (this.#refusal.note(unit, isList, error, now)) this.#stand(now);
    if (isList && error === undefined) this.#reportIdleGroups(now);
    this.#listener.ended(unit, unit.problem);
  }

  /** An entity that upstream does not know may be gone: the list it is from tells, unless it was just read. */
  #doubt(unit: Unit, error: unknown): Unit | undefined {
    if (!(error instanceof UpstreamError) || error.failure.reason !== 'not_found') return undefined;
    const list = unit.subject.hostId === undefined ? this.applications : this.#recordOf(unit)?.units?.hosts;
    if (list?.held === undefined || list === unit || list.held.windowEnd >= this.#pacing.window.to) return undefined;
    list.overdue = true;
    return list;
  }

  /** What may have become due because `unit` has ended: all of the refresh after a list, else that application's. */
  #related(unit: Unit, refresh: Refresh): Iterable<Unit> {
    if (unit.group === 'key_transactions' || unit.group === 'host_metrics') return [unit];
    return unit.subject.applicationId === undefined ? this.#units(refresh.scope) : unitsOf(this.#recordOf(unit));
  }

  /** Upstream refuses the account: what waits would be refused, too, so refreshes go on without it. */
  #stand(now: number): void {
    this.applications.retryAt = Math.max(this.applications.retryAt, this.#pacing.nextTurn('applications', now));
    this.#refreshes.leaveOut((unit) => unit.state === 'queued' && unit !== this.applications);
  }

  /** A unit left the inventory: nobody waits for it. */
  #forget(unit: Unit): void {
    this.#progressOf(unit).ended(unit, false, this.#clock.now());
    this.#refreshes.forget(unit);
  }

  #reportIdleGroups(now: number): void {
    for (const [group, progress] of this.progress) {
      if (isEnabled(this.config, group) && !this.#costs.calls.has(group)) progress.nothingToDo(now);
    }
  }

  /** The clock was set back: what was read in what is now the future is read again, and nothing waits for that future. */
  #clockSetBack(): void {
    this.#pacing.reset(this.#clock.now());
    this.scheduler.clockSetBack();
    this.keyChanged();
    for (const unit of this.#units({})) unit.overdue = true;
  }

  get #hasKeyTransactions(): boolean {
    return isEnabled(this.config, 'key_transactions');
  }

  /** Every unit of the account, or those that matter to one of its applications: lists first. */
  *#units({ applicationId }: Pick<Scope, 'applicationId'>): Generator<Unit> {
    yield this.applications;
    if (this.#hasKeyTransactions) yield this.keyTransactions;
    const { applications } = this.inventory;
    if (applicationId !== undefined) yield* unitsOf(applications.get(applicationId));
    else for (const record of applications.values()) yield* unitsOf(record);
  }

  #recordOf({ subject }: Unit): ApplicationRecord | undefined {
    return subject.applicationId === undefined ? undefined : this.inventory.applications.get(subject.applicationId);
  }

  #progressOf(unit: Unit): GroupProgress {
    const progress = this.progress.get(unit.group);
    if (progress === undefined) throw new Error(`no progress is kept for ${unit.group}`);
    return progress;
  }
}

function differ(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}

function pages(entities: number): number {
  return Math.max(1, Math.ceil(entities / PAGE_SIZE));
}
