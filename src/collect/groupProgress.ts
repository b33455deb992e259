import type { Group } from '../metrics/sample.ts';
import type { AccountLog } from './accountLog.ts';
import type { Clock } from './clock.ts';
import { PendingTasks } from './pendingTasks.ts';
import type { Schedule } from './schedule.ts';
import type { Task } from './task.ts';

/**
 * Follows the refreshes of one group. A refresh begins with the first task queued for a window and ends with the last of
 * them; work queued for a later window belongs to the next one, so a group that never comes to rest still reports. What
 * failed is held against every refresh until it has been read: a later one that only leaves it out is no success.
 */
export class GroupProgress {
  /** Seconds the last refresh took. */
  seconds: number | undefined;
  /** When a refresh last ended without failure, Unix seconds. */
  lastSuccess: number | undefined;
  readonly #group: Group;
  readonly #clock: Clock;
  readonly #schedule: Schedule;
  readonly #log: AccountLog;
  /** Open refreshes by the end of their window. */
  readonly #open = new Map<number, PendingTasks>();
  /** What was not read at its last attempt. */
  readonly #failing = new Set<Task>();

  constructor(group: Group, clock: Clock, schedule: Schedule, log: AccountLog) {
    this.#group = group;
    this.#clock = clock;
    this.#schedule = schedule;
    this.#log = log;
  }

  /** Whether nothing that counts has failed at its last attempt; undefined when no refresh has ended and none failed. */
  get success(): boolean | undefined {
    if (this.#failed().length > 0) return false;
    return this.seconds === undefined ? undefined : true;
  }

  /** @param windowEnd the end of the window that was current then */
  queued(task: Task, windowEnd: number): void {
    const refresh = this.#open.get(windowEnd) ?? new PendingTasks(this.#clock.monotonic());
    this.#open.set(windowEnd, refresh);
    refresh.add(task);
  }

  /** A task has ended, or has left the inventory and is waited for no longer. */
  ended(task: Task, failed: boolean): void {
    if (failed) this.#failing.add(task);
    else this.#failing.delete(task);
    for (const [windowEnd, pending] of this.#open) {
      if (!pending.ended(task, failed)) continue;
      this.#open.delete(windowEnd);
      this.#close(pending.since);
    }
  }

  /** Nothing of the group had to be read: that, too, is a refresh that went well. */
  endWithoutWork(): void {
    if (this.#open.size === 0) this.#close(this.#clock.monotonic());
  }

  #close(startedAt: number): void {
    this.seconds = Math.max(0, this.#clock.monotonic() - startedAt) / 1000;
    const failed = this.#failed();
    if (failed.length === 0) this.lastSuccess = this.#clock.now() / 1000;
    this.#log.groupEnded(this.#group, failed);
  }

  /** What has failed, without what has left, and what nothing asks for any more. */
  #failed(): Task[] {
    return [...this.#failing].filter((task) => !task.gone && this.#schedule.isInDemand(task));
  }
}
