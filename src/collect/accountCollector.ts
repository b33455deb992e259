import { UpstreamError } from '../api/types.ts';
import { inSlices, nextTurnIfDue } from '../eventLoop/turns.ts';
import { GROUPS, type Group } from '../metrics/sample.ts';
import type { Entity, Kind } from './entity.ts';
import { Inventory } from './inventory.ts';
import { Kinds, type Failed } from './kinds.ts';
import { Limiter } from './limiter.ts';
import { Queue, type Call } from './queue.ts';
import { asksForListsOfAccount, covers, GroupProgress, Refresh, type AccountLog, type Scope } from './refresh.ts';
import { isEnabled, type AccountContext } from './selection.ts';
import { Timetable, type CurrentWindow } from './timetable.ts';

/** Without a start or an end of a call for this long, and two request timeouts, the account makes no progress. */
const STUCK_AFTER = 120_000;

/** More scopes than these are not asked for by scrapers and probes of one account. */
const MOST_REFRESHES = 10_000;

/**
 * Collects one account. A scrape asks with `refresh`; what it asks for is queued where it is due, read as soon as the
 * limiter has a place, taken over into the inventory, and unlocks what follows from it. The work goes on after the scrape
 * was answered. All times are milliseconds of the monotonic clock.
 */
export class AccountCollector {
  readonly context: AccountContext;
  /** Why upstream refuses the account, in words; undefined when it does not. */
  refused: string | undefined;
  readonly inventory: Inventory;
  readonly limiter: Limiter;
  readonly timetable: Timetable;
  readonly progress: ReadonlyMap<Group, GroupProgress>;
  readonly log: AccountLog;
  /** The mark of the key that it uses; accounts of one key have the same. */
  keyMark: string;
  /** The end of the window when the log was last told what should be looked at. */
  noticedFor: number | undefined;
  readonly #kinds: Kinds;
  readonly #queue: Queue;
  /** The refreshes that are open, by the key of their scope. */
  readonly #refreshes = new Map<string, Refresh>();
  /** What is being read, each with a signal of its own: on one for all, listeners that are gone would keep later ones alive. */
  readonly #running = new Map<AbortController, Promise<readonly (number | Failed)[]>>();
  /** Askings that queue entities now: nothing starts before all of theirs are there, so that calls are full. */
  #queueing = 0;
  #pumping = false;
  #stopped = false;
  /** Since when upstream refuses the account, or accepts it again: calls that began before say nothing. */
  #refusalDecidedAt = -Infinity;

