import type { TimeRange } from '../../api/upstreamReader.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import type { Group } from '../../reads/reads.ts';
import { windowAt, readableAt } from '../inventory/window.ts';
import {
  dueAt,
  effectiveInterval,
  movedDueAt,
  nextRegularAttempt,
  planCalls,
  retryAt,
  concurrencySlowdown,
  type Plan,
} from './due.ts';
import type { EvaluationTime, Task, TaskState } from '../inventory/task.ts';
import type { Inventory } from '../inventory/inventory.ts';
import type { TaskReads } from '../inventory/taskReads.ts';
import type { AccountLimiter } from './limiter.ts';
import type { AccountContext } from '../inventory/accountContext.ts';
import { DAY_MS, MINUTE_MS } from '../../formulas/units.ts';

/** A smaller jump of the wall clock counts as a correction, not as a new setting; milliseconds. */
const CLOCK_TOLERANCE = 2_000;

/** The interval of the groups `queries` and `golden_metrics` in an account without them, in milliseconds. */
const UNUSED_INTERVAL = DAY_MS;

/** The minimum time for which a task is in demand after a request, in milliseconds. */
const DEMAND_TTL = 300_000;

/** The minimum time between two plans, in milliseconds. A demand that grows by half needs a new plan at once. */
const PLAN_AGE = 5_000;

type TaskOrGroup = Pick<Task, 'group'> & Partial<Pick<Task, 'interval'>>;

export interface CurrentWindow extends TimeRange {
  readonly readableAt: number;
}

/** The due times of the tasks of an account, and the plan with the slowdown. Times are of the monotonic clock. */
export class Schedule {
  window: CurrentWindow;
  plan: Plan;
  #context: AccountContext;
  readonly #inventory: Inventory;
  readonly #reads: TaskReads;
  readonly #limiter: AccountLimiter;
  /**
   * When the wall clock was last set forward, or the machine woke from sleep. All data read before this time is due.
   */
  everythingDueSince = -Infinity;
  #planned = { startedAt: -Infinity, tasks: 0 };
  #planning: Promise<void> | undefined;
  /** The factor by which the limit of concurrent calls slows the account. */
  #slowdown = 1;
  /** The number of tasks that came into demand since the last plan. */
  #newlyInDemand = 0;

  constructor(context: AccountContext, inventory: Inventory, reads: TaskReads, limiter: AccountLimiter) {
    this.#context = context;
    this.#inventory = inventory;
    this.#reads = reads;
    this.#limiter = limiter;
    this.window = this.#computeWindow();
    this.plan = this.#computePlan(new Map());
  }

