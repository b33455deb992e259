import { KINDS, type Kind } from '../../reads/reads.ts';
import type { Task } from '../inventory/task.ts';
import type { TaskBatch, TaskReads } from '../inventory/taskReads.ts';
import type { AccountLimiter } from './limiter.ts';
import type { Schedule } from './schedule.ts';

/** The interval assumed for a task that was never read, in milliseconds: a short one makes the first refresh urgent. */
const FIRST_READ_INTERVAL = 60_000;

interface QueuedTask {
  readonly task: Task;
  /** When it became due; after a failure, when it may be tried again. */
  readonly since: number;
  readonly isRepeat: boolean;
}

/** The waiting tasks of one kind. */
interface WaitingTasks {
  readonly healthy: SortedTasks;
  readonly failed: SortedTasks;
}

/**
 * The tasks that are due, the most overdue first: the time overdue divided by the interval. A failed one comes after all healthy
 * ones until it has waited for its interval; then it is due like any other. Of each kind only the first are compared, because most
 * tasks of a kind share an interval.
 */
export class Queue {
  readonly #reads: TaskReads;
  readonly #schedule: Schedule;
  readonly #limiter: AccountLimiter;
  readonly #waiting = new Map<Task, QueuedTask>();
  readonly #tasks = Object.fromEntries(
    KINDS.map((kind) => [kind, { healthy: new SortedTasks(this.#waiting), failed: new SortedTasks(this.#waiting) }]),
  ) as Readonly<Record<Kind, WaitingTasks>>;
  /** The number of reads that have not ended. */
  running = 0;

  constructor(reads: TaskReads, schedule: Schedule, limiter: AccountLimiter) {
    this.#reads = reads;
    this.#schedule = schedule;
    this.#limiter = limiter;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** A task that waits already is queued anew. */
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

  /**
   * Takes the tasks of the next read off the queue; undefined while none may start.
   *
   * @param fillers further due tasks of a kind that are not queued, for a call that has room
   */
  take(now: number, fillers: (kind: Kind) => readonly Task[]): TaskBatch | undefined {
    const first = this.size === 0 ? undefined : this.#first(now);
    if (first === undefined) return undefined;
    const { task, isRepeat } = first;
    const { kind, lastRead } = task;
    // When the budget cannot carry all tasks at their intervals, repeated reads are spread over the minute: after a burst at
    // its start, the remaining tasks would wait for the next minute, twice as long as promised.
    const isSpread = this.#schedule.plan.slowdown > 1 && lastRead !== undefined;
    if (!this.#limiter.startRead({ isSpread, isRepeat })) return undefined;
    const { healthy, failed: failedTasks } = this.#tasks[kind];
    const candidates = isRepeat ? failedTasks.waiting(now) : concat(healthy.waiting(Infinity), fillers(kind));
    const window = this.#schedule.advanceWindow();
    let batch: TaskBatch;
    try {
      batch = this.#reads.take(kind, candidates, window);
    } catch (fault) {
      // The task fails like one whose read throws: else it would stay in the way of all others for good.
      batch = { kind, subjects: [{ task }], range: window, fault };
    }
    for (const each of batch.subjects) this.#waiting.delete(each.task);
    this.running += 1;
    return batch;
  }

  readEnded(): void {
    this.running -= 1;
    this.#limiter.readEnded();
  }

  /** The task that is read next; a failed one only while repeats may take another place. */
  #first(now: number): QueuedTask | undefined {
    let best: QueuedTask | undefined;
    let highest = -Infinity;
    let longestFailed: QueuedTask | undefined;
    const mayRepeat = this.#limiter.mayRepeat;
    for (const { healthy, failed: failedTasks } of Object.values(this.#tasks)) {
      const head = this.#healthyHead(healthy);
      const overdue = head === undefined ? -Infinity : this.#overdue(head, now);
      // Only a strictly larger value wins: ties go to the first kind.
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

  /** The first healthy task. One that repeats a failure since it was queued is queued anew. */
  #healthyHead(healthy: SortedTasks): QueuedTask | undefined {
    let head = healthy.head();
    while (head !== undefined && this.#reads.repeatsFailure(head.task)) {
      this.add(head.task);
      head = healthy.head();
    }
    return head;
  }

  #overdue({ task, since }: QueuedTask, now: number): number {
    return (now - since) / (task.lastRead === undefined ? FIRST_READ_INTERVAL : this.#schedule.intervalOf(task));
  }
}

function* concat(first: Iterable<Task>, second: Iterable<Task>): Generator<Task> {
  yield* first;
  yield* second;
}

/** Waiting tasks sorted by the time since which they wait. They are sorted when the first is asked for. */
class SortedTasks {
  /** What waits in the whole queue: items that it no longer has are past. */
  readonly #queued: ReadonlyMap<Task, QueuedTask>;
  #items: QueuedTask[] = [];
  /** The index of the head: items before it are past. */
  #head = 0;
  #isSorted = true;

  constructor(queued: ReadonlyMap<Task, QueuedTask>) {
    this.#queued = queued;
  }

  add(item: QueuedTask): void {
    // Nearly always the new item is the last: a task that becomes due later is queued later.
    if ((this.#items.at(-1)?.since ?? -Infinity) > item.since) this.#isSorted = false;
    this.#items.push(item);
  }

  head(): QueuedTask | undefined {
    // Past items are dropped once they are more than half of all.
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

  /** The tasks in their order: the first, and others that wait since `latest` or longer. */
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
