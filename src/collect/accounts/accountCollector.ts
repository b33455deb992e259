import { setMaxListeners } from 'node:events';
import type { FailureReason, UpstreamError } from '../../api/upstreamError.ts';
import type { Outcome } from '../../api/upstreamReader.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { MINUTE_MS } from '../../formulas/units.ts';
import { GROUPS, READS, type Kind } from '../../reads/reads.ts';
import type { Task } from '../inventory/task.ts';
import { Inventory } from '../inventory/inventory.ts';
import { TaskReads, type TaskBatch } from '../inventory/taskReads.ts';
import type { AccountLimiter } from '../schedule/limiter.ts';
import { Queue } from '../schedule/queue.ts';
import { Demand, type Refresh, type Scope } from '../schedule/demand.ts';
import type { AccountContext } from '../inventory/accountContext.ts';
import type { AccountList } from './accountList.ts';
import { dueAt } from '../schedule/due.ts';
import { Schedule, type CurrentWindow } from '../schedule/schedule.ts';
import { Report } from '../schedule/report.ts';

/** An account makes no progress when no call starts or ends for this time, in milliseconds, plus two request timeouts. */
const STUCK_AFTER = 120_000;

/** No scrape waits for an account whose intervals are longer than this, as a multiple of the configured ones. */
const MOST_SLOWED = 1.25;

/** Collects one account. Times are milliseconds of the monotonic clock. */
export class AccountCollector {
  context: AccountContext;
  /** The list that the account was made from; undefined for an account that stands in the file. */
  list: AccountList | undefined;
  readonly inventory: Inventory;
  readonly limiter: AccountLimiter;
  readonly schedule: Schedule;
  readonly report: Report;
  keyMark: string;
  /** The warnings that were last logged, and the end of the window at that time, Unix seconds. */
  noticed: ReadonlySet<string> = new Set();
  noticedFor: number | undefined;
  /** The reason why New Relic refuses the account itself, in words. */
  #refused: string | undefined;
  readonly #reads: TaskReads;
  readonly #demand: Demand;
  readonly #queue: Queue;
  /** Ends the reads when the account is stopped. */
  readonly #stopping = new AbortController();
  /** Requests that are still queueing tasks. No call starts before they finish, so that batches are full. */
  #queueing = 0;
  #pumping = false;
  /** True when no call of the last read of the application list was answered; without a list, of any last read. */
  #isListUnanswered = false;
  /** When New Relic began to refuse the account, or to accept it again; earlier calls change nothing. */
  #refusalDecidedAt = -Infinity;

