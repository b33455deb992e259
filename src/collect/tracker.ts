import { GROUPS, type Group } from '../metrics/sample.ts';
import type { AccountLog } from './accountLog.ts';
import { GroupProgress } from './groupProgress.ts';
import { Refresh } from './refresh.ts';
import type { Schedule } from './schedule.ts';
import { isSameScope, type Scope } from './scope.ts';
import type { AccountContext } from './selection.ts';
import type { Task } from './task.ts';

/** The maximum number of refreshes to keep: scrapers and probes of one account do not use more scopes. */
const MOST_REFRESHES = 10_000;

/** The waits of one account: of scrapes, in the refreshes of their scopes, and of the log, in the refreshes of the groups. */
export class Tracker {
  readonly groups: ReadonlyMap<Group, GroupProgress>;
  readonly #refreshes = new Set<Refresh>();

  constructor({ clock }: AccountContext, schedule: Schedule, log: AccountLog) {
    this.groups = new Map(GROUPS.map((group) => [group, new GroupProgress(group, clock, schedule, log)]));
  }

  /** The open refreshes. */
  refreshes(): Iterable<Refresh> {
    return this.#refreshes;
  }

  /** True while a probe of an application waits. */
  get isProbing(): boolean {
    for (const { isWaitedFor, scope } of this.#refreshes) {
      if (isWaitedFor && scope.applicationId !== undefined) return true;
    }
    return false;
  }

  /** The refresh of a scope that is requested now: an open one of the same scope, or a new one. */
  request(scope: Scope, context: AccountContext): Refresh {
    const refresh = this.#openRefresh(scope) ?? new Refresh(scope, context);
    if (this.#refreshes.size >= MOST_REFRESHES) this.drop(false, -Infinity);
    this.#refreshes.add(refresh);
    refresh.request(context);
    return refresh;
  }

  /** Removes a finished refresh: it unlocks no more work. */
  forget(refresh: Refresh): void {
    this.#refreshes.delete(refresh);
  }

  /** A task is queued while the window that ends at `windowEnd` is read. */
  queued(task: Task, windowEnd: number): void {
    this.groups.get(task.group)?.queued(task, windowEnd);
  }

  /** A task has ended, or was removed from the inventory. */
  ended(task: Task, failed: boolean): void {
    this.groups.get(task.group)?.ended(task, failed);
    for (const refresh of this.#refreshes) refresh.ended(task, failed);
  }

  /** Makes each waiting scrape check if it may be released. */
  notify(): void {
    for (const refresh of this.#refreshes) refresh.notify();
  }

  /** Ends all waits. */
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
      const isOld = refresh.requestedAt < oldest || this.#refreshes.size >= MOST_REFRESHES;
      if (isIdle || isOld) this.#refreshes.delete(refresh);
    }
  }

  #openRefresh(scope: Scope): Refresh | undefined {
    for (const refresh of this.#refreshes) if (isSameScope(refresh.scope, scope)) return refresh;
    return undefined;
  }
}
