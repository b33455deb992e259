import type { TimeRange } from '../api/upstreamReader.ts';
import { inSlices } from '../eventLoop/turns.ts';
import type { Group } from '../metrics/sample.ts';
import {
  dueAt,
  effectiveInterval,
  movedDueAt,
  nextRegularAttempt,
  planCalls,
  retryAt,
  concurrencySlowdown,
  stateOf,
  windowAt,
  readableAt,
  type EvaluationTime,
  type TaskState,
  type Plan,
} from './due.ts';
import { GROUP_OF, type Task, type ReadTimes, type Kind } from './task.ts';
import type { Inventory } from './inventory.ts';
import type { Kinds } from './kinds.ts';
import type { AccountLimiter } from './limiter.ts';
import type { AccountContext } from './selection.ts';

const MINUTE = 60_000;

/** A wall clock that is off by less than this was corrected, not set; milliseconds. */
const CLOCK_TOLERANCE = 2_000;

/** Of an account without queries, or without entities; milliseconds. */
const LONGEST_OWN_INTERVAL = 86_400_000;

/** Tasks count for at least this long after something asked for them, in milliseconds. */
const DEMAND_TTL = 300_000;

/** A plan is made anew at most this often, in milliseconds, unless what counts has doubled. */
const PLAN_AGE = 5_000;

/** A window, and since when it can be read, in milliseconds of the monotonic clock. */
export interface CurrentWindow extends TimeRange {
  readonly readableAt: number;
}

/**
 * When everything of an account is due: by its window, the intervals of its configuration, and the plan, which says what its
 * budget and its calls at once carry of what is asked for. All times are milliseconds of the monotonic clock.
 */
export class Schedule {
  /** The window that was read or asked for last. */
  window: CurrentWindow;
  /** What a steady state of what is asked for costs, as it was made last. */
  plan: Plan;
  #context: AccountContext;
  readonly #inventory: Inventory;
  readonly #kinds: Kinds;
  readonly #limiter: AccountLimiter;
  /** When the wall clock was last set forward, or the machine slept: what was held then is due. */
  everythingDueSince = -Infinity;
  /** How many calls a task of a kind takes; below 1 where a call carries several. */
  #callsPerTask: ReadonlyMap<Kind, number> = new Map();
  /** When the plan was made, of how many tasks, and what had changed by then. */
  #madeOf = { at: -Infinity, tasks: 0, changes: 0 };
  /** The plan that is being made now. */
  #underWay: Promise<void> | undefined;
  /** By how much the number of concurrent calls slows it. */
  #slowdown = 1;
  /** How often a task began to count. */
  #newlyInDemand = 0;

  constructor(context: AccountContext, inventory: Inventory, kinds: Kinds, limiter: AccountLimiter) {
    this.#context = context;
    this.#inventory = inventory;
    this.#kinds = kinds;
    this.#limiter = limiter;
    this.window = this.#windowOfNow();
    this.plan = this.#planOf(new Map());
  }

