import type { TimeRange } from '../api/reader.ts';
import type { Turns } from '../eventLoop/turns.ts';
import type { Group } from '../metrics/sample.ts';
import { intervalOf } from './scope.ts';
import type { Entity, Kind } from './entity.ts';
import type { AnswerTime, EntityState, Plan } from './view.ts';
import { AskedFor, CurrentPlan, type MadePlan, type PlanSources } from './callPlan.ts';
import { dueAt, effectiveInterval, nextTurn, retryAt, stateOf, type Pace, windowAt, windowStart } from './due.ts';

const MINUTE = 60_000;

/** A wall clock that goes back by more than this was set; less is a correction that does no harm. */
const CLOCK_TOLERANCE = 2_000;

/** A window, and since when it can be read, in milliseconds of the monotonic clock. */
export interface CurrentWindow extends TimeRange {
  readonly readableAt: number;
}

/** What the timetable is made from. */
interface TimetableSources extends PlanSources {
  /** True: entities count whether something asks for them or not. */
  readonly everythingCounts: boolean;
}

/**
 * When everything of an account is due: by its window, the intervals of its configuration, and what its budget and its
 * calls at once carry of what is asked for. All times are milliseconds of the monotonic clock.
 */
export class Timetable {
  readonly #sources: TimetableSources;
  readonly #askedFor: AskedFor;
  readonly #plan: CurrentPlan;
  #window: CurrentWindow;

  constructor(sources: TimetableSources) {
    this.#sources = sources;
    this.#askedFor = new AskedFor(sources.context, sources.everythingCounts);
    this.#plan = new CurrentPlan(sources, this.#askedFor);
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
    this.#plan.forget();
  }

  /** What a steady state of what is asked for now costs. `exact`: counts anew, whatever was counted a moment ago. */
  plan(exact = false): Plan {
    return this.#plan.get(this.#window, exact).plan;
  }

  /** Makes what `plan` gives, in turns between which other work goes on. */
  makePlan(turns: Turns, exact = false): Promise<void> {
    return this.#plan.make(this.#window, turns, exact);
  }

  /** How many calls reading an entity of the kind takes; below 1 where a call carries several. */
  callsPerEntity(kind: Kind): number {
    const cost = this.#plan.get(this.#window).costs.get(kind);
    return cost === undefined ? 1 : Math.min(1, cost.calls / cost.entities);
  }

  /** How often a group is refreshed. */
  pace(group: Group): Pace {
    return this.#paceBy(this.#plan.get(this.#window), group);
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
    return entity.held === undefined ? -Infinity : this.#dueBy(this.#plan.get(this.#window), entity);
  }

  /** Whether entities are due at a time, for many of them. */
  due(at: number): (entity: Entity) => boolean {
    let made: MadePlan | undefined;
    return (entity) => {
      const { held } = entity;
      // Most are asked for while nothing is held: those need no plan.
      if (held === undefined || entity.overdue) return true;
      made ??= this.#plan.get(this.#window);
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
    const made = this.#plan.get(this.#window);
    const { max_age } = this.#sources.context.collection;
    return ({ held, group }) => stateOf(held, this.#paceBy(made, group), max_age, time);
  }

  /** Something asks for an entity at `now`: from then on it counts. */
  ask(entity: Entity, now: number): void {
    this.#askedFor.ask(entity, this.#plan.stretch, now);
  }

  /** True for entities that something has asked for lately: only they count in states, plans and intervals. */
  counts(entity: Entity): boolean {
    return this.counting()(entity);
  }

  /** As `counts`, for many entities at the same time. */
  counting(): (entity: Entity) => boolean {
    return this.#askedFor.counting(this.#plan.stretch, this.#sources.clock.monotonic());
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

  #dueBy(made: MadePlan, { held, overdue, group }: Entity): number {
    if (held === undefined) return -Infinity;
    return overdue ? held.readAt : dueAt(held, this.#paceBy(made, group));
  }

  #paceBy({ paces, plan }: MadePlan, group: Group): Pace {
    return paces.get(group) ?? { interval: this.intervalOf(group), stretch: plan.stretch };
  }
}