  constructor(context: AccountContext, limiter: AccountLimiter) {
    this.context = context;
    this.limiter = limiter;
    setMaxListeners(0, this.#stopping.signal);
    this.keyMark = context.keyMark();
    this.#demand = new Demand(context.clock);
    this.inventory = new Inventory(context);
    this.#reads = new TaskReads(context, this.inventory);
    this.schedule = new Schedule(context, this.inventory, this.#reads, limiter);
    this.#queue = new Queue(this.#reads, this.schedule, limiter);
    this.report = new Report(context.logger, context.clock, this.schedule);
    limiter.changed = () => this.#pump();
  }

  /** The reason why New Relic refuses the account, or the key of its entry, in words; undefined when it does not. */
  get refused(): string | undefined {
    return this.list?.refused ?? this.#refused;
  }

  /**
   * True when the last read of the application list succeeded completely; for an account without applications, when that of a query
   * or of entities did (`newrelic_up`).
   */
  get up(): boolean {
    // While the key of its entry is refused, its own list is not tried.
    if (this.list?.refused !== undefined) return false;
    const { inventory, context } = this;
    const tasks = context.account.applications.read ? [inventory.applicationList] : inventory.tasks();
    return tasks.some(({ lastRead, failures }) => lastRead !== undefined && failures === 0);
  }

  /** True for an account of an entry that never listed an application: in an organisation that is not unusual. */
  get isWithoutApplications(): boolean {
    return this.list !== undefined && !this.inventory.hasListed;
  }

  /**
   * Starts all due tasks of the scope, and continues them in any case. Resolves when they have ended, after `waitMs` milliseconds, as
   * soon as the account is held up, or when the signal is aborted.
   */
  async refresh(scope: Scope, waitMs: number, signal?: AbortSignal): Promise<void> {
    this.schedule.advanceWindow();
    const refresh = this.#demand.request(scope, this.context.account, this.context.enabled);
    const deadline = refresh.requestedAt + waitMs;
    const waited = refresh.wait(deadline, signal);
    this.#detach(this.#request(refresh));
    if ((await waited) && refresh.requesting === 0) this.#demand.forget(refresh);
    if (signal?.aborted !== true) await this.schedule.update();
  }

  /** True for an account for which no scrape waits: it pauses, is refused, fails, or is slowed by more than a quarter. */
  get #isHeldUp(): boolean {
    const isPaused = this.limiter.budget.lastPauseEnd > this.context.clock.monotonic();
    const isSlowed = this.schedule.plan.slowdown > MOST_SLOWED;
    return isPaused || isSlowed || this.refused !== undefined || this.limiter.health.isFailing;
  }

  /** Takes over a changed configuration; the last read values, the spent budget and the retry delays stay. */
  reconfigure(next: AccountContext): void {
    this.context = next;
    this.report.logger = next.logger;
    this.inventory.reconfigure(next);
    this.#reads.reconfigure(next);
    this.limiter.reconfigure(next.account.limits);
    this.schedule.reconfigure(next);
    if (!next.enabled.has('applications')) this.#setRefused(undefined);
    for (const group of GROUPS) if (!next.enabled.has(group)) this.report.groupDisabled(group);
    this.noticeKey();
    this.#forgetRemoved();
    this.#demand.notify(this.#isHeldUp);
    this.#pump();
  }

  /** After a change of the key, every failed task is tried again with the next refresh. */
  noticeKey(): void {
    const keyMark = this.context.keyMark();
    if (keyMark === this.keyMark) return;
    this.keyMark = keyMark;
    for (const task of this.inventory.tasks()) task.retryAt = -Infinity;
    this.limiter.health.reset();
    this.#refusalDecidedAt = this.context.clock.monotonic();
    this.#setRefused(undefined);
  }

  /** True once every known task that can be read was tried once, with or without success. */
  get isExplored(): boolean {
    return this.inventory.tasks().every((task) => task.tried || !this.#accepts(task));
  }

  /** False when work could continue and has not for minutes. A pause, a spent budget and an outage do not count. */
  progressing(): boolean {
    if (this.#queueing > 0 || this.#queue.running + this.#queue.size === 0) return true;
    return this.limiter.idleFor() < STUCK_AFTER + 2 * this.context.account.limits.request_timeout;
  }

  /** Stops the account for good: no further call starts, calls in flight are aborted, and waiting scrapes are released. */
  stop(): void {
    this.#stopping.abort(new Error('the exporter no longer reads this account'));
    this.#demand.stop();
  }

  /**
   * Requests those of the tasks that the refresh covers, and queues the due ones. A running request for all tasks of the scope is
   * shared by those for the same window and waiters.
   */
  async #request(refresh: Refresh, unlocked?: Iterable<Task>): Promise<void> {
    const { requestedAt, requestingAllOf, scope } = refresh;
    const { to } = this.schedule.window;
    if (unlocked === undefined && requestingAllOf === to) return;
    if (unlocked === undefined) refresh.requestingAllOf = to;
    const tasks = unlocked ?? this.inventory.tasks(scope.applicationId);
    const requested: Task[] = [];
    let counted = 0;
    refresh.requesting += 1;
    try {
      await inSlices(tasks, (task) => {
        if (task.gone || !refresh.covers(task, this.#reads.isKnown(task))) return;
        this.schedule.request(task, requestedAt);
        requested.push(task);
      });
      // The plan decides what is due, so it is updated after all tasks are in demand.
      await this.schedule.update();
      await inSlices(requested, (task) => {
        if (!this.#join(refresh, task) || counted > 0) return;
        counted = 1;
        this.#queueing += 1;
      });
    } finally {
      this.#queueing -= counted;
      refresh.requesting -= 1;
      if (unlocked === undefined) refresh.requestingAllOf = undefined;
      this.#pump();
      this.#demand.notify(this.#isHeldUp, [refresh]);
    }
  }

  /**
   * Makes a refresh wait for a due task, and queues the task unless it is queued or running already.
   *
   * @returns true when it was queued
   */
  #join(refresh: Refresh, task: Task): boolean {
    const { requestedAt } = refresh;
    if (task.gone || this.#stopping.signal.aborted || !this.#accepts(task)) return false;
    if (task.state !== 'idle') {
      refresh.add(task);
      return false;
    }
    if (task.retryAt > requestedAt || !this.#reads.isReady(task)) return false;
    const { lastRead } = task;
    const { plan, window } = this.schedule;
    // In a slowed plan, a task that will be due before the next window uses budget that would be left: no scrape waits for it.
    const isEarly = plan.slowdown > 1 && lastRead !== undefined && lastRead.dueAt < window.readableAt + MINUTE_MS;
    if (this.schedule.isDue(task, requestedAt)) refresh.add(task);
    else if (!isEarly) return false;
    this.#queue.add(task);
    this.report.queued(task, window.to);
    return true;
  }

  /**
   * True for tasks that may be read: while New Relic refuses the account, only the application list; while it refuses the key of
   * the entry, none.
   */
  #accepts(task: Task): boolean {
    if (this.list?.refused !== undefined) return false;
    return this.#refused === undefined || task === this.inventory.applicationList;
  }

  #pump(): void {
    if (this.#pumping || this.#stopping.signal.aborted) return;
    this.#pumping = true;
    while (this.#queueing === 0) {
      // Another account of the entry may have learned that the key is refused.
      if (this.list?.refused !== undefined) this.#dropQueue();
      const planned = this.#queue.take(this.context.clock.monotonic(), (kind) => this.#fillers(kind));
      if (planned === undefined) break;
      this.#detach(this.#read(planned));
    }
    this.#pumping = false;
  }

  /** Due tasks of a kind that are not queued, for calls of NerdGraph while a probe waits: its scope is only one application. */
  #fillers(kind: Kind): readonly Task[] {
    if (this.context.reader.api === 'rest') return [];
    const refreshes = [...this.#demand.refreshes.values()];
    const isProbing = refreshes.some(({ waiters, scope }) => waiters.size > 0 && scope.applicationId !== undefined);
    if (!isProbing) return [];
    const now = this.context.clock.monotonic();
    const found: Task[] = [];
    for (const task of this.inventory.tasks()) {
      if (task.kind !== kind || task.state !== 'idle' || task.failures > 0) continue;
      const isWanted = this.schedule.isInDemand(task) && this.#accepts(task) && this.#reads.isReady(task);
      if (isWanted && this.schedule.isDue(task, now)) found.push(task);
    }
    return found;
  }

  /** Reads tasks of one kind with one call. They all end in one step, after the results were taken over. */
  async #read(batch: TaskBatch): Promise<void> {
    const tasks = batch.subjects.map(({ task }) => task);
    const { window } = this.schedule;
    const startedAt = this.context.clock.monotonic();
    for (const task of tasks) {
      if (task.state === 'idle') this.report.queued(task, window.to);
      task.begin(startedAt);
    }
    const { answers } = this.limiter.health;
    const isRepeat = tasks.some((task) => this.#reads.repeatsFailure(task));
    const outcomes = await this.#reads.read(batch, { signal: this.#stopping.signal, isRepeat });
    this.#queue.readEnded();
    this.#noteHealth(tasks, this.limiter.health.answers > answers, isRepeat);
    if (this.#stopping.signal.aborted) return;
    this.#end(tasks, outcomes, window);
  }

  /**
   * Counts a read of which no call was answered. One that repeats a failed read counts only while the application list is unanswered,
   * too (without a list: the read of anything else), because one bad entity is no failure of the account.
   */
  #noteHealth(tasks: readonly Task[], isAnswered: boolean, isRepeat: boolean): void {
    const { applicationList } = this.inventory;
    const readsList = this.context.enabled.has('applications');
    if (!isAnswered && (!isRepeat || this.#isListUnanswered)) this.limiter.health.recordUnansweredRead();
    if (!readsList || tasks.includes(applicationList)) this.#isListUnanswered = !isAnswered;
  }

  /** Ends tasks together: all tasks that they unlock are queued in one step, so that the next calls are full. */
  #end(tasks: readonly Task[], outcomes: readonly Outcome<number>[], window: CurrentWindow): void {
    const lists = new Set<Task>();
    for (const [index, outcome] of outcomes.entries()) {
      const task = tasks[index];
      if (task === undefined) continue;
      const error = 'error' in outcome ? outcome.error : undefined;
      if ('value' in outcome) this.#succeed(task, outcome.value, window);
      else this.#fail(task, { ...outcome.error.failure, text: outcome.error.message }, window);
      if (task.gone) continue;
      if (error !== undefined) this.#noteRefusal(task, error);
      else if (task === this.inventory.applicationList) {
        this.report.endIdleGroups(this.context.enabled, this.inventory.tasks());
        if (task.startedAt >= this.#refusalDecidedAt) this.#setRefused(undefined);
      }
      const isUnknown = error?.failure.reason === 'not_found';
      const list = isUnknown ? this.inventory.readListAgain(task, this.schedule.window.to) : undefined;
      if (list !== undefined) lists.add(list);
      this.#ended(task, error !== undefined || task.partial !== undefined);
    }
    this.#forgetRemoved();
    for (const refresh of [...this.#demand.refreshes.values()]) {
      if (refresh.waiters.size > 0 && refresh.requestedAt < this.schedule.everythingDueSince) {
        this.#demand.request(refresh.scope, this.context.account, this.context.enabled);
        this.#detach(this.#request(refresh));
        continue;
      }
      // The lists are read in the same refresh, so that a removed entity also disappears from this refresh's exposition.
      const unlocked = new Set<Task>(lists);
      for (const task of tasks) {
        if (task.gone || !refresh.covers(task, false)) continue;
        for (const each of this.#reads.unlockedBy(task, refresh.scope.applicationId)) {
          if (each !== task || this.schedule.isDue(each, refresh.requestedAt)) unlocked.add(each);
        }
      }
      if (unlocked.size > 0) this.#detach(this.#request(refresh, unlocked));
    }
    this.#demand.notify(this.#isHeldUp);
    const oldest = this.context.clock.monotonic() - this.schedule.demandTtl(this.inventory.applicationList);
    this.#demand.drop(this.#queue.size + this.#queue.running === 0, oldest);
  }

  #succeed(task: Task, dataEnd: number, window: CurrentWindow): void {
    const { failures, partial } = task;
    const { readableAt } = window;
    const { schedule } = this;
    const { clock } = this.context;
    const readAt = clock.monotonic();
    task.succeed({
      windowEnd: dataEnd + task.endsBefore,
      dataEnd,
      readableAt,
      readAt,
      shownAt: clock.now(),
      dueAt: dueAt({ readableAt, readAt }, schedule.intervalOf(task), schedule.plan.slowdown),
      interval: schedule.effectiveIntervalOf(task),
    });
    if (task.kind !== 'entities' || partial === undefined) return;
    // A list is served as far as it could be read, and read again as after a failure.
    task.failures = failures;
    task.overdue = true;
    this.#fail(task, partial, window);
  }

  #fail(
    task: Task,
    { reason, text, isSetApart = false }: NonNullable<Task['partial']> & Pick<UpstreamError['failure'], 'isSetApart'>,
    window: CurrentWindow,
  ): void {
    task.fail(reason, text, this.context.clock.monotonic());
    this.report.attemptFailed(task);
    this.report.paused(this.limiter.budget.lastPauseEnd);
    // While the account is refused, its application list is tried once per interval, after any kind of failure.
    const isRefused = this.refused !== undefined && task === this.inventory.applicationList;
    // New Relic would leave out rows of an earlier attempt, too.
    const isCut = reason === 'too_large' && task.kind === 'queries';
    task.retryAt = this.schedule.nextAttempt(task, isRefused || isCut || isSetApart ? undefined : window);
  }

  #ended(task: Task, failed: boolean): void {
    this.report.ended(task, failed);
    this.#demand.ended(task);
  }

  #forgetRemoved(): void {
    for (const task of this.inventory.store.takeRemoved()) {
      this.#queue.remove(task);
      this.#ended(task, false);
    }
  }

  /**
   * A 401 through the account's own interface, and a 403 on the application list, stop the account until that list is read; a 401 of
   * an account from a list stops all accounts of that list.
   */
  #noteRefusal({ kind, startedAt }: Task, { failure: { reason }, message }: UpstreamError): void {
    const { context, list } = this;
    const { applicationList } = this.inventory;
    if (list !== undefined && reason === 'auth') {
      list.refuse(message, startedAt);
      this.#dropQueue();
      return;
    }
    // An account without applications has no list that would show when New Relic accepts the account again.
    if (!context.account.applications.read || startedAt < this.#refusalDecidedAt) return;
    // The other interface may refuse the same key.
    const isOwn = READS[kind].isNerdGraphOnly !== true || context.reader.api === 'nerdgraph';
    if (reason === 'auth' ? !isOwn : reason !== 'forbidden' || kind !== 'applications') return;
    this.#setRefused(message, reason);
    applicationList.retryAt = Math.max(applicationList.retryAt, this.schedule.nextAttempt(applicationList));
    this.#dropQueue();
  }

  #dropQueue(): void {
    if (this.#queue.size === 0) return;
    for (const waiting of this.#queue.clear()) {
      if (this.#accepts(waiting)) {
        this.#queue.add(waiting);
        this.report.queued(waiting, this.schedule.window.to);
      } else {
        waiting.state = 'idle';
        this.#ended(waiting, true);
      }
    }
    this.#demand.notify(this.#isHeldUp);
  }

  #setRefused(words: string | undefined, reason?: FailureReason): void {
    const isRefused = words !== undefined;
    const wasRefused = this.#refused !== undefined;
    this.#refused = words;
    if (isRefused === wasRefused) return;
    this.#refusalDecidedAt = this.context.clock.monotonic();
    if (reason !== undefined) this.report.refused(reason);
  }

  #detach(work: Promise<unknown>): void {
    const text = 'Work on an account was ended by a fault of the exporter: please report it';
    work.catch((error: unknown) => this.context.logger.error({ err: error }, text));
  }
}
