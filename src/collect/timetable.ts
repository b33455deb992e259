import type { TimeRange } from '../api/reader.ts';
import { inSlices } from '../eventLoop/turns.ts';
import type { Group } from '../metrics/sample.ts';
import {
  dueAt,
  effectiveInterval,
  nextTurn,
  planCalls,
  retryAt,
  slowedBy,
  stateOf,
  windowAt,
  windowStart,
  type AnswerTime,
  type EntityState,
  type Plan,
} from './due.ts';
import { GROUP_OF, type Entity, type HeldTimes, type Kind } from './entity.ts';
import type { Inventory } from './inventory.ts';
import type { Kinds } from './kinds.ts';
import type { Limiter } from './limiter.ts';
import type { AccountContext } from './selection.ts';

const MINUTE = 60_000;

/** A wall clock that is off by less than this was corrected, not set; milliseconds. */
const CLOCK_TOLERANCE = 2_000;

/** Of an account without queries; milliseconds. */
const LONGEST_QUERY_INTERVAL = 86_400_000;

/** Entities count for at least this long after something asked for them, in milliseconds. */
const ASKED_FOR = 300_000;

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
export class Timetable {
  /** The window that was read or asked for last. */
  window: CurrentWindow;
  /** What a steady state of what is asked for costs, as it was made last. */
  plan: Plan;
  readonly #context: Readonly<AccountContext>;
  readonly #inventory: Inventory;
  readonly #kinds: Kinds;
  readonly #limiter: Limiter;
  /** The wall clock was set forward, or the machine slept: what was read before `at` is due from `dueFrom` on. */
  #jump = { at: -Infinity, dueFrom: Infinity };
  /** How many calls an entity of a kind takes; below 1 where a call carries several. */
  #callsPerEntity: ReadonlyMap<Kind, number> = new Map();
  /** When the plan was made, of how many entities, and what had changed by then. */
  #madeOf = { at: -Infinity, entities: 0, changes: 0 };
  /** The plan that is being made now. */
  #underWay: Promise<void> | undefined;
  /** By how much the number of concurrent calls slows it. */
  #slowed = 1;
  /** How often an entity began to count. */
  #newlyAsked = 0;

