import { UpstreamError } from '../api/types.ts';
import type { Clock } from './clock.ts';
import { GROUP_OF, type Task, type Kind } from './task.ts';
import type { Failed, Kinds, PlannedTasks } from './kinds.ts';
import type { AccountLimiter, Reservation } from './limiter.ts';
import type { Schedule } from './schedule.ts';

/** Ties, and the first refresh, go in this order. */
const KINDS = Object.keys(GROUP_OF) as readonly Kind[];

/** Never read values are overdue against this interval, whatever their group's: the first refresh is urgent. */
const FIRST_READ_INTERVAL = 60_000;

/** After so many readings in a row that failed altogether, upstream counts as failing until one succeeds. */
const FAILING_AFTER = 3;

/** While upstream fails, this many times the plan's calls are made in a minute at most. */
const CALLS_WHILE_FAILING = 2;

/** A call that may start now: the tasks of one kind that it reads, and the slot it has. */
export interface Call extends PlannedTasks {
  readonly slot: Reservation;
  readonly isSuspect: boolean;
}

/** A task that waits, since when it is due, and whether its call may hang. It has left once it waits no longer. */
interface QueuedTask {
  readonly task: Task;
  readonly since: number;
  readonly isSuspect: boolean;
  isRemoved: boolean;
}

/**
 * The tasks that wait for their turn: most overdue first, as time overdue divided by their interval. A lane is in the order
 * in which its tasks became due, and only the first of each lane are compared: but for queries, all of a kind share the
 * interval of their group.
 *
 * Suspect is what may hang: what failed, and hosts that were never read while their application was not answered either.
 * What failed goes after all healthy work that is due; only once it has waited for an interval, as long as anything waits
 * between two reads, it competes with it, so that it does not starve where the queue never runs empty.
 */
export class Queue {
  readonly #clock: Clock;
  readonly #kinds: Kinds;
  readonly #schedule: Schedule;
  readonly #limiter: AccountLimiter;
  readonly #lanes = new Map(KINDS.map((kind) => [kind, { healthy: new Lane(), suspect: new Lane() }]));
  readonly #waiting = new Map<Task, QueuedTask>();
  /** Calls under way that may hang, and how many of those in a row ended well. */
  #suspectsRunning = 0;
  #suspectsWell = 0;
  /** Readings in a row that failed altogether. */
  #failedInRow = 0;

  constructor(clock: Clock, kinds: Kinds, schedule: Schedule, limiter: AccountLimiter) {
    this.#clock = clock;
    this.#kinds = kinds;
    this.#schedule = schedule;
    this.#limiter = limiter;
  }

  /** True while tasks wait, and New Relic has failed too often in the last minute to be tried again. */
  get isHeldBack(): boolean {
    const now = this.#clock.monotonic();
    return this.size > 0 && this.#nextTry(now) > now;
  }

  /** How many tasks wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Queues a task; one that waits already goes to the lane where it belongs now. */
  add(task: Task): void {
    this.remove(task);
    const since =
      task.failures > 0 ? task.retryAt : task.lastRead === undefined ? task.firstSeen : this.#schedule.dueAt(task);
    const isSuspect = task.failures > 0 || this.#kinds.isSuspect(task);
    const waiting = { task, since, isSuspect, isRemoved: false };
    this.#waiting.set(task, waiting);
    this.#lanesOf(task.kind)[isSuspect ? 'suspect' : 'healthy'].add(waiting);
  }

  /** A task waits no longer. */
  remove(task: Task): void {
    const waiting = this.#waiting.get(task);
    if (waiting === undefined) return;
    waiting.isRemoved = true;
    this.#waiting.delete(task);
  }

