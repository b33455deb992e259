import type { Kind, Task } from './task.ts';

/** Tasks with a common wait: of the scrapes of one scope, or of the refresh of a group for one window. */
export class PendingTasks {
  /** The start of the wait, by the monotonic clock in milliseconds. */
  readonly since: number;
  /** The number of remaining tasks of each kind. */
  readonly leftByKind = new Map<Kind, number>();
  /** The number of all tasks of the wait, and of the failed ones among them. */
  total = 0;
  failed = 0;
  readonly #left = new Set<Task>();

  constructor(since: number) {
    this.since = since;
  }

  /** The number of remaining tasks. */
  get left(): number {
    return this.#left.size;
  }

  add(task: Task): void {
    if (this.#left.has(task)) return;
    this.#left.add(task);
    this.total += 1;
    this.#count(task, 1);
  }

  /**
   * A task has ended, or was removed from the inventory.
   *
   * @returns true when it was the last one
   */
  ended(task: Task, failed: boolean): boolean {
    if (!this.#left.delete(task)) return false;
    this.#count(task, -1);
    if (failed) this.failed += 1;
    return this.#left.size === 0;
  }

  clear(): void {
    this.#left.clear();
    this.leftByKind.clear();
  }

  #count({ kind }: Task, change: number): void {
    this.leftByKind.set(kind, (this.leftByKind.get(kind) ?? 0) + change);
  }
}
