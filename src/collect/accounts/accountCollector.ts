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

/** An account is stuck when no call starts or ends for these milliseconds plus two request timeouts. */
const STUCK_AFTER = 120_000;

/** Scrapes do not wait for an account with a larger slowdown. */
const MAX_AWAITED_SLOWDOWN = 1.25;

/** Collects one account. Times are milliseconds of the monotonic clock. */
export class AccountCollector {
  context: AccountContext;
  /** Undefined for an account that the file names. */
  list: AccountList | undefined;
  readonly inventory: Inventory;
  readonly limiter: AccountLimiter;
  readonly schedule: Schedule;
  readonly report: Report;
  keyMark: string;
  /** The warnings of the last check, and the end of its window in Unix seconds. */
  loggedWarnings: ReadonlySet<string> = new Set();
  warningsCheckedFor: number | undefined;
  #refused: string | undefined;
  readonly #reads: TaskReads;
  readonly #demand: Demand;
  readonly #queue: Queue;
  readonly #stopping = new AbortController();
  /** The requests that are still queueing tasks. Calls start after all of them finish, so that batches are full. */
  #queueing = 0;
  #pumping = false;
  /** True when New Relic answered no call of the last read: of the application list, or without it, of anything. */
  #isListUnanswered = false;
  /** When New Relic last began to refuse or to accept the account. Calls that started earlier decide nothing. */
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

  /** Why New Relic refuses the account or the key of its entry, in words; undefined while New Relic accepts both. */
  get refused(): string | undefined {
    return this.list?.refused ?? this.#refused;
  }

  /** The value of `newrelic_up`: the last application list was read; without applications, any query or entity. */
  get up(): boolean {
    // While New Relic refuses the key of the entry, the account does not read its own list.
    if (this.list?.refused !== undefined) return false;
    const { inventory, context } = this;
    const tasks = context.account.applications.read ? [inventory.applicationList] : inventory.tasks();
    return tasks.some(({ lastRead, failures }) => lastRead !== undefined && failures === 0);
  }

  /** True for an account of an entry that never listed an application: organisations often have such accounts. */
  get isWithoutApplications(): boolean {
    return this.list !== undefined && !this.inventory.hasListed;
  }

  /**
   * Starts all due tasks of the scope. Resolves when they have ended, after `waitMs` milliseconds, when the account is
   * held up, or when the signal aborts. Tasks continue after an early return.
   */
  async refresh(scope: Scope, waitMs: number, signal?: AbortSignal): Promise<void> {
    this.schedule.advanceWindow();
    const refresh = this.#demand.request(scope, this.context);
    const deadline = refresh.requestedAt + waitMs;
    const waited = refresh.wait(deadline, signal);
    this.#detach(this.#request(refresh));
    if ((await waited) && refresh.requesting === 0) this.#demand.forget(refresh);
    if (signal?.aborted !== true) await this.schedule.update();
  }