  /** Empties the queue; what waited. */
  clear(): readonly Task[] {
    const tasks = [...this.#waiting.keys()];
    for (const task of tasks) this.remove(task);
    return tasks;
  }

  /**
   * Takes the tasks of the next call off the queue, and a slot for it; undefined while nothing may start.
   *
   * @param fillers further due tasks of a kind that are not queued, for a call that has room
   */
  take(fillers: (kind: Kind) => readonly Task[]): Call | undefined {
    const now = this.#clock.monotonic();
    const first = this.#first(now);
    if (first === undefined) {
      const nextTry = this.#nextTry(now);
      if (this.size > 0 && nextTry > now) this.#limiter.wakeAt(nextTry);
      return undefined;
    }
    const { task, isSuspect } = first;
    // Where the budget cannot carry everything at its interval, what is read again is spread over the minute: what a burst at
    // its beginning left would wait for the next, twice as long as was promised.
    const isSpread = this.#schedule.plan.slowdown > 1 && task.lastRead !== undefined;
    const slot = this.#limiter.reserve(isSpread);
    if (slot === undefined) return undefined;
    const { tasks, read } = this.#fill(first, fillers);
    for (const each of tasks) this.remove(each);
    if (isSuspect) this.#suspectsRunning += 1;
    return { slot, tasks, read, isSuspect };
  }

  /** A call has ended; gives its slot back. */
  ended({ slot, isSuspect }: Call, results: readonly (number | Failed)[]): void {
    slot.cancel();
    const isWell = (result: number | Failed): boolean => typeof result === 'number';
    if (isSuspect) {
      this.#suspectsRunning -= 1;
      this.#suspectsWell = results.every(isWell) ? this.#suspectsWell + 1 : 0;
    }
    if (results.some(isWell)) {
      this.#failedInRow = 0;
      if (slot.calls.count > 0) this.#limiter.learn(slot.calls);
    } else if (!results.some(isOverload)) {
      this.#failedInRow += 1;
    }
  }

  /** Nothing is known of upstream any more: the key is another one. */
  forgetFailures(): void {
    this.#failedInRow = 0;
  }

  /** What comes next: the most overdue, as the class says. */
  #first(now: number): QueuedTask | undefined {
    const maySuspect = this.#maySuspect(now);
    const candidates: { readonly waiting: QueuedTask; readonly overdue: number }[] = [];
    let longestFailed: QueuedTask | undefined;
    for (const kind of KINDS) {
      const { healthy, suspect } = this.#lanesOf(kind);
      const [head] = healthy.waiting();
      const [suspectHead] = maySuspect ? suspect.waiting() : [];
      if (head !== undefined) candidates.push({ waiting: head, overdue: this.#overdue(head.task, now) });
      if (suspectHead === undefined) continue;
      const { failures, retryAt } = suspectHead.task;
      if (failures > 0) {
        if (retryAt < (longestFailed?.task.retryAt ?? Infinity)) longestFailed = suspectHead;
        const waited = now - retryAt - this.#schedule.effectiveIntervalOf(suspectHead.task);
        const overdue = waited / this.#schedule.intervalOf(suspectHead.task);
        if (waited >= 0) candidates.push({ waiting: suspectHead, overdue });
      } else if (head === undefined || head.task.lastRead !== undefined) {
        // Hosts that were never read go behind the others of their kind.
        candidates.push({ waiting: suspectHead, overdue: this.#overdue(suspectHead.task, now) });
      }
    }
    let [best] = candidates;
    // Strictly more: ties stay with the kind that comes first.
    for (const candidate of candidates) if (best !== undefined && candidate.overdue > best.overdue) best = candidate;
    return best !== undefined && best.overdue >= 0 ? best.waiting : (longestFailed ?? best?.waiting);
  }

  #overdue(task: Task, now: number): number {
    if (task.lastRead === undefined) return (now - task.firstSeen) / FIRST_READ_INTERVAL;
    return (now - this.#schedule.dueAt(task)) / this.#schedule.intervalOf(task);
  }

  /**
   * What may hang never holds every slot while healthy work may come: it has at most half of the calls at once (at least
   * one), and one more for each reading in a row that ended well, because what comes back after an outage does not hang.
   * While upstream fails, it is tried only as long as there are few calls in a minute: they tell as well as many do.
   */
  #maySuspect(now: number): boolean {
    const half = Math.max(1, Math.floor(this.#limiter.slots / 2));
    if (this.#suspectsRunning >= half + this.#suspectsWell) return false;
    return this.#nextTry(now) <= now;
  }

  /** When a suspect call may start: later than now only while New Relic fails, and enough calls were made in the last minute. */
  #nextTry(now: number): number {
    if (this.#failedInRow < FAILING_AFTER) return now;
    const most = Math.max(1, Math.floor(CALLS_WHILE_FAILING * this.#schedule.plan.callsPerMinute));
    return this.#limiter.budget.fewerStarts(most, now);
  }

  /**
   * The tasks that a call carries, in the order of their turns: the due ones before those that are early; failed ones only
   * with failed ones, suspect hosts only with suspect hosts.
   */
  #fill({ task: first, isSuspect }: QueuedTask, fillers: (kind: Kind) => readonly Task[]): PlannedTasks {
    const window = this.#schedule.advanceWindow();
    return this.#kinds.plan(first.kind, this.#candidates(first, isSuspect, fillers), window);
  }

  *#candidates(first: Task, isSuspect: boolean, fillers: (kind: Kind) => readonly Task[]): Generator<Task> {
    const now = this.#clock.monotonic();
    const { healthy, suspect } = this.#lanesOf(first.kind);
    for (const { task } of (isSuspect ? suspect : healthy).waiting()) {
      const fits = !isSuspect || (task.failures > 0 === first.failures > 0 && task.retryAt <= now);
      if (task !== first && !fits) return;
      yield task;
    }
    if (!isSuspect) yield* fillers(first.kind);
  }

  #lanesOf(kind: Kind): { readonly healthy: Lane; readonly suspect: Lane } {
    const lanes = this.#lanes.get(kind);
    if (lanes === undefined) throw new Error(`nothing of the kind ${kind} can wait`);
    return lanes;
  }
}

/** What waits of one kind: what is due first comes first, and of equal ones what came first. */
class Lane {
  #items: QueuedTask[] = [];
  /** What stands before it has left. */
  #head = 0;
  #isSorted = true;

  add(item: QueuedTask): void {
    // Nearly always the last: what becomes due later comes later.
    if ((this.#items.at(-1)?.since ?? -Infinity) > item.since) this.#isSorted = false;
    this.#items.push(item);
  }

  /** The tasks that still wait, the first that is due first. */
  *waiting(): Generator<QueuedTask> {
    if (!this.#isSorted || this.#head > this.#items.length / 2) {
      const waiting = this.#items.slice(this.#head).filter((item) => !isOver(item));
      this.#items = waiting.sort((a, b) => a.since - b.since);
      this.#head = 0;
      this.#isSorted = true;
    }
    for (let index = this.#head; index < this.#items.length; index += 1) {
      const item = this.#items[index];
      if (item !== undefined && !isOver(item)) yield item;
      else if (index === this.#head) this.#head += 1;
    }
  }
}

function isOver({ isRemoved, task }: QueuedTask): boolean {
  return isRemoved || task.gone;
}

function isOverload(result: number | Failed): boolean {
  if (typeof result === 'number' || !(result.error instanceof UpstreamError)) return false;
  return result.error.failure.reason === 'rate_limited';
}
