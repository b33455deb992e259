import type { Kind, Task } from './task.ts';

/** Tasks that are waited for together: by the scrapes of one scope, or as the refresh of a group for one window. */
export class PendingTasks {
  /** When the wait began, by the monotonic clock in milliseconds. */
  readonly since: number;
  /** How many tasks of each kind are left. */
  readonly leftByKind = new Map<Kind, number>();
  /** How many tasks were waited for in all, and how many of them failed. */
  total = 0;
  failed = 0;
  readonly #left = new Set<Task>();

  constructor(since: number) {
    this.since = since;
  }

  /** How many tasks are left. */
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
   * A task has ended, or has left the inventory.
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
