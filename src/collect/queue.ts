import type { Outcome, PlannedCall } from '../api/upstreamReader.ts';
import { KINDS, type Kind } from '../reads/reads.ts';
import type { Task } from './task.ts';
import { failed, type Kinds } from './kinds.ts';
import type { AccountLimiter, Reservation } from './limiter.ts';
import type { Schedule } from './schedule.ts';

/** The interval assumed for a task that was never read, in milliseconds: a short one makes the first refresh urgent. */
const FIRST_READ_INTERVAL = 60_000;

export interface Call {
  readonly planned: PlannedCall<Task, number>;
  readonly slot: Reservation;
  readonly isTrial: boolean;
}

interface QueuedTask {
  readonly task: Task;
  /** When it became due, as it was known when it was queued. */
  readonly since: number;
  readonly isTrial: boolean;
}

/**
 * The queue of waiting tasks: most overdue first, as time overdue divided by the interval. Each kind has a lane of healthy
 * tasks and one of trials, both sorted by due time. Only the heads of lanes are compared, because most tasks of a kind share an
 * interval. A call is a trial when it may hang: for a task that failed, or for a host while neither it nor its application has
 * ever been read. A failed task goes after all healthy due tasks. It competes with them once it has waited for an interval, the
 * normal wait between two reads, so that it does not starve when the queue is never empty.
 */