  constructor(context: Readonly<AccountContext>, inventory: Inventory, kinds: Kinds, limiter: Limiter) {
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
  moveOn(): CurrentWindow {
    const next = this.#windowOfNow();
    const before = this.window;
    const ahead = before.readableAt + (next.to - before.to) * 1000 - next.readableAt;
    if (next.to === before.to && Math.abs(ahead) < CLOCK_TOLERANCE) return before;
    const { delay } = this.#context.collection;
    if (next.to < before.to && this.#context.clock.now() > windowStart(before.to, delay) - CLOCK_TOLERANCE)
      return before;
    if (ahead >= CLOCK_TOLERANCE && next.to >= before.to) {
      const now = this.#context.clock.monotonic();
      this.#jump = { at: now, dueFrom: next.to === before.to ? next.readableAt + MINUTE : now };
    }
    return (this.window = next);
  }

  /** Since when everything that was held is due, because the wall clock was set forward or the machine slept. */
  get everythingDueSince(): number {
    return this.#jump.at;
  }

  /** The configuration has changed: takes the window of now, whatever it was before, and makes the plan anew. */
  reset(): void {
    this.window = this.#windowOfNow();
    this.updateAtOnce();
  }

  /** How many calls reading so many entities of each kind takes, about. */
  callsFor(entities: ReadonlyMap<Kind, number>): number {
    let calls = 0;
    for (const [kind, count] of entities) calls += Math.ceil(count * (this.#callsPerEntity.get(kind) ?? 1));
    return calls;
  }

  /**
   * The configured interval of an entity, or of a group. Name lists of custom metrics have that of `metric_names`; of queries
   * the shortest is the group's, whichever are asked for.
   */
  intervalOf({ interval, group }: { readonly interval?: number | undefined; readonly group: Group }): number {
    if (interval !== undefined) return interval;
    const { account, collection } = this.#context;
    if (group === 'queries') return Math.min(...account.queries.map((query) => query.interval), LONGEST_QUERY_INTERVAL);
    return collection.intervals[group === 'custom_metrics' ? 'metric_names' : group];
  }

  /** The interval that the budget allows. */
  effectiveIntervalOf(of: { readonly interval?: number | undefined; readonly group: Group }): number {
    return effectiveInterval(this.intervalOf(of), this.plan.stretch);
  }

  /** When what is held of an entity is due again; -Infinity when nothing is held. */
  dueAt(entity: Entity): number {
    const { held, overdue } = entity;
    if (held === undefined) return -Infinity;
    if (overdue) return held.readAt;
    const due = dueAt(held, { interval: this.intervalOf(entity), stretch: this.plan.stretch });
    return this.#isPassed(held) ? Math.min(due, this.#jump.dueFrom) : due;
  }

  /** Whether an entity is due at a time. */
  isDue(entity: Entity, at: number): boolean {
    const { held, overdue } = entity;
    // Most are asked for while nothing is held: those need no plan.
    if (held === undefined || overdue) return true;
    const due = this.dueAt(entity);
    // A wall clock that is a little behind the monotonic one has not begun the next window yet: nothing new is to be read.
    const sameWindow = held.windowEnd === this.window.to;
    return at >= due && !(sameWindow && at < due + CLOCK_TOLERANCE);
  }

  /** True for what will be due before the next window, and is read early where the plan is slowed: the budget would lie idle. */
  isEarly(entity: Entity): boolean {
    return this.plan.stretch > 1 && this.dueAt(entity) < this.window.readableAt + MINUTE;
  }

  stateOf(entity: Entity, time: AnswerTime): EntityState {
    const { held } = entity;
    const pace = { interval: this.intervalOf(entity), stretch: this.plan.stretch };
    const state = stateOf(held, pace, this.#context.collection.max_age, time);
    if (state !== 'fresh' || held === undefined || !this.#isPassed(held)) return state;
    return time.asOf < this.#jump.dueFrom ? 'fresh' : 'stale';
  }

  /** Something asks for an entity at `now`: from then on it counts. */
  ask(entity: Entity, now: number): void {
    if (!this.counts(entity)) this.#newlyAsked += 1;
    entity.askedAt = Math.max(entity.askedAt, now);
  }

  /** True for entities that something has asked for lately: only they count in states, plans and intervals. */
  counts(entity: Entity): boolean {
    const { everythingCounts, clock } = this.#context;
    return everythingCounts || clock.monotonic() - entity.askedAt <= this.asksHold(entity);
  }

  /** How long an entity counts after something asked for it. */
  asksHold(entity: Entity): number {
    return Math.max(ASKED_FOR, 2 * this.effectiveIntervalOf(entity));
  }

  /** When an entity that failed just now, reading `window`, may be tried again. */
  retryAt(entity: Entity, window: CurrentWindow): number {
    const attempt = { windowStart: window.readableAt, readAt: this.#context.clock.monotonic() };
    return retryAt(entity.failures, attempt, this.intervalOf(entity));
  }

  /** When an entity that was tried just now may be tried again if that is to happen once per interval. */
  nextTurn(entity: Entity): number {
    const attempt = { windowStart: this.window.readableAt, readAt: this.#context.clock.monotonic() };
    return nextTurn(attempt, this.intervalOf(entity));
  }

  /**
   * Makes the plan anew where it is old or what counts has doubled, in portions between which other work goes on.
   *
   * @param exact also when anything has changed at all
   */
  async update(exact = false): Promise<void> {
    const changes = this.#changes;
    const changed = changes - this.#madeOf.changes;
    const isOther = changed > 0 && (exact || changed >= this.#madeOf.entities);
    if (!isOther && this.#context.clock.monotonic() - this.#madeOf.at < PLAN_AGE) return;
    // One plan is made at a time: of a large fleet it takes longer than the next entities need to ask for it.
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
    return this.#inventory.version + this.#newlyAsked;
  }

  /** Gives other work a turn after each kind whose calls it has counted. */
  *#making(): Generator<undefined> {
    const now = this.#context.clock.monotonic();
    const changes = this.#changes;
    const byKind = new Map<Kind, Entity[]>();
    let entities = 0;
    for (const entity of this.#inventory.entities()) {
      if (!this.counts(entity)) continue;
      entities += 1;
      const ofKind = byKind.get(entity.kind);
      if (ofKind === undefined) byKind.set(entity.kind, [entity]);
      else ofKind.push(entity);
    }
    yield undefined;
    const calls = new Map<Group, number>();
    const callsPerEntity = new Map<Kind, number>();
    for (const [kind, ofKind] of byKind) {
      const needed = this.#kinds.callsFor(kind, ofKind, this.window);
      calls.set(GROUP_OF[kind], (calls.get(GROUP_OF[kind]) ?? 0) + needed * this.#shareOfRefreshes(ofKind));
      callsPerEntity.set(kind, Math.min(1, needed / ofKind.length));
      yield undefined;
    }
    this.plan = this.#planOf(calls);
    this.#callsPerEntity = callsPerEntity;
    this.#madeOf = { at: now, entities, changes };
  }

  #planOf(calls: ReadonlyMap<Group, number>): Plan {
    const intervals = (group: Group): number => this.intervalOf({ group });
    const perMinute = this.#context.account.limits.requests_per_minute;
    const unslowed = planCalls(calls, intervals, { perMinute, slowed: 1, byPlaces: undefined });
    const byPlaces = this.#limiter.carriedByPlaces(unslowed.callsPerMinute);
    if (byPlaces !== undefined) this.#slowed = slowedBy(this.#slowed, unslowed.callsPerMinute / byPlaces);
    return planCalls(calls, intervals, { perMinute, slowed: this.#slowed, byPlaces });
  }

  /** How often an entity of one kind is read while its group is refreshed once: below 1 where intervals of its own are longer. */
  #shareOfRefreshes(entities: readonly Entity[]): number {
    let refreshes = 0;
    for (const entity of entities) {
      const interval = this.intervalOf({ group: entity.group });
      refreshes += Math.max(interval, MINUTE) / Math.max(entity.interval ?? interval, MINUTE);
    }
    return refreshes / entities.length;
  }

  #isPassed({ readAt }: HeldTimes): boolean {
    return readAt < this.#jump.at;
  }

  #windowOfNow(): CurrentWindow {
    const { collection, clock } = this.#context;
    const wall = clock.now();
    const window = windowAt(wall, collection);
    return { ...window, readableAt: clock.monotonic() - (wall - windowStart(window.to, collection.delay)) };
  }
}