  /**
   * Moves on to the window of now, for which work that starts now is done. It goes back only when the wall clock was set
   * back.
   */
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
      const dueFrom = next.to === before.to ? next.readableAt + MINUTE : this.everythingDueSince;
      for (const { lastRead } of this.#inventory.tasks()) {
        if (lastRead !== undefined) lastRead.dueAt = Math.min(lastRead.dueAt, dueFrom);
      }
    }
    return (this.window = next);
  }

  /**
   * The configuration has changed: takes the window of now, whatever it was before, and makes the plan anew.
   */
  reconfigure(context: AccountContext): void {
    const laterBy = context.collection.delay - this.#context.collection.delay;
    this.#context = context;
    this.window = this.#windowOfNow();
    this.updateAtOnce();
    this.#reschedule(laterBy);
  }

  /** When a task was read just now, and is due again: for the state of the task. */
  readTimes(task: Task, window: CurrentWindow, windowEnd: number): ReadTimes {
    const { clock } = this.#context;
    const interval = this.effectiveIntervalOf(task);
    const times = {
      windowEnd,
      readableAt: window.readableAt,
      readAt: clock.monotonic(),
      shownAt: clock.now(),
      interval,
    };
    return { ...times, dueAt: this.#dueAt(task, times) };
  }

  /** How many calls reading so many tasks of each kind takes, about. */
  callsFor(tasks: ReadonlyMap<Kind, number>): number {
    let calls = 0;
    for (const [kind, count] of tasks) calls += Math.ceil(count * (this.#callsPerTask.get(kind) ?? 1));
    return calls;
  }

  /**
   * The configured interval of a task, or of a group. Name lists of custom metrics have that of `metric_names`; of queries,
   * and of types of entities, the shortest is the group's, whichever are asked for.
   */
  intervalOf({ interval, group }: { readonly interval?: number | undefined; readonly group: Group }): number {
    if (interval !== undefined) return interval;
    const { account, collection } = this.#context;
    if (group === 'queries' || group === 'golden_metrics') {
      const each = group === 'queries' ? account.queries : account.entities;
      return Math.min(...each.map((one) => one.interval), LONGEST_OWN_INTERVAL);
    }
    return collection.intervals[group === 'custom_metrics' ? 'metric_names' : group];
  }

  /** The interval that the budget allows. */
  effectiveIntervalOf(of: { readonly interval?: number | undefined; readonly group: Group }): number {
    return effectiveInterval(this.intervalOf(of), this.plan.slowdown);
  }

  /** When what is held of a task is due again; -Infinity when nothing is held. */
  dueAt(task: Task): number {
    const { lastRead, overdue } = task;
    if (lastRead === undefined) return -Infinity;
    return overdue ? lastRead.readAt : lastRead.dueAt;
  }

  /** Whether a task is due at a time. */
  isDue(task: Task, at: number): boolean {
    const { lastRead, overdue } = task;
    // Most are asked for while nothing is held: those need no plan.
    if (lastRead === undefined || overdue) return true;
    const due = this.dueAt(task);
    // A wall clock that is a little behind the monotonic one has not begun the next window yet: nothing new is to be read.
    const sameWindow = lastRead.windowEnd === this.window.to;
    return at >= due && !(sameWindow && at < due + CLOCK_TOLERANCE);
  }

  /** True for what will be due before the next window, and is read early where the plan is slowed: the budget would lie idle. */
  isEarly(task: Task): boolean {
    return this.plan.slowdown > 1 && this.dueAt(task) < this.window.readableAt + MINUTE;
  }

  stateOf(task: Task, time: EvaluationTime): TaskState {
    return stateOf(task.lastRead?.dueAt, this.#context.collection.max_age, time);
  }

  /** Something asks for a task at `now`: from then on it counts. */
  request(task: Task, now: number): void {
    if (!this.isInDemand(task)) this.#newlyInDemand += 1;
    task.requestedAt = Math.max(task.requestedAt, now);
  }

  /** True for tasks that something has asked for lately: only they count in states, plans and intervals. */
  isInDemand(task: Task): boolean {
    const { ignoreDemand, clock } = this.#context;
    return ignoreDemand || clock.monotonic() - task.requestedAt <= this.demandTtl(task);
  }

  /** How long a task counts after something asked for it. */
  demandTtl(task: Task): number {
    return Math.max(DEMAND_TTL, 2 * this.effectiveIntervalOf(task));
  }

  /** When a task that failed just now, reading `window`, may be tried again. */
  retryAt(task: Task, window: CurrentWindow): number {
    const attempt = { readableAt: window.readableAt, readAt: this.#context.clock.monotonic() };
    return retryAt(task.failures, attempt, this.intervalOf(task));
  }

  /** When a task that was tried just now may be tried again if that is to happen once per interval. */
  nextRegularAttempt(task: Task): number {
    const attempt = { readableAt: this.window.readableAt, readAt: this.#context.clock.monotonic() };
    return nextRegularAttempt(attempt, this.intervalOf(task));
  }

  /**
   * Makes the plan anew where it is old or what counts has doubled, in portions between which other work goes on.
   *
   * @param exact also when anything has changed at all
   */
  async update(exact = false): Promise<void> {
    const changes = this.#changes;
    const changed = changes - this.#madeOf.changes;
    const isOther = changed > 0 && (exact || changed >= this.#madeOf.tasks);
    if (!isOther && this.#context.clock.monotonic() - this.#madeOf.at < PLAN_AGE) return;
    // One plan is made at a time: of a large fleet it takes longer than the next tasks need to ask for it.
    while (this.#underWay !== undefined) {
      await this.#underWay;
      if (!exact || this.#madeOf.changes >= changes) return;
    }
    this.#underWay = inSlices(this.#making()).finally(() => (this.#underWay = undefined));
    await this.#underWay;
  }

  /** As an exact `update`, at once. */
  updateAtOnce(): void {
    Array.from(this.#making());
  }

  /** Grows whenever what counts may have changed. */
  get #changes(): number {
    return this.#inventory.version + this.#newlyInDemand;
  }

  /** Gives other work a turn after each kind whose calls it has counted. */
  *#making(): Generator<undefined> {
    const now = this.#context.clock.monotonic();
    const changes = this.#changes;
    const byKind = new Map<Kind, Task[]>();
    let tasks = 0;
    for (const task of this.#inventory.tasks()) {
      if (!this.isInDemand(task)) continue;
      tasks += 1;
      const ofKind = byKind.get(task.kind);
      if (ofKind === undefined) byKind.set(task.kind, [task]);
      else ofKind.push(task);
    }
    yield undefined;
    const calls = new Map<Group, number>();
    const callsPerTask = new Map<Kind, number>();
    for (const [kind, ofKind] of byKind) {
      // Other work had a turn, and may have taken tasks away.
      const present = ofKind.filter(({ gone }) => !gone);
      if (present.length === 0) continue;
      const needed = this.#kinds.callsFor(kind, present, this.window);
      calls.set(GROUP_OF[kind], (calls.get(GROUP_OF[kind]) ?? 0) + needed * this.#shareOfRefreshes(present));
      callsPerTask.set(kind, Math.min(1, needed / present.length));
      yield undefined;
    }
    const { slowdown } = this.plan;
    this.plan = this.#planOf(calls);
    if (this.plan.slowdown !== slowdown) this.#reschedule(0);
    this.#callsPerTask = callsPerTask;
    this.#madeOf = { at: now, tasks, changes };
  }

  #planOf(calls: ReadonlyMap<Group, number>): Plan {
    const intervals = (group: Group): number => this.intervalOf({ group });
    const perMinute = this.#context.account.limits.requests_per_minute;
    const unslowed = planCalls(calls, intervals, { perMinute, concurrencySlowdown: 1, concurrencyCapacity: undefined });
    const concurrencyCapacity = this.#limiter.concurrencyCapacity(unslowed.callsPerMinute);
    if (concurrencyCapacity !== undefined)
      this.#slowdown = concurrencySlowdown(this.#slowdown, unslowed.callsPerMinute / concurrencyCapacity);
    return planCalls(calls, intervals, { perMinute, concurrencySlowdown: this.#slowdown, concurrencyCapacity });
  }

  /** How often a task of one kind is read while its group is refreshed once: below 1 where intervals of its own are longer. */
  #shareOfRefreshes(tasks: readonly Task[]): number {
    let refreshes = 0;
    for (const task of tasks) {
      const interval = this.intervalOf({ group: task.group });
      refreshes += Math.max(interval, MINUTE) / Math.max(task.interval ?? interval, MINUTE);
    }
    return refreshes / tasks.length;
  }

  /** The pace has changed: what is not due yet becomes due by the new one. */
  #reschedule(laterBy: number): void {
    const now = this.#context.clock.monotonic();
    for (const task of this.#inventory.tasks()) {
      const { lastRead } = task;
      const interval = this.effectiveIntervalOf(task);
      if (lastRead === undefined || (lastRead.interval === interval && laterBy === 0)) continue;
      lastRead.dueAt = movedDueAt(now, lastRead, { dueAt: this.#dueAt(task, lastRead), interval, laterBy });
      lastRead.readableAt += laterBy;
      lastRead.interval = interval;
    }
  }

  #dueAt(task: Task, times: Pick<ReadTimes, 'readableAt' | 'readAt'>): number {
    return dueAt(times, { interval: this.intervalOf(task), slowdown: this.plan.slowdown });
  }

  #windowOfNow(): CurrentWindow {
    const { collection, clock } = this.#context;
    const wall = clock.now();
    const window = windowAt(wall, collection);
    return { ...window, readableAt: clock.monotonic() - (wall - readableAt(window.to, collection.delay)) };
  }
}
