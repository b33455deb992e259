import { UpstreamError } from '../api/errors.ts';
import type { AccountConfig } from '../config/config.ts';
import { GROUPS, type Group } from '../metrics/groups.ts';
import type { Clock } from './clock.ts';
import type { AccountContext } from './context.ts';
import type { Pace } from './due.ts';
import type { Inventory } from './inventory.ts';
import { Pacing } from './pacing.ts';
import type { Plan } from './plan.ts';
import { GroupProgress } from './progress.ts';
import type { ApplicationRecord } from './records.ts';
import { Refresh } from './refresh.ts';
import { Refreshes } from './refreshes.ts';
import { Refusal } from './refusal.ts';
import { Roster } from './roster.ts';
import { Scheduler, type Ending } from './scheduler.ts';
import { isEnabled } from './scope.ts';
import type { Unit } from './unit.ts';
import type { Scope } from './view.ts';

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
  readonly scheduler: Scheduler;
  readonly progress: ReadonlyMap<Group, GroupProgress>;
  readonly #clock: Clock;
  readonly #listener: AccountListener;
  readonly #roster: Roster;
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
    const now = (): number => clock.now();
    const current = (): AccountContext => this.#context;
    this.#roster = new Roster(current, now, (unit) => this.#forget(unit));
    this.#pacing = new Pacing(current, this.#roster.costs, now());
    this.#refreshes = new Refreshes(clock, (refresh, seconds) => listener.refreshed(refresh, seconds));
    this.#refusal = new Refusal((reason) => listener.refused(reason));
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
  }

  get config(): AccountConfig {
    return this.#context.account;
  }

  get context(): AccountContext {
    return this.#context;
  }

  get inventory(): Inventory {
    return this.#roster.inventory;
  }

  /** The account's two lists. */
  get applications(): Unit {
    return this.#roster.applications;
  }

  get keyTransactions(): Unit {
    return this.#roster.keyTransactions;
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
    this.#roster.reconfigure(() => (this.#context = context));
    this.#pacing.reset(this.#clock.now());
    this.keyChanged();
    this.scheduler.resize(context.account.limits);
  }

  /** The key is another one: whatever failed is tried again with the next refresh. */
  keyChanged(): void {
    for (const unit of this.#roster.units({})) unit.retryAt = 0;
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
    this.#join(refresh, this.#roster.units(scope));
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
    return unit.state !== 'idle' || (unit.retryAt <= refresh.askedAt && this.#roster.isReady(unit));
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

  #ended(unit: Unit, ending: Ending): void {
    if (unit.gone) return;
    const now = this.#clock.now();
    const failed = ending.kind !== 'read';
    const doubted = ending.kind === 'failed' ? this.#doubt(unit, ending.error) : undefined;
    if (ending.kind !== 'not_started') this.#note(unit, ending.kind === 'failed' ? ending.error : undefined, now);
    this.#progressOf(unit).ended(unit, failed, now);
    for (const refresh of this.#refreshes.ended(unit, failed)) {
      this.#join(refresh, this.#roster.related(unit, refresh.scope));
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
    const list = this.#roster.listOf(unit);
    if (list?.held === undefined || list.held.windowEnd >= this.#pacing.window.to) return undefined;
    if (list.state === 'idle') list.overdue = true;
    return list;
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
      if (isEnabled(this.config, group) && !this.#roster.costs.calls.has(group)) progress.nothingToDo(now);
    }
  }

  /** The clock was set back: what was read in what is now the future is read again, and nothing waits for that future. */
  #clockSetBack(): void {
    this.#pacing.reset(this.#clock.now());
    this.scheduler.clockSetBack();
    this.keyChanged();
    for (const unit of this.#roster.units({})) unit.overdue = true;
  }

  #progressOf(unit: Unit): GroupProgress {
    const progress = this.progress.get(unit.group);
    if (progress === undefined) throw new Error(`no progress is kept for ${unit.group}`);
    return progress;
  }
}
