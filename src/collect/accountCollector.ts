import { UpstreamError } from '../api/types.ts';
import { GROUPS, type Group } from '../metrics/sample.ts';
import { isEnabled, type AccountContext, covers } from './scope.ts';
import type { Entity, Kind } from './entity.ts';
import { Inventory } from './inventory.ts';
import type { AccountListener } from './collectorLog.ts';
import { AccountProgress } from './groupProgress.ts';
import type { Clock } from './clock.ts';
import { Refresh, Refreshes, Refusal } from './refreshes.ts';
import { type Ended, Scheduler } from './scheduler.ts';
import { type CurrentWindow, Timetable } from './timetable.ts';
import type { Scope } from './view.ts';
import { firstTurn, Turns } from '../eventLoop/turns.ts';
import type { AccountConfig } from '../config/config.ts';
import { Arrivals, Reads } from './kinds.ts';
import type { Budget } from './budget.ts';
import type { SharedPlaces } from './limiter.ts';

/** What the end of a reading touches. */
interface EndingsSources {
  readonly context: Readonly<AccountContext>;
  readonly clock: Clock;
  readonly listener: AccountListener;
  readonly inventory: Inventory;
  readonly timetable: Timetable;
  readonly progress: AccountProgress;
  readonly refreshes: Refreshes;
  readonly refusal: Refusal;
  readonly intake: Intake;
}

/**
 * What the end of an entity's reading causes in its account: refreshes go on with what has become due, the refusal of the
 * account is noted, and lists are read again where they are in doubt. It holds nothing itself.
 */
class Endings {
  readonly #sources: EndingsSources;

  constructor(sources: EndingsSources) {
    this.#sources = sources;
  }

  /** Entities have ended together. */
  ended(endings: readonly Ended[]): void {
    const related = new Map<Refresh, Entity[]>();
    for (const ended of endings) this.#endedOne(ended, related);
    for (const [refresh, entities] of related) this.#sources.intake.join(refresh, entities);
    this.#sources.refreshes.notify();
  }

  /** An entity left the inventory: nobody waits for it. */
  forget(entity: Entity): void {
    this.#sources.progress.ended(entity, false);
    this.#sources.refreshes.forget(entity);
  }

  /** When an entity that failed just now, reading `window`, may be tried again. */
  retryAt(entity: Entity, window: CurrentWindow): number {
    const { inventory, refusal, timetable } = this.#sources;
    // Once per interval while the account is refused, whatever the list answers.
    if (refusal.reason !== undefined && entity === inventory.applicationList) return timetable.nextTurn('applications');
    return timetable.retryAt(entity, window);
  }

  /** @param related gains for each refresh what may have become due */
  #endedOne({ entity, ending }: Ended, related: Map<Refresh, Entity[]>): void {
    if (entity.gone) return;
    const { progress, refreshes } = this.#sources;
    const failed = ending.kind !== 'read';
    const list = ending.kind === 'failed' ? this.#readListAgain(entity, ending.error) : undefined;
    if (ending.kind !== 'not_started') this.#note(entity, ending.kind === 'failed' ? ending.error : undefined);
    progress.ended(entity, failed);
    for (const refresh of refreshes.ended(entity, failed)) {
      const entities = related.get(refresh) ?? [];
      related.set(refresh, entities);
      // With the list that says whether it is gone: what is gone has to be gone from the refresh's answer.
      if (list !== undefined) entities.push(list);
      for (const each of this.#related(entity, refresh.scope)) entities.push(each);
    }
  }

  /** What may have become due for a scope because an entity of it has ended. */
  #related(entity: Entity, { applicationId }: Scope): readonly Entity[] {
    const { inventory } = this.#sources;
    switch (entity.kind) {
      case 'applications':
      case 'key_transactions':
        return inventory.entities(applicationId);
      case 'metric_names':
      case 'custom_names':
      case 'hosts':
        return inventory.entitiesOfApplication(entity.subject);
      default:
        return [entity];
    }
  }

  #note(entity: Entity, error: unknown): void {
    const { clock, inventory, listener, refusal } = this.#sources;
    const isList = entity === inventory.applicationList;
    if (refusal.note(entity, isList, error, clock.monotonic())) this.#dropQueued();
    if (isList && error === undefined) this.#reportIdleGroups();
    listener.ended(entity, entity.problem);
  }

  /**
   * An entity that upstream does not know may be gone: the list that it is from tells, and is made overdue. Once it was
   * read since then and still has the entity, its interval holds again.
   *
   * @returns that list; undefined when it was read since then, or just before, or the failure is another one
   */
  #readListAgain(entity: Entity, error: unknown): Entity | undefined {
    const { clock, inventory, timetable } = this.#sources;
    if (!(error instanceof UpstreamError) || error.failure.reason !== 'not_found') return undefined;
    const since = entity.unknown(clock.monotonic());
    const list = inventory.listOf(entity);
    if (list?.held === undefined || list.held.windowEnd >= timetable.window.to) return undefined;
    if (list.failures === 0 && list.startedAt >= since) return undefined;
    if (list.state === 'idle') list.makeOverdue();
    return list;
  }

  /** Upstream refuses the account: what waits would be refused, too, so refreshes go on without it. */
  #dropQueued(): void {
    const { refreshes, timetable } = this.#sources;
    const { applicationList } = this.#sources.inventory;
    applicationList.waitUntil(Math.max(applicationList.retryAt, timetable.nextTurn('applications')));
    refreshes.leaveOut((entity) => entity.state === 'queued' && entity !== applicationList);
  }

  #reportIdleGroups(): void {
    const { context, inventory, progress } = this.#sources;
    const busy = new Set<Group>();
    for (const { group } of inventory.entities()) busy.add(group);
    for (const group of GROUPS) if (isEnabled(context, group) && !busy.has(group)) progress.nothingToDo(group);
  }
}

