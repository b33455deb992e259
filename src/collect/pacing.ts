import type { Group } from '../metrics/groups.ts';
import { intervalOf, type AccountContext } from './context.ts';
import type { Costs } from './costs.ts';
import { dueAt, effectiveInterval, nextTurn, retryAt, windowStart, type Pace } from './due.ts';
import { planCalls, type Plan } from './plan.ts';
import type { Unit } from './unit.ts';
import { windowAt, type Window } from './window.ts';

const MINUTE = 60_000;

/** When an account's units are due: by its window, the intervals of its configuration and what its budget carries. */
export class Pacing {
  readonly #context: () => AccountContext;
  readonly #costs: Costs;
  #window: Window;
  #plan: { readonly plan: Plan; readonly version: number; readonly context: AccountContext } | undefined;

  constructor(context: () => AccountContext, costs: Costs, now: number) {
    this.#context = context;
    this.#costs = costs;
    this.#window = windowAt(now, context().collection);
  }

  /** The window that work starting now is done for. */
  get window(): Window {
    return this.#window;
  }

  /** When the next window can be read, in Unix milliseconds. */
  get nextWindowAt(): number {
    return windowStart(this.#window.to, this.#context().collection.delay) + MINUTE;
  }

  /** Moves on to the window of `now`; never back. */
  moveOn(now: number): void {
    const window = windowAt(now, this.#context().collection);
    if (window.to > this.#window.to) this.#window = window;
  }

  /** Takes the window of `now`, whatever it was before: the clock or the configuration was changed. */
  reset(now: number): void {
    this.#window = windowAt(now, this.#context().collection);
  }

  /** What a steady state of what is known now costs. */
  plan(): Plan {
    const context = this.#context();
    const { version, calls } = this.#costs;
    if (this.#plan?.version !== version || this.#plan.context !== context) {
      const budget = context.account.limits.requests_per_minute;
      const plan = planCalls(calls, (group) => intervalOf(context.collection, group), budget);
      this.#plan = { plan, version, context };
    }
    return this.#plan.plan;
  }

  /** How often a group is refreshed, the budget considered. */
  pace(group: Group): Pace {
    const { collection } = this.#context();
    return { interval: intervalOf(collection, group), stretch: this.plan().stretch, delay: collection.delay };
  }

  effectiveIntervalOf(group: Group): number {
    const { interval, stretch } = this.pace(group);
    return effectiveInterval(interval, stretch);
  }

  /** When what a unit holds is due again; -Infinity when it holds nothing. Unix milliseconds, as all that follow. */
  dueAt(unit: Unit): number {
    if (unit.held === undefined) return -Infinity;
    return unit.overdue ? unit.held.fetchedAt : dueAt(unit.held, this.pace(unit.group));
  }

  /** When a unit that failed at `now`, reading the window that ends at `windowEnd`, may be tried again. */
  retryAt(unit: Unit, windowEnd: number, now: number): number {
    const { interval, delay } = this.pace(unit.group);
    return retryAt(unit.failures, { windowEnd, fetchedAt: now }, interval, delay);
  }

  /** When a group that was tried at `now` may be tried again if that is to happen once per interval. */
  nextTurn(group: Group, now: number): number {
    const { interval, delay } = this.pace(group);
    return nextTurn({ windowEnd: this.#window.to, fetchedAt: now }, interval, delay);
  }
}
