import type { Clock } from './clock.ts';
import { neededGroups, type Needs, type Scope } from './scope.ts';
import type { AccountContext } from './accountContext.ts';
import type { Kind } from '../reads/reads.ts';
import type { Task } from './task.ts';

interface Waiting {
  /** The start of the wait, by the monotonic clock in milliseconds. */
  readonly since: number;
  /** One function per waiting scrape: it releases the scrape when there is nothing more to wait for. */
  readonly waiters: Set<() => void>;
  /** The remaining tasks, and their numbers by kind. */
  readonly left: Set<Task>;
  readonly leftByKind: Map<Kind, number>;
  /** The number of all tasks of the wait, and of the failed ones among them. */
  tasks: number;
  failed: number;
}

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
  /** The window end of a running request for the whole scope; all current waiters wait for the tasks that it adds. */
  requestingAllOf: number | undefined;
  readonly #clock: Clock;
  /** Undefined after the last scrape has left; the work continues. */
  #waiting: Waiting | undefined;

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

  get isWaitedFor(): boolean {
    return this.#waiting !== undefined;
  }

  get isOver(): boolean {
    return this.requesting === 0 && (this.#waiting === undefined || this.#waiting.left.size === 0);
  }

  get leftByKind(): ReadonlyMap<Kind, number> {
    return this.#waiting?.leftByKind ?? new Map();
  }

  add(task: Task): void {
    if (this.#waiting === undefined || this.#waiting.left.has(task)) return;
    this.#waiting.left.add(task);
    this.#waiting.tasks += 1;
    this.#count(task, 1);
  }

  /** Records that a task has ended, or was removed from the inventory. */
  ended(task: Task, failed: boolean): void {
    if (this.#waiting?.left.delete(task) !== true) return;
    if (failed) this.#waiting.failed += 1;
    this.#count(task, -1);
  }

  giveUp(): void {
    this.#waiting?.left.clear();
    this.#waiting?.leftByKind.clear();
  }

  /** Makes each waiting scrape check if it may be released. */
  notify(): void {
    for (const check of [...(this.#waiting?.waiters ?? [])]) check();
  }

  /**
   * Waits until the refresh is over, the deadline is reached, the work cannot end before the deadline, or the signal is aborted.
   * The caller must request the tasks right after this call: only tasks that are added from now on are waited for.
   *
   * @returns the summary of the wait for the last waiting scrape, else undefined
   */
  async wait(deadline: number, canEnd: () => boolean, signal: AbortSignal | undefined) {
    const clock = this.#clock;
    if (this.#waiting === undefined) this.requestingAllOf = undefined;
    const waiting: Waiting = (this.#waiting ??= {
      since: clock.monotonic(),
      waiters: new Set(),
      left: new Set(),
      leftByKind: new Map(),
      tasks: 0,
      failed: 0,
    });
    await new Promise<void>((resolve) => {
      let cancel: (() => void) | undefined;
      const release = (): void => {
        waiting.waiters.delete(check);
        cancel?.();
        signal?.removeEventListener('abort', release);
        resolve();
      };
      // While requests are running, it is not known yet if the work can end in time.
      const check = (): void => {
        if (this.requesting === 0 && (this.isOver || !canEnd())) release();
      };
      waiting.waiters.add(check);
      signal?.addEventListener('abort', release, { once: true });
      if (deadline !== Infinity) cancel = clock.after(deadline - clock.monotonic(), release);
      if (clock.monotonic() >= deadline || signal?.aborted === true) release();
    });
    if (waiting.waiters.size > 0 || this.#waiting !== waiting) return undefined;
    this.#waiting = undefined;
    const { tasks, failed, left, since } = waiting;
    return { tasks, failed, left: left.size, seconds: Math.max(0, clock.monotonic() - since) / 1000 };
  }

  #count({ kind }: Task, change: number): void {
    this.#waiting?.leftByKind.set(kind, (this.leftByKind.get(kind) ?? 0) + change);
  }
}