  /** Advances to the current window, for work that starts now. Goes back only if the wall clock was set back. */
  advanceWindow(): CurrentWindow {
    const next = this.#computeWindow();
    const before = this.window;
    const ahead = before.readableAt + (next.to - before.to) * 1000 - next.readableAt;
    if (next.to === before.to && Math.abs(ahead) < CLOCK_TOLERANCE) return before;
    const { delay } = this.#context.collection;
    if (next.to < before.to && this.#context.clock.now() > readableAt(before.to, delay) - CLOCK_TOLERANCE)
      return before;
    if (ahead >= CLOCK_TOLERANCE && next.to >= before.to) {
      this.everythingDueSince = this.#context.clock.monotonic();
      const dueFrom = next.to === before.to ? next.readableAt + MINUTE_MS : this.everythingDueSince;
      for (const { lastRead } of this.#inventory.tasks()) {
        if (lastRead !== undefined) lastRead.dueAt = Math.min(lastRead.dueAt, dueFrom);
      }
    }
    return (this.window = next);
  }

  /** Applies a new configuration: makes a new plan and computes the window again, even if the new window is earlier. */
  reconfigure(context: AccountContext): void {
    const laterBy = context.collection.delay - this.#context.collection.delay;
    this.#context = context;
    this.window = this.#computeWindow();
    this.updateAtOnce();
    this.#reschedule(laterBy);
  }

  /** Returns the configured interval. For the groups `queries` and `golden_metrics`, returns the shortest interval. */
  intervalOf({ interval, group }: TaskOrGroup): number {
    if (interval !== undefined) return interval;
    const { account, collection } = this.#context;
    if (group === 'queries' || group === 'golden_metrics') {
      const each = group === 'queries' ? account.queries : account.entities;
      return each.length === 0 ? UNUSED_INTERVAL : Math.min(...each.map((one) => one.interval));
    }
    return collection.intervals[group === 'custom_metrics' ? 'metric_names' : group];
  }

  effectiveIntervalOf(taskOrGroup: TaskOrGroup): number {
    return effectiveInterval(this.intervalOf(taskOrGroup), this.plan.slowdown);
  }

  isDue({ lastRead, overdue }: Task, time: number): boolean {
    if (lastRead === undefined || overdue) return true;
    // A wall clock slightly behind the monotonic clock has not reached the next window, so there is no new data to
    // read.
    const isSameWindow = lastRead.windowEnd === this.window.to;
    return time >= lastRead.dueAt && !(isSameWindow && time < lastRead.dueAt + CLOCK_TOLERANCE);
  }

  /**
   * Returns the state of a task. A task is `stale` until `max_age` after its due time, and `missing` later or without
   * a read.
   */
  stateOf({ lastRead }: Task, { asOf, now }: EvaluationTime): TaskState {
    if (lastRead === undefined) return 'missing';
    if (asOf < lastRead.dueAt) return 'fresh';
    return now <= lastRead.dueAt + this.#context.collection.max_age ? 'stale' : 'missing';
  }

  request(task: Task, now: number): void {
    if (!this.isInDemand(task)) this.#newlyInDemand += 1;
    task.requestedAt = Math.max(task.requestedAt, now);
  }

  /** True for a recently requested task. Only tasks in demand count in states and plans. */
  isInDemand(task: Task): boolean {
    const { ignoreDemand, clock } = this.#context;
    return ignoreDemand || clock.monotonic() - task.requestedAt <= this.demandTtl(task);
  }

  demandTtl(task: Task): number {
    return Math.max(DEMAND_TTL, 2 * this.effectiveIntervalOf(task));
  }

  /** Returns the retry time of a task that failed now. Without a window, the retry waits for one interval. */
  nextAttempt(task: Task, window?: CurrentWindow): number {
    const { readableAt } = window ?? this.window;
    const attempt = { readableAt, readAt: this.#context.clock.monotonic() };
    const interval = this.intervalOf(task);
    return window === undefined ? nextRegularAttempt(attempt, interval) : retryAt(task.failures, attempt, interval);
  }

  /**
   * Makes a new plan if the plan is old or the demand has grown by half. Works in slices, so that other work gets a
   * turn.
   */
  async update(): Promise<void> {
    const isOld = this.#context.clock.monotonic() - this.#planned.startedAt >= PLAN_AGE;
    if (!isOld && this.#newlyInDemand <= this.#planned.tasks / 2) return;
    this.#planning ??= inSlices(this.#makePlan()).finally(() => (this.#planning = undefined));
    await this.#planning;
  }

  updateAtOnce(): void {
    Array.from(this.#makePlan());
  }

  *#makePlan(): Generator<undefined> {
    const startedAt = this.#context.clock.monotonic();
    this.#newlyInDemand = 0;
    // Tasks with different intervals are rarely due together, so the plan assumes that they share no batch.
    const byKindAndInterval = new Map<string, Task[]>();
    let tasks = 0;
    for (const task of this.#inventory.tasks()) {
      if (!this.isInDemand(task)) continue;
      tasks += 1;
      const key = `${task.kind} ${this.intervalOf(task)}`;
      const alike = byKindAndInterval.get(key);
      if (alike === undefined) byKindAndInterval.set(key, [task]);
      else alike.push(task);
    }
    yield undefined;
    const calls = new Map<Group, number>();
    for (const alike of byKindAndInterval.values()) {
      // Other work may have removed tasks during the yield.
      const present = alike.filter(({ gone }) => !gone);
      const [first] = present;
      if (first === undefined) continue;
      const { kind, group } = first;
      let needed = 0;
      for (const count of this.#reads.countCalls(kind, present, this.window)) {
        needed += count;
        yield undefined;
      }
      const refreshes = Math.max(this.intervalOf({ group }), MINUTE_MS) / Math.max(this.intervalOf(first), MINUTE_MS);
      calls.set(group, (calls.get(group) ?? 0) + needed * refreshes);
    }
    const { slowdown } = this.plan;
    this.plan = this.#computePlan(calls);
    if (this.plan.slowdown !== slowdown) this.#reschedule(0);
    this.#planned = { startedAt, tasks };
  }

  #computePlan(calls: ReadonlyMap<Group, number>): Plan {
    const intervals = (group: Group): number => this.intervalOf({ group });
    const perMinute = this.#context.account.limits.requests_per_minute;
    const unslowed = planCalls(calls, intervals, { perMinute, concurrencySlowdown: 1, concurrencyCapacity: undefined });
    const concurrencyCapacity = this.#limiter.concurrencyCapacity;
    if (concurrencyCapacity !== undefined)
      this.#slowdown = concurrencySlowdown(this.#slowdown, unslowed.callsPerMinute / concurrencyCapacity);
    return planCalls(calls, intervals, { perMinute, concurrencySlowdown: this.#slowdown, concurrencyCapacity });
  }

  /** Moves future due times after a change of intervals or the delay. The delay is `laterBy` milliseconds longer. */
  #reschedule(laterBy: number): void {
    const now = this.#context.clock.monotonic();
    for (const task of this.#inventory.tasks()) {
      const { lastRead } = task;
      const interval = this.effectiveIntervalOf(task);
      if (lastRead === undefined || (lastRead.interval === interval && laterBy === 0)) continue;
      const due = dueAt(lastRead, this.intervalOf(task), this.plan.slowdown);
      lastRead.dueAt = movedDueAt(now, lastRead, { dueAt: due, interval, laterBy });
      lastRead.readableAt += laterBy;
      lastRead.interval = interval;
    }
  }

  #computeWindow(): CurrentWindow {
    const { collection, clock } = this.#context;
    const wall = clock.now();
    const { from, to } = windowAt(wall, collection);
    return { from, to, readableAt: clock.monotonic() - (wall - readableAt(to, collection.delay)) };
  }
}
