import { UpstreamError } from '../api/errors.ts';
import type { AccountConfig } from '../config/config.ts';
import { GROUPS, type Group } from '../metrics/groups.ts';
import { isEnabled, type AccountContext } from './inventory/context.ts';
import type { Entity } from './inventory/entity.ts';
import { Inventory } from './inventory/inventory.ts';
import { Arrivals } from './reading/arrivals.ts';
import { Reads } from './reading/reads.ts';
import type { Budget } from './schedule/budget.ts';
import type { Clock } from './schedule/clock.ts';
import type { SharedPlaces } from './schedule/gate.ts';
import { GroupProgress } from './schedule/progress.ts';
import { Refresh, Refreshes } from './schedule/refreshes.ts';
import { Refusal } from './schedule/refusal.ts';
import { Scheduler, type Ended } from './schedule/scheduler.ts';
import { covers } from './schedule/scope.ts';
import { Timetable } from './schedule/timetable.ts';
import type { Scope } from './view.ts';

/** Who is told what happens to an account's entities, for the log. */
export interface AccountListener {
  /** An entity was read, or could not be (`problem`). */
  ended(entity: Entity, problem: string | undefined): void;
  /** A refresh is over: all of its work has ended, or the next refresh carries on what is left. */
  refreshed(refresh: Refresh, seconds: number): void;
  refused(reason: string | undefined): void;
}

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
  readonly progress: ReadonlyMap<Group, GroupProgress>;
  readonly #changeable: AccountContext;
  readonly #clock: Clock;
  readonly #listener: AccountListener;
  readonly #arrivals: Arrivals;
  readonly #refreshes: Refreshes;
  readonly #refusal: Refusal;

  constructor({ context, clock, listener, everythingCounts }: AccountSources) {
    this.context = context;
    this.#changeable = context;
    this.#clock = clock;
    this.#listener = listener;
    this.progress = new Map(
      GROUPS.map((group) => [group, new GroupProgress(group, (entity) => this.timetable.counts(entity))]),
    );
    this.#refreshes = new Refreshes(clock, (refresh, seconds) => listener.refreshed(refresh, seconds));
    this.#refusal = new Refusal((reason) => listener.refused(reason));
    const now = (): number => clock.monotonic();
    const inventory = new Inventory(context, now, (entity) => this.#forget(entity));
    this.inventory = inventory;
    this.#arrivals = new Arrivals(context, inventory);
    const reads = new Reads(context, inventory, this.#arrivals);
    const averageCall = (): number | undefined => this.scheduler.averageCall;
    this.timetable = new Timetable({ context, inventory, reads, clock, averageCall, everythingCounts });
    const { timetable } = this;
    this.scheduler = new Scheduler(context.account.limits, clock, {
      dueAt: (entity) => timetable.dueAt(entity),
      intervalOf: (group) => timetable.intervalOf(group),
      effectiveIntervalOf: (group) => timetable.effectiveIntervalOf(group),
      window: () => timetable.window,
      read: (kind) => reads.of(kind),
      companions: (kind) => this.#companions(kind),
      mayStart: (entity) => this.#accepts(entity),
      retryAt: (entity, window) => this.#retryAt(entity, window),
      queued: (entity) => this.#progressOf(entity).queued(entity, timetable.window.to, now()),
      ended: (endings) => this.#ended(endings),
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
    if (differ(account.applications.include, next.account.applications.include)) applicationList.makeOverdue();
    if (differ(account.key_transactions, next.account.key_transactions)) keyTransactionList.makeOverdue();
    this.timetable.reset();
    if (keyChanged) this.keyChanged();
    this.scheduler.resize(next.account.limits);
    this.#refreshes.leaveOut((entity) => !this.#isRead(entity));
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
    this.#join(refresh, this.inventory.entities(scope.applicationId));
    this.scheduler.pump();
    const deadline = now + waitMs;
    const canEnd = (): boolean => waitMs === Infinity || this.scheduler.canEnd(this.#callsLeft(refresh), deadline);
    return this.#refreshes.wait(refresh, deadline, canEnd);
  }

  /** Ends for good: no call starts any more, calls in flight are aborted. */
  stop(): void {
    this.scheduler.stop();
    this.#refreshes.closeAll();
  }

  /** Adds what is due of `entities` to a refresh and to the queue. */
  #join(refresh: Refresh, entities: Iterable<Entity>): void {
    const { timetable } = this;
    const asked: Entity[] = [];
    for (const entity of entities) {
      if (entity.gone || !this.#isCovered(refresh, entity)) continue;
      timetable.ask(entity, refresh.askedAt);
      asked.push(entity);
    }
    // Once all of them count: the plan that the following looks at is made once.
    const stretched = timetable.plan().stretch > 1;
    const isDue = timetable.due(refresh.askedAt);
    for (const entity of asked) {
      if (!this.#accepts(entity)) continue;
      if (entity.state !== 'idle') refresh.add(entity);
      else if (entity.retryAt > refresh.askedAt || !this.#isReady(entity)) continue;
      else if (isDue(entity)) {
        refresh.add(entity);
        this.scheduler.enqueue(entity);
      } else if (stretched && timetable.dueAt(entity) < timetable.nextWindowAt) {
        // The next scrape may be as far away as the next window: until then the budget would lie idle. Nobody waits.
        this.scheduler.enqueue(entity);
      }
    }
    this.#refreshes.closeIfDone(refresh);
  }

  #isCovered(refresh: Refresh, entity: Entity): boolean {
    return covers(refresh.needs, refresh.scope, entity, this.#isKnown(entity));
  }

  /** False for what has to be read once before other data can be used, and was not. */
  #isKnown(entity: Entity): boolean {
    if (entity.kind !== 'application_metrics') return entity.tried;
    return this.inventory.dataOf(entity.subject)?.data.database !== undefined;
  }

  #callsLeft({ leftByKind }: Refresh): number {
    let calls = 0;
    for (const [kind, count] of leftByKind) calls += Math.ceil(count * this.timetable.callsPerEntity(kind));
    return calls;
  }

  /** Due entities of a kind that were asked for, for calls that have room for more than a probe waits for. */
  *#companions(kind: Entity['kind']): Generator<Entity> {
    if (!this.#refreshes.probing) return;
    const isDue = this.timetable.due(this.#clock.monotonic());
    for (const entity of this.inventory.entities()) {
      if (entity.kind !== kind || entity.state !== 'idle' || entity.failures > 0) continue;
      const wanted = this.timetable.counts(entity) && this.#accepts(entity) && this.#isReady(entity);
      if (wanted && isDue(entity)) yield entity;
    }
  }

  /** While upstream refuses the account, only the application list is read. */
  #accepts(entity: Entity): boolean {
    return this.#isRead(entity) && (this.refused === undefined || entity === this.inventory.applicationList);
  }

  #isRead(entity: Entity): boolean {
    return entity !== this.inventory.keyTransactionList || isEnabled(this.context, 'key_transactions');
  }

  /** False for metric data that has to wait for the first reading of the names to ask for. */
  #isReady({ kind, subject }: Entity): boolean {
    if (kind !== 'application_metrics' && kind !== 'host_metrics') return true;
    const data = this.inventory.dataOf(subject)?.data;
    return data !== undefined && data.datastoreList?.tried !== false && data.customNameList?.tried !== false;
  }

  #retryAt(entity: Entity, window: Timetable['window']): number {
    // Once per interval while the account is refused, whatever the list answers.
    if (this.refused !== undefined && entity === this.inventory.applicationList) {
      return this.timetable.nextTurn('applications');
    }
    return this.timetable.retryAt(entity, window);
  }

  #ended(endings: readonly Ended[]): void {
    for (const ended of endings) this.#endedOne(ended);
    this.#refreshes.notify();
  }

  #endedOne({ entity, ending }: Ended): void {
    if (entity.gone) return;
    const failed = ending.kind !== 'read';
    const doubted = ending.kind === 'failed' ? this.#doubt(entity, ending.error) : undefined;
    if (ending.kind !== 'not_started') this.#note(entity, ending.kind === 'failed' ? ending.error : undefined);
    this.#progressOf(entity).ended(entity, failed, this.#moment());
    for (const refresh of this.#refreshes.ended(entity, failed)) {
      // Before the rest, after which the refresh may be over: what is gone has to be gone from its answer.
      if (doubted !== undefined) this.#join(refresh, [doubted]);
      this.#join(refresh, this.#related(entity, refresh.scope));
    }
  }

  /** What may have become due for a scope because an entity has ended. */
  #related(entity: Entity, { applicationId }: Scope): Iterable<Entity> {
    switch (entity.kind) {
      case 'applications':
      case 'key_transactions':
        return this.inventory.entities(applicationId);
      case 'metric_names':
      case 'custom_names':
      case 'hosts':
        return this.inventory.entitiesOfApplication(entity.subject.applicationId ?? NaN);
      default:
        return [entity];
    }
  }

  #note(entity: Entity, error: unknown): void {
    const isList = entity === this.inventory.applicationList;
    if (this.#refusal.note(entity, isList, error, this.#clock.monotonic())) this.#dropQueued();
    if (isList && error === undefined) this.#reportIdleGroups();
    this.#listener.ended(entity, entity.problem);
  }

  /** An entity that upstream does not know may be gone: the list it is from tells, unless it was just read. */
  #doubt(entity: Entity, error: unknown): Entity | undefined {
    if (!(error instanceof UpstreamError) || error.failure.reason !== 'not_found') return undefined;
    const list = this.inventory.listOf(entity);
    if (list?.held === undefined || list.held.windowEnd >= this.timetable.window.to) return undefined;
    if (list.state === 'idle') list.makeOverdue();
    return list;
  }

  /** Upstream refuses the account: what waits would be refused, too, so refreshes go on without it. */
  #dropQueued(): void {
    const { applicationList } = this.inventory;
    applicationList.waitUntil(Math.max(applicationList.retryAt, this.timetable.nextTurn('applications')));
    this.#refreshes.leaveOut((entity) => entity.state === 'queued' && entity !== applicationList);
  }

  /** An entity left the inventory: nobody waits for it. */
  #forget(entity: Entity): void {
    this.#progressOf(entity).ended(entity, false, this.#moment());
    this.#refreshes.forget(entity);
  }

  #changeCustomMetrics(): void {
    for (const { data } of this.inventory.applications.values()) data?.customNameList?.makeOverdue();
    this.#arrivals.recalculateAll();
  }

  #reportIdleGroups(): void {
    const busy = new Set<Group>();
    for (const { group } of this.inventory.entities()) busy.add(group);
    for (const [group, progress] of this.progress) {
      if (isEnabled(this.context, group) && !busy.has(group)) progress.nothingToDo(this.#moment());
    }
  }

  #moment(): { monotonic: number; wall: number } {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
  }

  #progressOf({ group }: Entity): GroupProgress {
    const progress = this.progress.get(group);
    if (progress === undefined) throw new Error(`no progress is kept for ${group}`);
    return progress;
  }
}

function differ(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}