export class Queue {
  readonly #kinds: Kinds;
  readonly #schedule: Schedule;
  readonly #limiter: AccountLimiter;
  readonly #waiting = new Map<Task, QueuedTask>();
  readonly #lanes = Object.fromEntries(
    KINDS.map((kind) => [kind, { healthy: new Lane(this.#waiting), trials: new Lane(this.#waiting) }]),
  ) as Readonly<Record<Kind, Readonly<Record<'healthy' | 'trials', Lane>>>>;
  /** The numbers of calls in flight, trials and others, and the number of the last trials in a row that succeeded. */
  #healthyRunning = 0;
  #trialsRunning = 0;
  #trialsSucceeded = 0;

  constructor(kinds: Kinds, schedule: Schedule, limiter: AccountLimiter) {
    this.#kinds = kinds;
    this.#schedule = schedule;
    this.#limiter = limiter;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** The number of calls in flight. */
  get running(): number {
    return this.#healthyRunning + this.#trialsRunning;
  }

  /** A task that waits already is queued anew. */
  add(task: Task): void {
    if (this.size + this.running === 0) this.#limiter.workBegins();
    task.state = 'queued';
    const { failures, retryAt, firstSeen, lastRead, overdue } = task;
    const dueAt = lastRead === undefined ? firstSeen : overdue ? lastRead.readAt : lastRead.dueAt;
    const since = failures > 0 ? retryAt : dueAt;
    const isTrial = failures > 0 || this.#kinds.mayHang(task);
    const waiting = { task, since, isTrial };
    this.#waiting.set(task, waiting);
    this.#lanes[task.kind][isTrial ? 'trials' : 'healthy'].add(waiting);
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
   * Takes the tasks of the next call off the queue, with a slot for the call; undefined while no call may start.
   *
   * @param fillers further due tasks of a kind that are not queued, for a call that has room
   */
  take(now: number, fillers: (kind: Kind) => readonly Task[]): Call | undefined {
    if (this.size === 0) return undefined;
    const first = this.#first(now);
    if (first === undefined) return undefined;
    const { task, isTrial } = first;
    // When the budget cannot carry all tasks at their intervals, repeated reads are spread over the minute: after a burst at
    // its start, the remaining tasks would wait for the next minute, twice as long as promised.
    const isSpread = this.#schedule.plan.slowdown > 1 && task.lastRead !== undefined;
    const slot = this.#limiter.reserve(isSpread);
    if (slot === undefined) return undefined;
    const candidates = this.#candidates(task, isTrial, now, fillers);
    const window = this.#schedule.advanceWindow();
    let planned: Call['planned'];
    try {
      planned = this.#kinds.of(task.kind).plan(candidates, window);
    } catch (error) {
      // The task fails like one whose read throws: else it would stay in the way of all others for good.
      planned = { subjects: [task], calls: 1, read: () => Promise.resolve([failed(error)]) };
    }
    for (const each of planned.subjects) this.#waiting.delete(each);
    if (isTrial) this.#trialsRunning += 1;
    else this.#healthyRunning += 1;
    return { planned, slot, isTrial };
  }

  ended({ slot, isTrial }: Call, outcomes: readonly Outcome<number>[]): void {
    const isSuccess = (outcome: Outcome<number>): boolean => 'value' in outcome;
    const isGood = outcomes.some(isSuccess);
    slot.end(isGood);
    if (isTrial) {
      this.#trialsRunning -= 1;
      this.#trialsSucceeded = outcomes.every(isSuccess) ? this.#trialsSucceeded + 1 : 0;
    } else this.#healthyRunning -= 1;
  }

  /**
   * The task that is read next. Trials get at most half of the concurrent calls (at least one), so that healthy tasks find a slot.
   * They get one more for each successful trial in a row, because calls do not hang after a recovery.
   */
  #first(now: number): QueuedTask | undefined {
    const mostTrials = Math.max(1, Math.floor(this.#limiter.slots / 2)) + this.#trialsSucceeded;
    const mayTry = this.#trialsRunning < mostTrials;
    let best: QueuedTask | undefined;
    let highest = -Infinity;
    let longestFailed: QueuedTask | undefined;
    for (const { healthy, trials } of Object.values(this.#lanes)) {
      const head = healthy.head();
      const overdue = head === undefined ? -Infinity : this.#overdue(head, now);
      // Only a strictly larger value wins: ties go to the first kind.
      if (overdue > highest) [best, highest] = [head, overdue];
      const trialHead = mayTry ? trials.head() : undefined;
      if (trialHead === undefined) continue;
      const { task } = trialHead;
      let trialOverdue = -Infinity;
      if (task.failures > 0) {
        if (task.retryAt < (longestFailed?.task.retryAt ?? Infinity)) longestFailed = trialHead;
        const waited = now - task.retryAt - this.#schedule.effectiveIntervalOf(task);
        if (waited >= 0) trialOverdue = waited / this.#schedule.intervalOf(task);
      } else if (head === undefined || head.task.lastRead !== undefined) {
        // A host that may hang goes after a healthy host that waits for its first read, too.
        trialOverdue = this.#overdue(trialHead, now);
      }
      if (trialOverdue > highest) [best, highest] = [trialHead, trialOverdue];
    }
    return best !== undefined && highest >= 0 ? best : (longestFailed ?? best);
  }

  #overdue({ task, since }: QueuedTask, now: number): number {
    return (now - since) / (task.lastRead === undefined ? FIRST_READ_INTERVAL : this.#schedule.intervalOf(task));
  }

  /**
   * The tasks for a call, in the order of their due times. Failed tasks are read only with failed ones, and hosts that may hang
   * only with such hosts.
   */
  *#candidates(first: Task, isTrial: boolean, now: number, fillers: (kind: Kind) => readonly Task[]): Generator<Task> {
    const { healthy, trials } = this.#lanes[first.kind];
    for (const { task } of (isTrial ? trials : healthy).waiting()) {
      const fits = !isTrial || (task.failures > 0 === first.failures > 0 && task.retryAt <= now);
      if (task !== first && !fits) return;
      yield task;
    }
    if (!isTrial) yield* fillers(first.kind);
  }
}

/** The waiting tasks of one kind, sorted by due time, and by arrival for equal times. */
class Lane {
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
    // Sorts the items if one was added out of order, and drops past ones once they are more than half of all.
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

  *waiting(): Generator<QueuedTask> {
    if (this.head() === undefined) return;
    for (let index = this.#head; index < this.#items.length; index += 1) {
      const item = this.#items[index];
      if (item !== undefined && this.#waits(item)) yield item;
    }
  }

  #waits(item: QueuedTask): boolean {
    return this.#queued.get(item.task) === item && !item.task.gone;
  }
}
