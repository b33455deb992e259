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
  /** When it was asked for last: what becomes due later is not its work. */
  requestedAt = -Infinity;
  /** How many askings are under way: until they have ended, it is not known what it waits for. */
  requesting = 0;
  /** The window for which all of the scope is being asked for, so that what is added is waited for by all who wait now. */
  requestingAllOf: number | undefined;
  readonly #clock: Clock;
  /** What scrapes wait for, and their looks whether they may go. It is gone with the last of them; the work continues. */
  #waiting: { readonly pending: PendingTasks; readonly waiters: Set<() => void> } | undefined;

  constructor(scope: Scope, context: AccountContext) {
    this.scope = scope;
    this.#clock = context.clock;
    this.needs = neededGroups(scope, context);
  }

  /** Somebody asks for it, for the first time or once more. */
  request(context: Pick<AccountContext, 'reader' | 'customMetrics'>): void {
    this.requestedAt = this.#clock.monotonic();
    this.needs = neededGroups(this.scope, context);
  }

  /** True while somebody waits for it. */
  get isWaitedFor(): boolean {
    return this.#waiting !== undefined;
  }

  /** True when nothing is left of what scrapes wait for. */
  get isOver(): boolean {
    return this.requesting === 0 && (this.#waiting === undefined || this.#waiting.pending.left === 0);
  }

  /** How many tasks of each kind it still waits for. */
  get leftByKind(): ReadonlyMap<Kind, number> {
    return this.#waiting?.pending.leftByKind ?? new Map();
  }

  /** It waits for a task. */
  add(task: Task): void {
    this.#waiting?.pending.add(task);
  }

  /** A task has ended, or has left the inventory. */
  ended(task: Task, failed: boolean): void {
    this.#waiting?.pending.ended(task, failed);
  }

  /** It waits for nothing any more. */
  giveUp(): void {
    this.#waiting?.pending.clear();
  }

  /** Has those who wait look whether they may go. */
  notify(): void {
    for (const look of [...(this.#waiting?.waiters ?? [])]) look();
  }

  /**
   * Waits until it is over, the deadline is reached, the work cannot end before it, or the signal is aborted. What is added
   * from now on is waited for; the caller begins to ask for it at once.
   *
   * @returns for the last scrape that waited what it came to, else undefined
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
      // While more is being asked for, nobody knows yet whether it can end.
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