  /** True while scrapes do not wait for the account. */
  get #isHeldUp(): boolean {
    const isPaused = this.limiter.budget.lastPauseEnd > this.context.clock.monotonic();
    const isSlowed = this.schedule.plan.slowdown > MAX_AWAITED_SLOWDOWN;
    return isPaused || isSlowed || this.refused !== undefined || this.limiter.health.isFailing;
  }

  /** Keeps the last values, the spent budget and the retry delays. */
  reconfigure(next: AccountContext): void {
    this.context = next;
    this.report.logger = next.logger;
    this.inventory.reconfigure(next);
    this.#reads.reconfigure(next);
    this.limiter.reconfigure(next.account.limits);
    this.schedule.reconfigure(next);
    if (!next.enabled.has('applications')) this.#setRefused(undefined);
    for (const group of GROUPS) if (!next.enabled.has(group)) this.report.forgetReasons(group);
    this.checkKey();
    this.#forgetRemoved();
    this.#demand.notify(this.#isHeldUp);
    this.#pump();
  }

  /** Makes every failed task due for a retry if the key has changed. */
  checkKey(): void {
    const keyMark = this.context.keyMark();
    if (keyMark === this.keyMark) return;
    this.keyMark = keyMark;
    for (const task of this.inventory.tasks()) task.retryAt = -Infinity;
    this.limiter.health.reset();
    this.#refusalDecidedAt = this.context.clock.monotonic();
    this.#setRefused(undefined);
  }

  /** True once every known task that may be read was tried. */
  get isExplored(): boolean {
    return this.inventory.tasks().every((task) => task.tried || !this.#accepts(task));
  }

  /** False when work has stood still for minutes without a reason: a pause, a spent budget or an outage. */
  progressing(): boolean {
    if (this.#queueing > 0 || this.#queue.running + this.#queue.size === 0) return true;
    return this.limiter.idleFor() < STUCK_AFTER + 2 * this.context.account.limits.request_timeout;
  }

  /** Stops the account for good: aborts calls in flight and releases waiting scrapes. */
  stop(): void {
    this.#stopping.abort(new Error('the exporter no longer reads this account'));
    this.#demand.stop();
  }

  /**
   * Marks the tasks that the refresh covers as requested, and queues the due ones: of `unlocked`, or of the whole
   * scope. Returns at once when a request for the whole scope and the same window is running.
   */
  async #request(refresh: Refresh, unlocked?: Iterable<Task>): Promise<void> {
    const { requestedAt, requestingAllFor, scope } = refresh;
    const { to } = this.schedule.window;
    if (unlocked === undefined && requestingAllFor === to) return;
    if (unlocked === undefined) refresh.requestingAllFor = to;
    const tasks = unlocked ?? this.inventory.tasks(scope.applicationId);
    const requested: Task[] = [];
    refresh.requesting += 1;
    try {
      await inSlices(tasks, (task) => {
        if (task.gone || !refresh.covers(task, this.#reads.isKnown(task))) return;
        this.schedule.request(task, requestedAt);
        requested.push(task);
      });
      // The plan decides which tasks are due. It counts tasks in demand, so all tasks must be requested first.
      await this.schedule.update();
      this.#queueing += 1;
      await inSlices(requested, (task) => this.#join(refresh, task)).finally(() => {
        this.#queueing -= 1;
        this.#pump();
      });
    } finally {
      refresh.requesting -= 1;
      if (unlocked === undefined) refresh.requestingAllFor = undefined;
      this.#demand.notify(this.#isHeldUp, [refresh]);
    }
  }

  /** Makes a refresh wait for a due task. Queues the task unless it is queued or running. */
  #join(refresh: Refresh, task: Task): void {
    const { requestedAt } = refresh;
    if (task.gone || this.#stopping.signal.aborted || !this.#accepts(task)) return;
    if (task.state !== 'idle') {
      refresh.add(task);
      return;
    }
    if (task.retryAt > requestedAt || !this.#reads.isReady(task)) return;
    const { lastRead } = task;
    const { plan, window } = this.schedule;
    // A slowed plan spends spare budget on tasks due before the next window. Scrapes do not wait for them.
    const isEarly = plan.slowdown > 1 && lastRead !== undefined && lastRead.dueAt < window.readableAt + MINUTE_MS;
    if (this.schedule.isDue(task, requestedAt)) refresh.add(task);
    else if (!isEarly) return;
    this.#queue.add(task);
    this.report.recordQueued(task, window.to);
  }

  /** A refused account reads only its application list; with a refused key, nothing. */
  #accepts(task: Task): boolean {
    if (this.list?.refused !== undefined) return false;
    return this.#refused === undefined || task === this.inventory.applicationList;
  }

  #pump(): void {
    if (this.#pumping || this.#stopping.signal.aborted) return;
    this.#pumping = true;
    while (this.#queueing === 0) {
      // Another account of the entry may have found that New Relic refuses the key.
      if (this.list?.refused !== undefined) this.#dropQueue();
      const batch = this.#queue.take(this.context.clock.monotonic(), (kind) => this.#findFillers(kind));
      if (batch === undefined) break;
      this.#detach(this.#read(batch));
    }
    this.#pumping = false;
  }

  /** Finds due tasks that fill NerdGraph batches while a probe waits: a probe queues only its own application. */
  #findFillers(kind: Kind): readonly Task[] {
    const refreshes = [...this.#demand.refreshes.values()];
    const isProbing = refreshes.some(({ waiters, scope }) => waiters.size > 0 && scope.applicationId !== undefined);
    if (!isProbing || this.context.reader.api === 'rest') return [];
    const now = this.context.clock.monotonic();
    return this.inventory.tasks().filter((task) => {
      if (task.kind !== kind || task.state !== 'idle' || task.failures > 0) return false;
      const isWanted = this.schedule.isInDemand(task) && this.#accepts(task) && this.#reads.isReady(task);
      return isWanted && this.schedule.isDue(task, now);
    });
  }

  async #read(batch: TaskBatch): Promise<void> {
    const tasks = batch.subjects.map(({ task }) => task);
    const { window } = this.schedule;
    const startedAt = this.context.clock.monotonic();
    for (const task of tasks) {
      if (task.state === 'idle') this.report.recordQueued(task, window.to);
      task.begin(startedAt);
    }
    const { answers } = this.limiter.health;
    const isRepeat = tasks.some((task) => this.#reads.repeatsFailure(task));
    const outcomes = await this.#reads.read(batch, { signal: this.#stopping.signal, isRepeat });
    this.#queue.endRead();
    this.#recordHealth(tasks, this.limiter.health.answers > answers, isRepeat);
    if (this.#stopping.signal.aborted) return;
    this.#end(tasks, outcomes, window);
  }

  /**
   * Counts a read without any answer from New Relic. A repeat counts only while the last list read was unanswered,
   * too, because one bad entity does not mean that the account fails.
   */
  #recordHealth(tasks: readonly Task[], isAnswered: boolean, isRepeat: boolean): void {
    const { applicationList } = this.inventory;
    const readsList = this.context.enabled.has('applications');
    if (!isAnswered && (!isRepeat || this.#isListUnanswered)) this.limiter.health.recordUnansweredRead();
    if (!readsList || tasks.includes(applicationList)) this.#isListUnanswered = !isAnswered;
  }

  /** Ends tasks, and queues all that they unlock in one step, so that the next batches are full. */
  #end(tasks: readonly Task[], outcomes: readonly Outcome<number>[], window: CurrentWindow): void {
    const lists = new Set<Task>();
    for (const [index, outcome] of outcomes.entries()) {
      const task = tasks[index];
      if (task === undefined) continue;
      const error = 'error' in outcome ? outcome.error : undefined;
      if ('value' in outcome) this.#succeed(task, outcome.value, window);
      else this.#fail(task, { ...outcome.error.failure, text: outcome.error.message }, window);
      if (task.gone) continue;
      if (error !== undefined) this.#recordRefusal(task, error);
      else if (task === this.inventory.applicationList) {
        this.report.endIdleGroups(this.context.enabled, this.inventory.tasks());
        if (task.startedAt >= this.#refusalDecidedAt) this.#setRefused(undefined);
      }
      if (error?.failure.reason === 'not_found') {
        const list = this.inventory.readListAgain(task, this.schedule.window.to);
        if (list !== undefined) lists.add(list);
      }
      this.#recordEnd(task, error !== undefined || task.partial !== undefined);
    }
    this.#forgetRemoved();
    for (const refresh of [...this.#demand.refreshes.values()]) {
      if (refresh.waiters.size > 0 && refresh.requestedAt < this.schedule.everythingDueSince) {
        this.#demand.request(refresh.scope, this.context);
        this.#detach(this.#request(refresh));
        continue;
      }
      // The same refresh reads these lists, so that its exposition does not show what New Relic removed.
      const unlocked = new Set<Task>(lists);
      for (const task of tasks) {
        if (task.gone || !refresh.covers(task, false)) continue;
        for (const each of this.#reads.findUnlocked(task, refresh.scope.applicationId)) {
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
    // The readable part of a list is served, and the read is retried as after a failure.
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
    this.report.logFailure(task);
    this.report.logPause(this.limiter.budget.lastPauseEnd);
    // A refused account tries its application list once per interval, after any kind of failure.
    const isRefused = this.refused !== undefined && task === this.inventory.applicationList;
    // An earlier attempt would get a cut result, too.
    const isCut = reason === 'too_large' && task.kind === 'queries';
    task.retryAt = this.schedule.nextAttempt(task, isRefused || isCut || isSetApart ? undefined : window);
  }

  #recordEnd(task: Task, failed: boolean): void {
    this.report.recordEnd(task, failed);
    this.#demand.recordEnd(task);
  }

  #forgetRemoved(): void {
    for (const task of this.inventory.store.takeRemoved()) {
      this.#queue.remove(task);
      this.#recordEnd(task, false);
    }
  }

  /**
   * Stops the account after a 401 through its own interface, or a 403 on the application list, until a list read
   * succeeds. A 401 stops all accounts of an entry.
   */
  #recordRefusal({ kind, startedAt }: Task, { failure: { reason }, message }: UpstreamError): void {
    const { context, list } = this;
    const { applicationList } = this.inventory;
    if (list !== undefined && reason === 'auth') {
      list.refuse(message, startedAt);
      this.#dropQueue();
      return;
    }
    // Without an application list, no read could show that New Relic accepts the account again.
    if (!context.account.applications.read || startedAt < this.#refusalDecidedAt) return;
    // NerdGraph may refuse a key that the REST API accepts.
    const isOwnInterface = READS[kind].isNerdGraphOnly !== true || context.reader.api === 'nerdgraph';
    if (reason === 'auth' ? !isOwnInterface : reason !== 'forbidden' || kind !== 'applications') return;
    this.#setRefused(message, reason);
    applicationList.retryAt = Math.max(applicationList.retryAt, this.schedule.nextAttempt(applicationList));
    this.#dropQueue();
  }

  #dropQueue(): void {
    if (this.#queue.size === 0) return;
    for (const waiting of this.#queue.clear()) {
      if (this.#accepts(waiting)) {
        this.#queue.add(waiting);
        this.report.recordQueued(waiting, this.schedule.window.to);
      } else {
        waiting.state = 'idle';
        this.#recordEnd(waiting, true);
      }
    }
    this.#demand.notify(this.#isHeldUp);
  }

  #setRefused(words: string | undefined, reason?: FailureReason): void {
    const isUnchanged = (words === undefined) === (this.#refused === undefined);
    this.#refused = words;
    if (isUnchanged) return;
    this.#refusalDecidedAt = this.context.clock.monotonic();
    if (reason !== undefined) this.report.logRefusal(reason);
  }

  #detach(work: Promise<unknown>): void {
    const text = 'A bug of the exporter ended work on an account: please report it';
    work.catch((error: unknown) => this.context.logger.error({ err: error }, text));
  }
}
