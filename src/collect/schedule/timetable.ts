import type { TimeRange } from '../../api/reader.ts';
import { GROUPS, type Group } from '../../metrics/groups.ts';
import { intervalOf, type AccountContext } from '../inventory/context.ts';
import type { Entity, Kind } from '../inventory/entity.ts';
import type { Inventory } from '../inventory/inventory.ts';
import type { Reads } from '../reading/reads.ts';
import type { AnswerTime, EntityState, Plan } from '../view.ts';
import type { Clock } from './clock.ts';
import { dueAt, effectiveInterval, nextTurn, retryAt, stateOf, type Pace } from './due.ts';
import { planCalls, slowedBy, type Carried } from './plan.ts';
import { windowAt, windowStart } from './window.ts';

const MINUTE = 60_000;

/** A wall clock that goes back by more than this was set; less is a correction that does no harm. */
const CLOCK_TOLERANCE = 2_000;

/** A plan is made anew at most this often while entities come and go one by one. */
const PLAN_AGE = 5_000;

/** And this often while they come by the hundred; only once there are twice as many is it made at once. */
const SHORT_PLAN_AGE = 500;

/** Entities count for at least this long after something asked for them. */
const ASKED_FOR = 300_000;

/** A window, and since when it can be read, in milliseconds of the monotonic clock. */
export interface CurrentWindow extends TimeRange {
  readonly readableAt: number;
}

interface Made {
  readonly plan: Plan;
  /** How many calls an entity takes, by kind; below 1 where a call carries several. */
  readonly share: ReadonlyMap<Kind, number>;
  readonly paces: ReadonlyMap<Group, Pace>;
  readonly at: number;
  readonly version: number;
  readonly entities: number;
  readonly account: AccountContext['account'];
  readonly collection: AccountContext['collection'];
}

/** What the timetable is made from. */
export interface TimetableSources {
  readonly context: Readonly<AccountContext>;
  readonly inventory: Inventory;
  readonly reads: Reads;
  readonly clock: Clock;
  /** How long a call takes, in milliseconds; undefined before one was measured. */
  readonly averageCall: () => number | undefined;
  /** True: entities count whether something asks for them or not. */
  readonly everythingCounts: boolean;
}

/**
 * When everything of an account is due: by its window, the intervals of its configuration, and what its budget and its
 * calls at once carry of what is asked for. All times are milliseconds of the monotonic clock.
 */
export class Timetable {
  readonly #sources: TimetableSources;
  #window: CurrentWindow;
  #made: Made | undefined;
  #slowed = 1;
  /** How often an entity began to count. */
  #newlyAsked = 0;

  constructor(sources: TimetableSources) {
    this.#sources = sources;
    this.#window = this.#windowOfNow();
  }

  /** The window that work starting now is done for. */
  get window(): CurrentWindow {
    return this.#window;
  }

  /** When the next window can be read. */
  get nextWindowAt(): number {
    return this.#window.readableAt + MINUTE;
  }

