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

/** A jump of the wall clock by less than this counts as a correction, not as a new setting; milliseconds. */
const CLOCK_TOLERANCE = 2_000;

/** The interval of the groups of queries and golden metrics in an account without them, in milliseconds. */
const NO_OWN_INTERVAL = DAY_MS;

/** The minimum time for which a task is in demand after a request, in milliseconds. */
const DEMAND_TTL = 300_000;

/** The minimum age of a plan before it is made again, in milliseconds, unless the demand has grown by half. */
const PLAN_AGE = 5_000;

type TaskOrGroup = Pick<Task, 'group'> & Partial<Pick<Task, 'interval'>>;

export interface CurrentWindow extends TimeRange {
  readonly readableAt: number;
}

/** The due times of an account's tasks, and the plan: how much of the demand can be carried. Times are of the monotonic clock. */
export class Schedule {
  window: CurrentWindow;
  plan: Plan;
  #context: AccountContext;
  readonly #inventory: Inventory;
  readonly #reads: TaskReads;
  readonly #limiter: AccountLimiter;
  /**
   * The time when the wall clock was last set forward, or the machine woke from sleep: all data that were read before are due.
   */
  everythingDueSince = -Infinity;
  #planned = { startedAt: -Infinity, tasks: 0 };
  #planning: Promise<void> | undefined;
  /** The factor by which the limit of concurrent calls slows the account. */
  #slowdown = 1;
  /** The number of tasks that came into demand since the plan was made. */
  #newlyInDemand = 0;

  constructor(context: AccountContext, inventory: Inventory, reads: TaskReads, limiter: AccountLimiter) {
    this.#context = context;
    this.#inventory = inventory;
    this.#reads = reads;
    this.#limiter = limiter;
    this.window = this.#windowOfNow();
    this.plan = this.#planOf(new Map());
  }

  /** Advances to the current window, for work that starts now. It goes back only when the wall clock was set back. */
  advanceWindow(): CurrentWindow {
    const next = this.#windowOfNow();
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

  /** Takes over a new configuration: the current window, even if it is earlier, and a new plan. */
  reconfigure(context: AccountContext): void {
    const laterBy = context.collection.delay - this.#context.collection.delay;
    this.#context = context;
    this.window = this.#windowOfNow();
    this.updateAtOnce();
    this.#reschedule(laterBy);
  }

  /** The configured interval. The groups of queries and golden metrics have the shortest of all queries or entity types. */
  intervalOf({ interval, group }: TaskOrGroup): number {
    if (interval !== undefined) return interval;
    const { account, collection } = this.#context;
    if (group === 'queries' || group === 'golden_metrics') {
      const each = group === 'queries' ? account.queries : account.entities;
      return each.length === 0 ? NO_OWN_INTERVAL : Math.min(...each.map((one) => one.interval));
    }
    return collection.intervals[group === 'custom_metrics' ? 'metric_names' : group];
  }

  effectiveIntervalOf(taskOrGroup: TaskOrGroup): number {
    return effectiveInterval(this.intervalOf(taskOrGroup), this.plan.slowdown);
  }

  isDue({ lastRead, overdue }: Task, at: number): boolean {
    if (lastRead === undefined || overdue) return true;
    // If the wall clock is slightly behind the monotonic one, the next window has not begun: there is no new data to read.
    const sameWindow = lastRead.windowEnd === this.window.to;
    return at >= lastRead.dueAt && !(sameWindow && at < lastRead.dueAt + CLOCK_TOLERANCE);
  }

  /** `stale` lasts until `max_age` after the due time; then, and when nothing was read, it is `missing`. */
  stateOf({ lastRead }: Task, { asOf, now }: EvaluationTime): TaskState {
    if (lastRead === undefined) return 'missing';
    if (asOf < lastRead.dueAt) return 'fresh';
    return now <= lastRead.dueAt + this.#context.collection.max_age ? 'stale' : 'missing';
  }

  request(task: Task, now: number): void {
    if (!this.isInDemand(task)) this.#newlyInDemand += 1;
    task.requestedAt = Math.max(task.requestedAt, now);
  }

  /** True for recently requested tasks: only they count in states, plans and intervals. */
  isInDemand(task: Task): boolean {
    const { ignoreDemand, clock } = this.#context;
    return ignoreDemand || clock.monotonic() - task.requestedAt <= this.demandTtl(task);
  }

  demandTtl(task: Task): number {
    return Math.max(DEMAND_TTL, 2 * this.effectiveIntervalOf(task));
  }

  /** The time of the next attempt of a task that failed just now in this window; without one, at one attempt per interval. */
  nextAttempt(task: Task, window?: CurrentWindow): number {
    const { readableAt } = window ?? this.window;
    const attempt = { readableAt, readAt: this.#context.clock.monotonic() };
    const interval = this.intervalOf(task);
    return window === undefined ? nextRegularAttempt(attempt, interval) : retryAt(task.failures, attempt, interval);
  }

  /** Makes the plan again when it is old or the demand has grown by half, in portions so that other work gets a turn. */
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
    // Tasks of different intervals are rarely due together, so they are taken to share no call.
    const parts = new Map<string, Task[]>();
    let tasks = 0;
    for (const task of this.#inventory.tasks()) {
      if (!this.isInDemand(task)) continue;
      tasks += 1;
      const key = `${task.kind} ${this.intervalOf(task)}`;
      const part = parts.get(key);
      if (part === undefined) parts.set(key, [task]);
      else part.push(task);
    }
    yield undefined;
    const calls = new Map<Group, number>();
    for (const part of parts.values()) {
      // Other work may have removed tasks during the yield.
      const present = part.filter(({ gone }) => !gone);
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
    this.plan = this.#planOf(calls);
    if (this.plan.slowdown !== slowdown) this.#reschedule(0);
    this.#planned = { startedAt, tasks };
  }

  #planOf(calls: ReadonlyMap<Group, number>): Plan {
    const intervals = (group: Group): number => this.intervalOf({ group });
    const perMinute = this.#context.account.limits.requests_per_minute;
    const unslowed = planCalls(calls, intervals, { perMinute, concurrencySlowdown: 1, concurrencyCapacity: undefined });
    const concurrencyCapacity = this.#limiter.concurrencyCapacity;
    if (concurrencyCapacity !== undefined)
      this.#slowdown = concurrencySlowdown(this.#slowdown, unslowed.callsPerMinute / concurrencyCapacity);
    return planCalls(calls, intervals, { perMinute, concurrencySlowdown: this.#slowdown, concurrencyCapacity });
  }

  /** Moves due times in the future after intervals or the delay have changed; the delay is `laterBy` milliseconds longer. */
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

  #windowOfNow(): CurrentWindow {
    const { collection, clock } = this.#context;
    const wall = clock.now();
    const { from, to } = windowAt(wall, collection);
    return { from, to, readableAt: clock.monotonic() - (wall - readableAt(to, collection.delay)) };
  }
}
