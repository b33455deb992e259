import { GROUPS, type Group } from '../reads/reads.ts';
import type { AccountLog } from './accountLog.ts';
import type { Clock } from './clock.ts';
import { Refresh } from './refresh.ts';
import type { Schedule } from './schedule.ts';
import { isSameScope, type Scope } from './scope.ts';
import type { AccountContext } from './accountContext.ts';
import type { Task } from './task.ts';

/** Limit for the refreshes that are kept: scrapers and probes of one account use fewer scopes. */
const MAX_REFRESHES = 10_000;

/**
 * The refreshes of one group. A refresh begins when the first task is queued for a window, and ends when all tasks of that
 * window have ended. Tasks queued for a later window belong to the next refresh, so that refreshes of a busy group end, too.
 */
interface GroupProgress {
  /** Open refreshes by the end of their window: the start, by the monotonic clock, and the tasks that have not ended. */
  readonly open: Map<number, { readonly since: number; readonly left: Set<Task> }>;
  /** Tasks whose last attempt failed: until they are read, every refresh is a failure, even one that has other tasks only. */
  readonly failing: Set<Task>;
  /** The duration of the last refresh. */
  seconds: number | undefined;
  /** The end of the last refresh without failure, Unix seconds. */
  lastSuccess: number | undefined;
}

/** The running refreshes of one account: of scopes, which scrapes wait for, and of groups, which the log and metrics report. */
export class Tracker {
  readonly #clock: Clock;
  readonly #schedule: Schedule;
  readonly #log: AccountLog;
  readonly #groups: Readonly<Record<Group, GroupProgress>>;
  readonly #refreshes = new Set<Refresh>();

  constructor({ clock }: AccountContext, schedule: Schedule, log: AccountLog) {
    this.#clock = clock;
    this.#schedule = schedule;
    this.#log = log;
    const newGroup = () => ({ open: new Map(), failing: new Set<Task>(), seconds: undefined, lastSuccess: undefined });
    this.#groups = Object.fromEntries(GROUPS.map((group) => [group, newGroup()])) as Record<Group, GroupProgress>;
  }

  refreshes(): Iterable<Refresh> {
    return this.#refreshes;
  }

  get isProbing(): boolean {
    for (const { isWaitedFor, scope } of this.#refreshes) {
      if (isWaitedFor && scope.applicationId !== undefined) return true;
    }
    return false;
  }

  /** The refresh of a scope that is requested now: an open one of the same scope, or a new one. */
  request(scope: Scope, context: AccountContext): Refresh {
    const refresh = this.#openRefresh(scope) ?? new Refresh(scope, context);
    if (this.#refreshes.size >= MAX_REFRESHES) this.drop(false, -Infinity);
    this.#refreshes.add(refresh);
    refresh.request(context);
    return refresh;
  }

  /** Removes a finished refresh: it unlocks no more work. */
  forget(refresh: Refresh): void {
    this.#refreshes.delete(refresh);
  }

  /** Records that a task was queued while the window that ends at `windowEnd` is read. */
  queued(task: Task, windowEnd: number): void {
    const { open } = this.#groups[task.group];
    const refresh = open.get(windowEnd);
    if (refresh !== undefined) refresh.left.add(task);
    else open.set(windowEnd, { since: this.#clock.monotonic(), left: new Set([task]) });
  }

  /** Records that a task has ended, or was removed from the inventory. */
  ended(task: Task, failed: boolean): void {
    const { open, failing } = this.#groups[task.group];
    if (failed) failing.add(task);
    else failing.delete(task);
    for (const [windowEnd, { since, left }] of open) {
      if (!left.delete(task) || left.size > 0) continue;
      open.delete(windowEnd);
      this.#close(task.group, since);
    }
    for (const refresh of this.#refreshes) refresh.ended(task, failed);
  }

  /** Records a refresh of a group without tasks, which is a success, too. */
  endWithoutWork(group: Group): void {
    if (this.#groups[group].open.size === 0) this.#close(group, this.#clock.monotonic());
  }

  /**
   * The result of a group: the duration of its last refresh, its last success, and `success`: false when the last attempt of a
   * task in demand failed, otherwise true, but undefined before the first refresh has ended.
   */
  resultOf(group: Group) {
    const { seconds, lastSuccess } = this.#groups[group];
    const success = this.#failed(group).length > 0 ? false : seconds === undefined ? undefined : true;
    return { success, lastSuccess, seconds };
  }

  /** Makes each waiting scrape check if it may be released. */
  notify(): void {
    for (const refresh of this.#refreshes) refresh.notify();
  }

  stop(): void {
    for (const refresh of this.#refreshes) refresh.giveUp();
    this.notify();
  }

  /**
   * Removes refreshes without a waiting scrape: all of them once all work has ended, otherwise those requested before `oldest`,
   * and the oldest of them when there are too many.
   */
  drop(isIdle: boolean, oldest: number): void {
    for (const refresh of this.#refreshes) {
      if (refresh.isWaitedFor || refresh.requesting > 0) continue;
      const isOld = refresh.requestedAt < oldest || this.#refreshes.size >= MAX_REFRESHES;
      if (isIdle || isOld) this.#refreshes.delete(refresh);
    }
  }

  #close(group: Group, startedAt: number): void {
    const progress = this.#groups[group];
    progress.seconds = Math.max(0, this.#clock.monotonic() - startedAt) / 1000;
    const failed = this.#failed(group);
    if (failed.length === 0) progress.lastSuccess = this.#clock.now() / 1000;
    this.#log.groupEnded(group, failed);
  }

  /** The failing tasks of a group, without removed ones and those no longer in demand. */
  #failed(group: Group): Task[] {
    return [...this.#groups[group].failing].filter((task) => !task.gone && this.#schedule.isInDemand(task));
  }

  #openRefresh(scope: Scope): Refresh | undefined {
    for (const refresh of this.#refreshes) if (isSameScope(refresh.scope, scope)) return refresh;
    return undefined;
  }
}