  /** Moves on to the window of now. It goes back only when the wall clock was set back. */
  moveOn(): void {
    const next = this.#windowOfNow();
    const before = this.#window;
    if (next.to === before.to && Math.abs(next.readableAt - before.readableAt) < CLOCK_TOLERANCE) return;
    const { delay } = this.#sources.context.collection;
    if (next.to < before.to && this.#sources.clock.now() > windowStart(before.to, delay) - CLOCK_TOLERANCE) return;
    this.#window = next;
  }

  /** Takes the window of now, whatever it was before: the configuration has changed. */
  reset(): void {
    this.#window = this.#windowOfNow();
    this.#made = undefined;
  }

  /** What a steady state of what is asked for now costs. `exact`: counts anew, whatever was counted a moment ago. */
  plan(exact = false): Plan {
    return this.#planned(exact).plan;
  }

  /** How many calls reading an entity of the kind takes; below 1 where a call carries several. */
  callsPerEntity(kind: Kind): number {
    return this.#planned(false).share.get(kind) ?? 1;
  }

  /** How often a group is refreshed. */
  pace(group: Group): Pace {
    return this.#paceBy(this.#planned(false), group);
  }

  intervalOf(group: Group): number {
    return intervalOf(this.#sources.context.collection, group);
  }

  effectiveIntervalOf(group: Group): number {
    return effectiveInterval(this.intervalOf(group), this.plan().stretch);
  }

  /** When what is held of an entity is due again; -Infinity when nothing is held. */
  dueAt(entity: Entity): number {
    // Most are asked for while nothing is held: those need no plan.
    return entity.held === undefined ? -Infinity : this.#dueBy(this.#planned(false), entity);
  }

  /** Whether entities are due at a time, for many of them. */
  due(at: number): (entity: Entity) => boolean {
    const made = this.#planned(false);
    return (entity) => {
      const { held } = entity;
      if (held === undefined || entity.overdue) return true;
      const due = this.#dueBy(made, entity);
      // A wall clock that is a little behind the monotonic one has not begun the next window yet: nothing new is to be read.
      const sameWindow = held.windowEnd === this.#window.to;
      return at >= due && !(sameWindow && at < due + CLOCK_TOLERANCE);
    };
  }

  stateOf(entity: Entity, time: AnswerTime): EntityState {
    return this.states(time)(entity);
  }

  /** As `stateOf`, for many entities at the same time. */
  states(time: AnswerTime): (entity: Entity) => EntityState {
    const made = this.#planned(false);
    const { max_age } = this.#sources.context.collection;
    return ({ held, group }) => stateOf(held, this.#paceBy(made, group), max_age, time);
  }

  /** Something asks for an entity at `now`: from then on it counts. */
  ask(entity: Entity, now: number): void {
    if (!this.#countsAt(entity, now)) this.#newlyAsked += 1;
    entity.ask(now);
  }

  /** True for entities that something has asked for lately: only they count in states, plans and intervals. */
  counts(entity: Entity): boolean {
    return this.counting()(entity);
  }

  /** As `counts`, for many entities at the same time. */
  counting(): (entity: Entity) => boolean {
    const now = this.#sources.clock.monotonic();
    return (entity) => this.#countsAt(entity, now);
  }

  /** When an entity that failed just now, reading `window`, may be tried again. */
  retryAt(entity: Entity, window: CurrentWindow): number {
    const attempt = { windowStart: window.readableAt, readAt: this.#sources.clock.monotonic() };
    return retryAt(entity.failures, attempt, this.intervalOf(entity.group));
  }

  /** When a group that was tried just now may be tried again if that is to happen once per interval. */
  nextTurn(group: Group): number {
    const attempt = { windowStart: this.#window.readableAt, readAt: this.#sources.clock.monotonic() };
    return nextTurn(attempt, this.intervalOf(group));
  }

  #windowOfNow(): CurrentWindow {
    const { clock, context } = this.#sources;
    const wall = clock.now();
    const window = windowAt(wall, context.collection);
    return { ...window, readableAt: clock.monotonic() - (wall - windowStart(window.to, context.collection.delay)) };
  }

  #dueBy(made: Made, { held, overdue, group }: Entity): number {
    if (held === undefined) return -Infinity;
    return overdue ? held.readAt : dueAt(held, this.#paceBy(made, group));
  }

  #paceBy({ paces, plan }: Made, group: Group): Pace {
    return paces.get(group) ?? { interval: this.intervalOf(group), stretch: plan.stretch };
  }

  #countsAt(entity: Entity, now: number): boolean {
    return this.#sources.everythingCounts || this.#countsWith(entity, this.#made?.plan.stretch ?? 1, now);
  }

  #countsWith(entity: Entity, stretch: number, now: number): boolean {
    const interval = effectiveInterval(this.intervalOf(entity.group), stretch);
    return now - entity.askedAt <= Math.max(ASKED_FOR, 2 * interval);
  }

  /** Grows whenever what counts may have changed. */
  get #version(): number {
    return this.#sources.inventory.version + this.#newlyAsked;
  }

  #planned(exact: boolean): Made {
    const { context, clock } = this.#sources;
    const made = this.#made;
    const now = clock.monotonic();
    const same = made?.account === context.account && made.collection === context.collection;
    if (same && !exact && now - made.at < PLAN_AGE) {
      const changed = this.#version - made.version;
      const enough = now - made.at < SHORT_PLAN_AGE ? made.entities : made.entities / 10;
      if (changed === 0 || changed < enough) return made;
    }
    return (this.#made = this.#make(now));
  }

  #make(now: number): Made {
    const { context, inventory, reads, averageCall, everythingCounts } = this.#sources;
    const stretch = this.#made?.plan.stretch ?? 1;
    const byKind = new Map<Kind, Entity[]>();
    let entities = 0;
    for (const entity of inventory.entities()) {
      if (!everythingCounts && !this.#countsWith(entity, stretch, now)) continue;
      entities += 1;
      const ofKind = byKind.get(entity.kind);
      if (ofKind === undefined) byKind.set(entity.kind, [entity]);
      else ofKind.push(entity);
    }
    const calls = new Map<Group, number>();
    const share = new Map<Kind, number>();
    for (const [kind, ofKind] of byKind) {
      const group = ofKind[0]?.group;
      if (group === undefined) continue;
      const ofAll = countCalls(reads, kind, ofKind, this.#window);
      calls.set(group, (calls.get(group) ?? 0) + ofAll);
      share.set(kind, Math.min(1, ofAll / ofKind.length));
    }
    const { limits } = context.account;
    const average = averageCall();
    const byPlaces =
      average === undefined || average === 0 ? undefined : (MINUTE * limits.max_concurrent_requests) / average;
    const intervals = (group: Group): number => this.intervalOf(group);
    const carried: Carried = { perMinute: limits.requests_per_minute, slowed: 1, byPlaces };
    const unslowed = planCalls(calls, intervals, carried);
    if (byPlaces !== undefined) this.#slowed = slowedBy(this.#slowed, unslowed.callsPerMinute / byPlaces);
    const plan = planCalls(calls, intervals, { ...carried, slowed: this.#slowed });
    const { account, collection } = context;
    const paces = new Map(GROUPS.map((group) => [group, { interval: intervals(group), stretch: plan.stretch }]));
    return { plan, share, paces, at: now, version: this.#version, entities, account, collection };
  }
}

/** How many calls these entities take when each call is filled. */
function countCalls(reads: Reads, kind: Kind, entities: readonly Entity[], window: TimeRange): number {
  const read = reads.of(kind);
  let calls = 0;
  let batch = read.open(window);
  let size = 0;
  for (const entity of entities) {
    if (size > 0 && batch.add(entity)) {
      size += 1;
      continue;
    }
    if (size > 0) {
      calls += batch.calls;
      batch = read.open(window);
    }
    batch.add(entity);
    size = 1;
  }
  return size === 0 ? 0 : calls + batch.calls;
}
