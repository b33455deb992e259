import type { AccountConfig } from '../config/config.ts';
import { Endings } from './endings.ts';
import { Intake } from './intake.ts';
import type { AccountContext } from './inventory/context.ts';
import { Inventory } from './inventory/inventory.ts';
import type { AccountListener } from './listener.ts';
import { Arrivals } from './reading/arrivals.ts';
import { Reads } from './reading/reads.ts';
import { AccountProgress } from './schedule/accountProgress.ts';
import type { Budget } from './schedule/budget.ts';
import type { Clock } from './schedule/clock.ts';
import { Refresh, Refreshes } from './schedule/refreshes.ts';
import { Refusal } from './schedule/refusal.ts';
import { Scheduler } from './schedule/scheduler.ts';
import type { SharedPlaces } from './schedule/sharedPlaces.ts';
import { Timetable } from './schedule/timetable.ts';
import type { Scope } from './view.ts';

/** What an account's collector is built from. */
export interface AccountSources {
  readonly context: AccountContext;
  readonly clock: Clock;
  readonly listener: AccountListener;
  /** True: plan and states count everything, whether something asks for it or not. */
  readonly everythingCounts: boolean;
}

/**
 * Collects one account: keeps its inventory, decides what is due, and has it read under the account's budget. A scrape
 * asks with `refresh`; the work it starts goes on after the scrape was answered.
 */
export class AccountCollector {
  readonly context: Readonly<AccountContext>;
  readonly inventory: Inventory;
  readonly timetable: Timetable;
  readonly scheduler: Scheduler;
  readonly progress: AccountProgress;
  readonly #changeable: AccountContext;
  readonly #clock: Clock;
  readonly #arrivals: Arrivals;
  readonly #refreshes: Refreshes;
  readonly #refusal: Refusal;
  readonly #intake: Intake;
  readonly #endings: Endings;

  constructor({ context, clock, listener, everythingCounts }: AccountSources) {
    this.context = context;
    this.#changeable = context;
    this.#clock = clock;
    const refreshes = new Refreshes(clock, (refresh, seconds) => listener.refreshed(refresh, seconds));
    this.#refreshes = refreshes;
    const refusal = new Refusal((reason) => listener.refused(reason));
    this.#refusal = refusal;
    const now = (): number => clock.monotonic();
    const inventory = new Inventory(context, now, (entity) => this.#endings.forget(entity));
    this.inventory = inventory;
    this.#arrivals = new Arrivals(context, inventory);
    const reads = new Reads(context, inventory, this.#arrivals);
    const averageCall = (): number | undefined => this.scheduler.averageCall;
    const timetable = new Timetable({ context, inventory, reads, clock, averageCall, everythingCounts });
    this.timetable = timetable;
    const progress = new AccountProgress(clock, (entity) => timetable.counts(entity));
    this.progress = progress;
    const scheduler = new Scheduler(context.account.limits, clock, {
      dueAt: (entity) => timetable.dueAt(entity),
      intervalOf: (group) => timetable.intervalOf(group),
      effectiveIntervalOf: (group) => timetable.effectiveIntervalOf(group),
      isDoubtful: ({ subject }) =>
        subject.hostKey !== undefined && inventory.dataOf(subject)?.data.metrics.held === undefined,
      window: () => timetable.window,
      read: (kind) => reads.of(kind),
      companions: (kind) => this.#intake.companions(kind),
      mayStart: (entity) => this.#intake.accepts(entity),
      retryAt: (entity, window) => this.#endings.retryAt(entity, window),
      queued: (entity) => progress.queued(entity, timetable.window.to),
      ended: (endings) => this.#endings.ended(endings),
    });
    this.scheduler = scheduler;
    const intake = new Intake({ context, clock, inventory, timetable, refreshes, refusal, scheduler });
    this.#intake = intake;
    this.#endings = new Endings({
      context,
      clock,
      listener,
      inventory,
      timetable,
      progress,
      refreshes,
      refusal,
      intake,
    });
  }

  get config(): AccountConfig {
    return this.context.account;
  }

  get budget(): Budget {
    return this.scheduler.budget;
  }

  /** Why upstream refuses the account, in words; undefined when it does not. */
  get refused(): string | undefined {
    return this.#refusal.reason;
  }

  /** True when the last application list was read whole (`newrelic_up`). */
  get up(): boolean {
    const { applicationList } = this.inventory;
    return applicationList.held !== undefined && applicationList.failures === 0;
  }

  /**
   * Takes over a changed configuration; what is held, what was spent and what waits after a failure stay.
   *
   * @param keyChanged true when the key is another one
   */
  reconfigure(next: AccountContext, keyChanged: boolean): void {
    const { account, customMetrics, collection } = this.context;
    const laterBy = next.collection.delay - collection.delay;
    Object.assign(this.#changeable, next);
    this.inventory.reconfigure();
    if (laterBy !== 0) for (const entity of this.inventory.entities()) entity.delayChanged(laterBy);
    if (customMetrics !== next.customMetrics) this.#changeCustomMetrics();
    this.#arrivals.decideDatabases();
    const { applicationList, keyTransactionList } = this.inventory;
    const otherApplications = differ(account.applications.include, next.account.applications.include);
    if (otherApplications) applicationList.makeOverdue();
    // Which names of applications come with the key transactions depends on both.
    const choosesOwn = typeof next.account.key_transactions !== 'boolean';
    if (differ(account.key_transactions, next.account.key_transactions) || (otherApplications && choosesOwn)) {
      keyTransactionList.makeOverdue();
    }
    this.timetable.reset();
    if (keyChanged) this.keyChanged();
    this.scheduler.resize(next.account.limits);
    this.#refreshes.leaveOut((entity) => !this.#intake.isRead(entity));
  }

  /** The key is another one: whatever failed is tried again with the next refresh. */
  keyChanged(): void {
    for (const entity of this.inventory.entities()) entity.waitUntil(-Infinity);
    this.#refusal.lift(this.#clock.monotonic());
  }

  /** Calls take a place of these, which all accounts of one key share, too. */
  share(places: SharedPlaces | undefined): void {
    this.scheduler.share(places);
  }

  /**
   * Starts whatever is due in the scope. Resolves when all of it has ended (true), after `waitMs` milliseconds, or at
   * once when it cannot end by then. The work goes on either way.
   */
  async refresh(scope: Scope, waitMs: number): Promise<boolean> {
    const now = this.#clock.monotonic();
    this.timetable.moveOn();
    const refresh = new Refresh(scope, now, this.context);
    this.#refreshes.open(refresh);
    await this.#intake.fill(refresh, this.inventory.entities(scope.applicationId));
    const deadline = now + waitMs;
    const canEnd = (): boolean => waitMs === Infinity || this.scheduler.canEnd(this.#callsLeft(refresh), deadline);
    return this.#refreshes.wait(refresh, deadline, canEnd);
  }

  /** Ends for good: no call starts any more, calls in flight are aborted. */
  stop(): void {
    this.scheduler.stop();
    this.#refreshes.closeAll();
  }

  #callsLeft({ leftByKind }: Refresh): number {
    let calls = 0;
    for (const [kind, count] of leftByKind) calls += Math.ceil(count * this.timetable.callsPerEntity(kind));
    return calls;
  }

  #changeCustomMetrics(): void {
    for (const { data } of this.inventory.applications.values()) data?.customNameList?.makeOverdue();
    this.#arrivals.recalculateAll();
  }
}

function differ(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}
