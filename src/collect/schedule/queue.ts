import { KINDS, type Kind } from '../../reads/reads.ts';
import type { Task } from '../inventory/task.ts';
import type { TaskBatch, TaskReads } from '../inventory/taskReads.ts';
import type { AccountLimiter } from './limiter.ts';
import type { Schedule } from './schedule.ts';

/** Milliseconds, for a task that was never read: a short interval makes the first refresh urgent. */
const FIRST_READ_INTERVAL = 60_000;

interface QueuedTask {
  readonly task: Task;
  /** Due time, captured when the task was queued; after a failure, the time of the retry. */
  readonly since: number;
  readonly isRepeat: boolean;
}

/**
 * The due tasks, most overdue first: by the time since the due time, divided by the interval. A failed task comes after
 * all healthy tasks until it has waited for its interval. Only the first tasks of each kind are compared, because most
 * tasks of a kind share an interval.
 */
export class Queue {
  readonly #reads: TaskReads;
  readonly #schedule: Schedule;
  readonly #limiter: AccountLimiter;
  readonly #waiting = new Map<Task, QueuedTask>();
  readonly #tasks = Object.fromEntries(
    KINDS.map((kind) => [kind, { healthy: new SortedTasks(this.#waiting), failed: new SortedTasks(this.#waiting) }]),
  ) as Readonly<Record<Kind, { readonly healthy: SortedTasks; readonly failed: SortedTasks }>>;
  /** Reads that have not ended. */
  running = 0;

  constructor(reads: TaskReads, schedule: Schedule, limiter: AccountLimiter) {
    this.#reads = reads;
    this.#schedule = schedule;
    this.#limiter = limiter;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Replaces the item of a task that is already queued. */
  add(task: Task): void {
    task.state = 'queued';
    const { failures, retryAt, firstSeen, lastRead, overdue } = task;
    const dueAt = lastRead === undefined ? firstSeen : overdue ? lastRead.readAt : lastRead.dueAt;
    const isRepeat = this.#reads.repeatsFailure(task);
    const waiting = { task, since: failures > 0 ? retryAt : dueAt, isRepeat };
    this.#waiting.set(task, waiting);
    this.#tasks[task.kind][isRepeat ? 'failed' : 'healthy'].add(waiting);
  }

  remove(task: Task): void {
    this.#waiting.delete(task);
  }

  clear(): readonly Task[] {
    const tasks = [...this.#waiting.keys()];
    this.#waiting.clear();
    return tasks;
  }

  /** Takes the next batch; undefined while no read may start. `findFillers` finds more tasks for a batch with room. */
  take(now: number, findFillers: (kind: Kind) => readonly Task[]): TaskBatch | undefined {
    const first = this.#findFirst(now);
    if (first === undefined) return undefined;
    const { task, isRepeat } = first;
    const { kind, lastRead } = task;
    // With a slowed plan, repeated reads are spread over the minute. A burst would spend its budget, and the remaining
    // tasks would wait for the next minute: twice their effective interval.
    const isSpread = this.#schedule.plan.slowdown > 1 && lastRead !== undefined;
    if (!this.#limiter.startRead({ isSpread, isRepeat })) return undefined;
    const { healthy, failed: failedTasks } = this.#tasks[kind];
    const candidates = isRepeat ? failedTasks.waiting(now) : concat(healthy.waiting(Infinity), findFillers(kind));
    const window = this.#schedule.advanceWindow();
    let batch: TaskBatch;
    try {
      batch = this.#reads.take(kind, candidates, window);
    } catch (fault) {
      // A task whose batch cannot be taken would block the queue for good. So the read fails the task.
      batch = { kind, subjects: [{ task }], range: window, fault };
    }
    for (const each of batch.subjects) this.#waiting.delete(each.task);
    this.running += 1;
    return batch;
  }

  endRead(): void {
    this.running -= 1;
    this.#limiter.endRead();
  }

  /** Considers failed tasks only while the limiter accepts another repeat. */
  #findFirst(now: number): QueuedTask | undefined {
    let best: QueuedTask | undefined;
    let highest = -Infinity;
    let longestFailed: QueuedTask | undefined;
    const mayRepeat = this.#limiter.mayRepeat;
    for (const { healthy, failed: failedTasks } of Object.values(this.#tasks)) {
      const head = this.#findHealthyHead(healthy);
      const overdue = head === undefined ? -Infinity : this.#measureOverdue(head, now);
      // Only a strictly larger value wins, so ties go to the first kind.
      if (overdue > highest) [best, highest] = [head, overdue];
      const failedHead = mayRepeat ? failedTasks.head() : undefined;
      if (failedHead === undefined) continue;
      if (failedHead.since < (longestFailed?.since ?? Infinity)) longestFailed = failedHead;
      const { task, since } = failedHead;
      const waited = now - since - this.#schedule.effectiveIntervalOf(task);
      const failedOverdue = waited / this.#schedule.intervalOf(task);
      if (waited >= 0 && failedOverdue > highest) [best, highest] = [failedHead, failedOverdue];
    }
    return highest >= 0 ? best : (longestFailed ?? best);
  }

  /** Moves tasks that became repeats after they were queued to the failed tasks. */
  #findHealthyHead(healthy: SortedTasks): QueuedTask | undefined {
    let head = healthy.head();
    while (head !== undefined && this.#reads.repeatsFailure(head.task)) {
      this.add(head.task);
      head = healthy.head();
    }
    return head;
  }

  #measureOverdue({ task, since }: QueuedTask, now: number): number {
    return (now - since) / (task.lastRead === undefined ? FIRST_READ_INTERVAL : this.#schedule.intervalOf(task));
  }
}

function* concat(first: Iterable<Task>, second: Iterable<Task>): Generator<Task> {
  yield* first;
  yield* second;
}

/** Queued tasks by due time, sorted when a caller asks for the first one. */
class SortedTasks {
  /** The whole queue. An item that it no longer has is obsolete. */
  readonly #queued: ReadonlyMap<Task, QueuedTask>;
  #items: QueuedTask[] = [];
  /** Earlier items are obsolete. */
  #head = 0;
  #isSorted = true;

  constructor(queued: ReadonlyMap<Task, QueuedTask>) {
    this.#queued = queued;
  }

  add(item: QueuedTask): void {
    // Rare, because the due times mostly follow the order of queueing.
    if ((this.#items.at(-1)?.since ?? -Infinity) > item.since) this.#isSorted = false;
    this.#items.push(item);
  }

  head(): QueuedTask | undefined {
    // Drops obsolete items once they are more than half of all items.
    if (!this.#isSorted || this.#head > this.#items.length / 2) {
      const waiting = this.#items.slice(this.#head).filter((item) => this.#waits(item));
      this.#items = waiting.sort((a, b) => a.since - b.since);
      this.#head = 0;
      this.#isSorted = true;
    }
    while (this.#head < this.#items.length) {
      const item = this.#items[this.#head];
      if (item !== undefined && this.#waits(item)) return item;
      this.#head += 1;
    }
    return undefined;
  }

  /** Yields the first task, and further tasks that were due by `latest`. */
  *waiting(latest: number): Generator<Task> {
    const head = this.head();
    for (let index = this.#head; index < this.#items.length; index += 1) {
      const item = this.#items[index];
      if (item === undefined || (item !== head && item.since > latest)) return;
      if (this.#waits(item)) yield item.task;
    }
  }

  #waits(item: QueuedTask): boolean {
    return this.#queued.get(item.task) === item && !item.task.gone;
  }
}