/** Entities that are looked at before other work may go on: they take one or two milliseconds. */
const ENTITIES_PER_TURN = 1000;

/** What the intake looks at, and where it queues what is due. */
interface IntakeSources {
  readonly context: Readonly<AccountContext>;
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly timetable: Timetable;
  readonly refreshes: Refreshes;
  readonly refusal: Refusal;
  readonly scheduler: Scheduler;
}

/** Decides which entities of an account a refresh takes in, and which may be read at all. It holds nothing itself. */
class Intake {
  readonly #sources: IntakeSources;

  constructor(sources: IntakeSources) {
    this.#sources = sources;
  }

  /**
   * As `join`, in portions between which other work goes on; the refresh is not over before. No call starts before all of
   * it is queued, because calls are filled with what is queued.
   */
  async fill(refresh: Refresh, entities: readonly Entity[]): Promise<void> {
    const { timetable, scheduler, refreshes } = this.#sources;
    const turns = new Turns(ENTITIES_PER_TURN, firstTurn);
    const release = scheduler.hold();
    refresh.beginFilling();
    try {
      const asked: Entity[] = [];
      for (const entity of entities) {
        if (this.#ask(refresh, entity)) asked.push(entity);
        const turn = turns.after(1);
        if (turn !== undefined) await turn;
      }
      // Once all of them count: the plan that the following looks at.
      await timetable.makePlan(turns);
      await turns.next();
      const take = this.#taking(refresh);
      for (const entity of asked) {
        if (!entity.gone) take(entity);
        const turn = turns.after(1);
        if (turn !== undefined) await turn;
      }
    } finally {
      refresh.endFilling();
      release();
    }
    refreshes.closeIfDone(refresh);
    refreshes.notify();
  }

  /** Adds what is due of `entities` to a refresh and to the queue: at once, or as `fill` where they are many. */
  join(refresh: Refresh, entities: readonly Entity[]): void {
    if (entities.length > ENTITIES_PER_TURN) {
      void this.fill(refresh, entities);
      return;
    }
    const asked: Entity[] = [];
    for (const entity of entities) if (this.#ask(refresh, entity)) asked.push(entity);
    asked.forEach(this.#taking(refresh));
    this.#sources.refreshes.closeIfDone(refresh);
  }

  /** Due entities of a kind that were asked for, for calls that have room for more than a probe waits for. */
  *companions(kind: Kind): Generator<Entity> {
    const { clock, inventory, refreshes, timetable } = this.#sources;
    if (!refreshes.probing) return;
    const isDue = timetable.due(clock.monotonic());
    for (const entity of inventory.entities()) {
      if (entity.kind !== kind || entity.state !== 'idle' || entity.failures > 0) continue;
      const wanted = timetable.counts(entity) && this.accepts(entity) && this.#isReady(entity);
      if (wanted && isDue(entity)) yield entity;
    }
  }

  /** While upstream refuses the account, only the application list is read. */
  accepts(entity: Entity): boolean {
    const { inventory, refusal } = this.#sources;
    return this.isRead(entity) && (refusal.reason === undefined || entity === inventory.applicationList);
  }

  /** False for the key transaction list of an account that reads no key transactions. */
  isRead(entity: Entity): boolean {
    const { context, inventory } = this.#sources;
    return entity !== inventory.keyTransactionList || isEnabled(context, 'key_transactions');
  }

  /** @returns false when the refresh does not ask for the entity */
  #ask(refresh: Refresh, entity: Entity): boolean {
    if (entity.gone || !this.#isCovered(refresh, entity)) return false;
    this.#sources.timetable.ask(entity, refresh.askedAt);
    return true;
  }

  /** Adds an entity that was asked for to a refresh and to the queue if it is due by the plan of now. */
  #taking(refresh: Refresh): (entity: Entity) => void {
    const { timetable, scheduler } = this.#sources;
    const { askedAt } = refresh;
    const isDue = timetable.due(askedAt);
    return (entity) => {
      if (!this.accepts(entity)) return;
      if (entity.state !== 'idle') refresh.add(entity);
      else if (entity.retryAt > askedAt || !this.#isReady(entity)) return;
      else if (isDue(entity)) {
        refresh.add(entity);
        scheduler.enqueue(entity);
      } else if (timetable.plan().stretch > 1 && timetable.dueAt(entity) < timetable.nextWindowAt) {
        // The next scrape may be as far away as the next window: until then the budget would lie idle. Nobody waits.
        scheduler.enqueue(entity);
      }
    };
  }

  #isCovered(refresh: Refresh, entity: Entity): boolean {
    return covers(refresh.needs, refresh.scope, entity, this.#isKnown(entity));
  }

  /** False for what has to be read once before other data can be used, and was not. */
  #isKnown(entity: Entity): boolean {
    if (entity.kind !== 'application_metrics') return entity.tried;
    return this.#sources.inventory.dataOf(entity.subject)?.data.database !== undefined;
  }

  /** False for metric data that has to wait for the first reading of the names to ask for. */
  #isReady({ kind, subject }: Entity): boolean {
    if (kind !== 'application_metrics' && kind !== 'host_metrics') return true;
    const data = this.#sources.inventory.dataOf(subject)?.data;
    return data !== undefined && data.datastoreList?.tried !== false && data.customNameList?.tried !== false;
  }
}

/** What an account's collector is built from. */
interface AccountSources {
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