  constructor(context: AccountContext, log: AccountLog) {
    this.context = context;
    this.log = log;
    this.keyMark = context.keyMark();
    this.inventory = new Inventory(context);
    this.limiter = new Limiter(context.account.limits, context.clock, () => this.#pump());
    this.#kinds = new Kinds(context, this.inventory);
    this.timetable = new Timetable(context, this.inventory, this.#kinds, this.limiter);
    this.#queue = new Queue(context, this.#kinds, this.timetable, this.limiter);
    this.progress = new Map(
      GROUPS.map((group) => [group, new GroupProgress(group, context.clock, this.timetable, log)]),
    );
  }

  /** True when the last application list was read whole (`newrelic_up`). */
  get up(): boolean {
    const { applicationList } = this.inventory;
    const isUp = ({ held, failures }: Entity): boolean => held !== undefined && failures === 0;
    // An account for queries only has no list: it is up while a query is answered.
    return this.context.account.applications.read ? isUp(applicationList) : this.inventory.entities().some(isUp);
  }

  /**
   * Starts whatever is due in the scope. Resolves when all of it has ended (true), after `waitMs` milliseconds, at once when
   * it cannot end by then, or when the signal is aborted. The work goes on either way.
   */
  async refresh(scope: Scope, waitMs: number, signal?: AbortSignal): Promise<boolean> {
    this.timetable.moveOn();
    const key = Refresh.keyOf(scope);
    const refresh = this.#refreshes.get(key) ?? new Refresh(scope, this.context);
    refresh.ask();
    this.#refreshes.set(key, refresh);
    if (this.#refreshes.size > MOST_REFRESHES) this.#dropRefreshes();
    const deadline = refresh.askedAt + waitMs;
    const waited = refresh.wait(deadline, () => this.#canEnd(refresh, deadline), signal);
    void this.#askForAll(refresh);
    const { isOver, cameTo } = await waited;
    if (cameTo !== undefined && cameTo.entities > 0) this.log.refreshed(scope.applicationId, cameTo);
    if (isOver && !refresh.isWaitedFor && this.#refreshes.get(key) === refresh) this.#refreshes.delete(key);
    if (signal?.aborted !== true) await this.timetable.update(true);
    return isOver;
  }

  /** Takes over a changed configuration; what is held, what was spent and what waits after a failure stay. */
  reconfigure(next: AccountContext): void {
    const { account, customMetrics, collection } = this.context;
    const differ = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);
    const laterBy = next.collection.delay - collection.delay;
    Object.assign(this.context, next);
    if (!isEnabled(this.context, 'applications')) this.#setRefused(undefined);
    this.inventory.reconfigure(customMetrics !== next.customMetrics);
    for (const group of GROUPS) if (!isEnabled(this.context, group)) this.log.leftOut(group);
    // Windows can be read later than before, or earlier: so could those that are held.
    for (const { held } of this.inventory.entities()) if (held !== undefined) held.windowStart += laterBy;
    const { applicationList, keyTransactionList } = this.inventory;
    const otherApplications = differ(account.applications.include, next.account.applications.include);
    if (otherApplications) applicationList.overdue = true;
    // Which names of applications come with the key transactions depends on both.
    const choosesOwn = typeof next.account.key_transactions !== 'boolean';
    if (differ(account.key_transactions, next.account.key_transactions) || (otherApplications && choosesOwn)) {
      keyTransactionList.overdue = true;
    }
    this.limiter.resize(next.account.limits);
    this.timetable.reset();
    this.noticeKey();
    this.#forgetLeft();
    for (const list of [applicationList, keyTransactionList]) {
      if (list.state !== 'queued' || this.#isRead(list)) continue;
      this.#queue.remove(list);
      list.state = 'idle';
      this.#waitsNoLonger(list, false);
    }
    this.#notify();
    this.#pump();
  }

  /** Where the key is another one than before, whatever failed is tried again with the next refresh. */
  noticeKey(): void {
    const keyMark = this.context.keyMark();
    if (keyMark === this.keyMark) return;
    this.keyMark = keyMark;
    for (const entity of this.inventory.entities()) entity.retryAt = -Infinity;
    this.#queue.forgetFailures();
    this.#refusalDecidedAt = this.context.clock.monotonic();
    this.#setRefused(undefined);
  }

  /** False when work could go on and has not for minutes. A pause or a spent budget is no reason. */
  progressing(): boolean {
    if (this.#queue.size === 0 && this.#running.size === 0) return true;
    return this.limiter.idleFor() < STUCK_AFTER + 2 * this.context.account.limits.request_timeout;
  }

  /** Resolves when what is being read now has ended. */
  async readingsUnderWay(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }

  /** Ends for good: no call starts any more, calls in flight are aborted, and nobody waits any more. */
  stop(): void {
    this.#stopped = true;
    const reason = new Error('the exporter no longer reads this account');
    for (const controller of this.#running.keys()) controller.abort(reason);
    this.limiter.close();
    for (const refresh of this.#refreshes.values()) refresh.giveUp();
    this.#notify();
  }

  // A refresh asks for its entities.

  /** Asks for everything of the scope, unless that is under way in the same window and for those who wait now: they share it. */
  async #askForAll(refresh: Refresh): Promise<void> {
    const { inventory } = this;
    const { scope, asking, askingForAll } = refresh;
    const { to } = this.timetable.window;
    // One that has just ended tells nobody any more.
    if (asking > 0 && askingForAll === to) return;
    refresh.askingForAll = to;
    await this.#ask(
      refresh,
      asksForListsOfAccount(scope) ? inventory.lists() : inventory.entities(scope.applicationId),
    );
    refresh.askingForAll = undefined;
  }

  /** Asks for what a refresh covers of these entities: what is due is queued, in portions between which other work goes on. */
  async #ask(refresh: Refresh, entities: Iterable<Entity>): Promise<void> {
    refresh.asking += 1;
    const { askedAt } = refresh;
    const asked: Entity[] = [];
    await inSlices(entities, (entity) => {
      if (entity.gone || !covers(refresh.needs, refresh.scope, entity, this.#isKnown(entity))) return;
      this.timetable.ask(entity, askedAt);
      asked.push(entity);
    });
    // Once all of them count: the plan that says what is due.
    await this.timetable.update();
    let queueing = 0;
    await inSlices(asked, (entity) => {
      if (!this.#join(refresh, entity) || queueing > 0) return;
      queueing = 1;
      this.#queueing += 1;
    });
    this.#queueing -= queueing;
    this.#pump();
    refresh.asking -= 1;
    refresh.notify();
  }

  /**
   * Has a refresh wait for an entity that is due, and queues it where it does neither wait nor is being read.
   *
   * @returns true when it was queued
   */
  #join(refresh: Refresh, entity: Entity): boolean {
    const { askedAt } = refresh;
    if (entity.gone || this.#stopped || !this.#accepts(entity)) return false;
    if (entity.state !== 'idle') {
      refresh.add(entity);
      return false;
    }
    if (entity.retryAt > askedAt || !this.#kinds.isReady(entity)) return false;
    if (this.timetable.isDue(entity, askedAt)) refresh.add(entity);
    // The next scrape may be as far away as the next window: until then the budget would lie idle. Nobody waits.
    else if (!this.timetable.isEarly(entity)) return false;
    this.#enqueue(entity);
    return true;
  }

  #enqueue(entity: Entity): void {
    if (this.#queue.size === 0 && this.#running.size === 0) this.limiter.workBegins();
    entity.state = 'queued';
    this.#queue.add(entity);
    this.progress.get(entity.group)?.queued(entity, this.timetable.window.to);
  }

  /** While upstream refuses the account, only the application list is read. */
  #accepts(entity: Entity): boolean {
    return this.#isRead(entity) && (this.refused === undefined || entity === this.inventory.applicationList);
  }

  /** False for a list that the account does not read. */
  #isRead(entity: Entity): boolean {
    const { applicationList, keyTransactionList } = this.inventory;
    return (entity !== applicationList && entity !== keyTransactionList) || isEnabled(this.context, entity.group);
  }

  /** False for what has to be read once before other data can be used, and was not. */
  #isKnown(entity: Entity): boolean {
    if (entity.kind !== 'application_metrics') return entity.tried;
    return this.inventory.dataOf(entity.subject)?.database !== undefined;
  }

  #canEnd(refresh: Refresh, deadline: number): boolean {
    if (deadline === Infinity) return true;
    return this.limiter.canEnd(this.timetable.callsFor(refresh.leftByKind), this.#queue.size, deadline);
  }

  // What waits is read as soon as there is a place.

  /** Starts as many calls as places and budget allow. Called whenever either may have changed. */
  #pump(): void {
    if (this.#pumping || this.#stopped) return;
    this.#pumping = true;
    while (this.#queueing === 0) {
      const turn = nextTurnIfDue();
      if (turn !== undefined) {
        void turn.then(() => this.#pump());
        break;
      }
      const call = this.#queue.take((kind) => this.#companions(kind));
      if (call === undefined) break;
      void this.#read(call);
    }
    this.#pumping = false;
    this.limiter.admit();
  }

  /** Due entities of a kind that were asked for, for calls that have room for more than a probe waits for. */
  #companions(kind: Kind): readonly Entity[] {
    const isProbing = [...this.#refreshes.values()].some(
      ({ isWaitedFor, scope }) => isWaitedFor && scope.applicationId !== undefined,
    );
    if (!isProbing || this.context.reader.api === 'rest') return [];
    const now = this.context.clock.monotonic();
    const found: Entity[] = [];
    for (const entity of this.inventory.entities()) {
      if (entity.kind !== kind || entity.state !== 'idle' || entity.failures > 0) continue;
      const isWanted = this.timetable.counts(entity) && this.#accepts(entity) && this.#kinds.isReady(entity);
      if (isWanted && this.timetable.isDue(entity, now)) found.push(entity);
    }
    return found;
  }

  /** Reads entities of one kind with one call. All of them end in one step, once what the call brought was taken over. */
  async #read(call: Call): Promise<void> {
    const { entities, place } = call;
    const { window } = this.timetable;
    const startedAt = this.context.clock.monotonic();
    for (const entity of entities) {
      if (entity.state === 'idle') this.progress.get(entity.group)?.queued(entity, window.to);
      entity.begin(startedAt);
    }
    const controller = new AbortController();
    const reading = this.#kinds.read(entities, window, { signal: controller.signal, gate: place.gate });
    this.#running.set(controller, reading);
    const results = await reading;
    this.#running.delete(controller);
    this.#queue.ended(call, results);
    if (this.#stopped) return;
    this.#end(entities, results, window);
    this.#pump();
  }

  // A call has ended.

  /** Entities have ended together: what becomes due because of them is then there as a whole, and calls for it are full. */
  #end(entities: readonly Entity[], results: readonly (number | Failed)[], window: CurrentWindow): void {
    const lists = new Set<Entity>();
    for (const [index, entity] of entities.entries()) {
      const result = results[index] ?? { error: undefined };
      const isFirst = entity.held === undefined;
      this.#endOne(entity, result, window);
      if (entity.gone) continue;
      const error = typeof result === 'number' ? undefined : result.error;
      this.#noteRefusal(entity, typeof result === 'number', error);
      const isUnknown = error instanceof UpstreamError && error.failure.reason === 'not_found';
      const list = isUnknown ? this.inventory.readListAgain(entity, this.timetable.window.to) : undefined;
      if (list !== undefined) lists.add(list);
      this.#waitsNoLonger(entity, typeof result !== 'number');
      if (isFirst && typeof result === 'number' && entity.kind === 'application_metrics') this.#trustHosts(entity);
    }
    this.#forgetLeft();
    for (const refresh of this.#refreshes.values()) {
      if (refresh.isWaitedFor && refresh.askedAt < this.timetable.everythingDueSince) {
        refresh.ask();
        void this.#askForAll(refresh);
        continue;
      }
      // With the list that says whether it is gone: what is gone has to be gone from the refresh's answer.
      const unlocked = new Set<Entity>(lists);
      for (const entity of entities) {
        if (entity.gone || !covers(refresh.needs, refresh.scope, entity, false)) continue;
        for (const each of this.#kinds.unlockedBy(entity, refresh.scope.applicationId)) {
          if (each !== entity || this.timetable.isDue(each, refresh.askedAt)) unlocked.add(each);
        }
      }
      if (unlocked.size > 0) void this.#ask(refresh, unlocked);
    }
    this.#notify();
    this.#dropRefreshes();
  }

  #endOne(entity: Entity, result: number | Failed, window: CurrentWindow): void {
    const now = this.context.clock.monotonic();
    if (typeof result === 'number') {
      const shownAt = this.context.clock.now();
      entity.succeed({ windowEnd: result, windowStart: window.readableAt, readAt: now, shownAt });
      return;
    }
    const { error } = result;
    const reason = error instanceof UpstreamError ? error.failure.reason : 'other';
    entity.fail({ reason, text: error instanceof Error ? error.message : String(error) }, now);
    this.log.failed(entity);
    // Once per interval while the account is refused, whatever the list answers.
    const isRefused = this.refused !== undefined && entity === this.inventory.applicationList;
    entity.retryAt = isRefused ? this.timetable.nextTurn(entity) : this.timetable.retryAt(entity, window);
  }

  /** Nobody waits for an entity any more: it has ended, or has left. */
  #waitsNoLonger(entity: Entity, failed: boolean): void {
    this.progress.get(entity.group)?.ended(entity, failed);
    for (const refresh of this.#refreshes.values()) refresh.ended(entity, failed);
  }

  #forgetLeft(): void {
    for (const entity of this.inventory.takeLeft()) {
      this.#queue.remove(entity);
      this.#waitsNoLonger(entity, false);
    }
  }

  /** An application was answered for the first time: its hosts that wait are doubtful no longer. */
  #trustHosts({ subject }: Entity): void {
    for (const { metrics } of this.inventory.dataOf(subject)?.hosts.values() ?? []) {
      if (metrics.state === 'queued' && metrics.failures === 0) this.#queue.add(metrics);
    }
  }

  /**
   * A 401 anywhere, and a 403 on the application list, stop the account: what waits would be refused, too, so refreshes go
   * on without it. Only the application list is read, once per interval; when that works again, so does the account.
   */
  #noteRefusal(entity: Entity, isRead: boolean, error: unknown): void {
    const { applicationList } = this.inventory;
    const isList = entity === applicationList;
    if (isList && isRead) this.#reportIdleGroups();
    // An account for queries only has no list that would tell when it is accepted again.
    if (!this.context.account.applications.read) return;
    if (entity.startedAt < this.#refusalDecidedAt) return;
    if (isList && isRead) this.#setRefused(undefined);
    if (!(error instanceof UpstreamError)) return;
    const { reason } = error.failure;
    if (reason !== 'auth' && !(reason === 'forbidden' && isList)) return;
    this.#setRefused(error.message);
    applicationList.retryAt = Math.max(applicationList.retryAt, this.timetable.nextTurn(applicationList));
    for (const waiting of this.#queue.clear()) {
      waiting.state = 'idle';
      if (waiting === applicationList) this.#enqueue(waiting);
      else this.#waitsNoLonger(waiting, true);
    }
  }

  #setRefused(reason: string | undefined): void {
    const isRefused = reason !== undefined;
    const wasRefused = this.refused !== undefined;
    this.refused = reason;
    if (isRefused === wasRefused) return;
    this.#refusalDecidedAt = this.context.clock.monotonic();
    this.log.refused(isRefused);
  }

  /** Nothing of a group has to be read: that, too, is a refresh that went well. */
  #reportIdleGroups(): void {
    const busy = new Set(this.inventory.entities().map(({ group }) => group));
    for (const [group, progress] of this.progress) {
      if (isEnabled(this.context, group) && !busy.has(group)) progress.endWithoutWork();
    }
  }

  /**
   * Refreshes that nobody waits for are forgotten once all work has ended, when what they asked for counts no longer, and the
   * oldest of them when they are too many.
   */
  #dropRefreshes(): void {
    const isIdle = this.#queue.size === 0 && this.#running.size === 0;
    const oldest = this.context.clock.monotonic() - this.timetable.asksHold(this.inventory.applicationList);
    for (const [key, { isWaitedFor, asking, askedAt }] of this.#refreshes) {
      if (isWaitedFor || asking > 0) continue;
      if (isIdle || askedAt < oldest || this.#refreshes.size > MOST_REFRESHES) this.#refreshes.delete(key);
    }
  }

  #notify(): void {
    for (const refresh of this.#refreshes.values()) refresh.notify();
  }
}
