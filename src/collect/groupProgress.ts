import type { Group } from '../metrics/sample.ts';
import type { AccountLog } from './accountLog.ts';
import type { Clock } from './clock.ts';
import type { Schedule } from './schedule.ts';
import type { Task } from './task.ts';

/**
 * Follows the refreshes of one group. A refresh begins with the first task queued for a window and ends with the last of them.
 * Tasks queued for a later window belong to the next refresh, so a group that is always busy still reports. A failed task makes
 * each refresh a failure until it has been read, even a refresh that does not include it.
 */
export class GroupProgress {
  /** Seconds the last refresh took. */
  seconds: number | undefined;
  /** The end of the last refresh without failure, Unix seconds. */
  lastSuccess: number | undefined;
  readonly #group: Group;
  readonly #clock: Clock;
  readonly #schedule: Schedule;
  readonly #log: AccountLog;
  /** Open refreshes by the end of their window: the start, by the monotonic clock, and the tasks that have not ended. */
  readonly #open = new Map<number, { readonly since: number; readonly left: Set<Task> }>();
  /** The tasks whose last attempt failed. */
  readonly #failing = new Set<Task>();

  constructor(group: Group, clock: Clock, schedule: Schedule, log: AccountLog) {
    this.#group = group;
    this.#clock = clock;
    this.#schedule = schedule;
    this.#log = log;
  }

  /** True when the last attempt of each task in demand succeeded; undefined when no refresh has ended and none failed. */
  get success(): boolean | undefined {
    if (this.#failed().length > 0) return false;
    return this.seconds === undefined ? undefined : true;
  }

  /** @param windowEnd the end of the current window when the task was queued */
  queued(task: Task, windowEnd: number): void {
    const refresh = this.#open.get(windowEnd);
    if (refresh !== undefined) refresh.left.add(task);
    else this.#open.set(windowEnd, { since: this.#clock.monotonic(), left: new Set([task]) });
  }

  /** A task has ended, or was removed from the inventory. */
  ended(task: Task, failed: boolean): void {
    if (failed) this.#failing.add(task);
    else this.#failing.delete(task);
    for (const [windowEnd, { since, left }] of this.#open) {
      if (!left.delete(task) || left.size > 0) continue;
      this.#open.delete(windowEnd);
      this.#close(since);
    }
  }

  /** A refresh with no due task of the group is a success, too. */
  endWithoutWork(): void {
    if (this.#open.size === 0) this.#close(this.#clock.monotonic());
  }

  #close(startedAt: number): void {
    this.seconds = Math.max(0, this.#clock.monotonic() - startedAt) / 1000;
    const failed = this.#failed();
    if (failed.length === 0) this.lastSuccess = this.#clock.now() / 1000;
    this.#log.groupEnded(this.#group, failed);
  }

  /** The failing tasks, without removed ones and those no longer in demand. */
  #failed(): Task[] {
    return [...this.#failing].filter((task) => !task.gone && this.#schedule.isInDemand(task));
  }
}
