import type { Clock } from './clock.ts';
import { PendingTasks } from './pendingTasks.ts';
import { neededGroups, type Needs, type Scope } from './scope.ts';
import type { AccountContext } from './selection.ts';
import type { Kind, Task } from './task.ts';

/**
 * One refresh of one account, shared by all scrapes of the same scope. It continues in the background after the last of them
 * has left, including work that it unlocks. All times are milliseconds of the monotonic clock.
 */
export class Refresh {
  readonly scope: Scope;
  needs: Needs;
  /** The time of its last request: tasks that become due later do not belong to it. */
  requestedAt = -Infinity;
  /** The number of running requests: until they have ended, its tasks are not all known. */
  requesting = 0;
  /** The window of a running request for the whole scope: all current waiters wait for the tasks that it adds. */
  requestingAllOf: number | undefined;
  readonly #clock: Clock;
  /**
   * The tasks that scrapes wait for, and a check per scrape that may release it. Undefined after the last scrape has left; the
   * work continues.
   */
  #waiting: { readonly pending: PendingTasks; readonly waiters: Set<() => void> } | undefined;

  constructor(scope: Scope, context: AccountContext) {
    this.scope = scope;
    this.#clock = context.clock;
    this.needs = neededGroups(scope, context);
  }

  /** Records a request of this refresh, the first one or a later one. */
  request(context: Pick<AccountContext, 'reader' | 'customMetrics'>): void {
    this.requestedAt = this.#clock.monotonic();
    this.needs = neededGroups(this.scope, context);
  }

  /** True while a scrape waits for it. */
  get isWaitedFor(): boolean {
    return this.#waiting !== undefined;
  }

  /** True when scrapes have no task left to wait for. */
  get isOver(): boolean {
    return this.requesting === 0 && (this.#waiting === undefined || this.#waiting.pending.left === 0);
  }

  /** The number of tasks of each kind that it still waits for. */
  get leftByKind(): ReadonlyMap<Kind, number> {
    return this.#waiting?.pending.leftByKind ?? new Map();
  }

  /** Adds a task to wait for. */
  add(task: Task): void {
    this.#waiting?.pending.add(task);
  }

  /** A task has ended, or was removed from the inventory. */
  ended(task: Task, failed: boolean): void {
    this.#waiting?.pending.ended(task, failed);
  }

  /** Drops all tasks that it waits for. */
  giveUp(): void {
    this.#waiting?.pending.clear();
  }

  /** Makes each waiting scrape check if it may be released. */
  notify(): void {
    for (const look of [...(this.#waiting?.waiters ?? [])]) look();
  }

  /**
   * Waits until it is over, the deadline is reached, the work cannot end before the deadline, or the signal is aborted. Tasks
   * that are added from now on are waited for; the caller begins to request them at once.
   *
   * @returns the summary of the wait for the last waiting scrape, else undefined
   */
  async wait(deadline: number, canEnd: () => boolean, signal: AbortSignal | undefined) {
    const clock = this.#clock;
    if (this.#waiting === undefined) this.requestingAllOf = undefined;
    const waiting = (this.#waiting ??= { pending: new PendingTasks(clock.monotonic()), waiters: new Set() });
    await new Promise<void>((resolve) => {
      let cancel: (() => void) | undefined;
      const go = (): void => {
        waiting.waiters.delete(look);
        cancel?.();
        signal?.removeEventListener('abort', go);
        resolve();
      };
      // While requests are running, it is not known yet if the work can end in time.
      const look = (): void => {
        if (this.requesting === 0 && (this.isOver || !canEnd())) go();
      };
      waiting.waiters.add(look);
      signal?.addEventListener('abort', go, { once: true });
      if (deadline !== Infinity) cancel = clock.after(deadline - clock.monotonic(), go);
      if (clock.monotonic() >= deadline || signal?.aborted === true) go();
    });
    if (waiting.waiters.size > 0 || this.#waiting !== waiting) return undefined;
    this.#waiting = undefined;
    const { total, failed, left, since } = waiting.pending;
    return { tasks: total, failed, left, seconds: Math.max(0, clock.monotonic() - since) / 1000 };
  }
}
