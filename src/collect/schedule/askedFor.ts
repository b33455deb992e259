import type { Group } from '../../metrics/groups.ts';
import { intervalOf, type AccountContext } from '../inventory/context.ts';
import type { Entity } from '../inventory/entity.ts';
import { effectiveInterval } from './due.ts';

/** Entities count for at least this long after something asked for them. */
const ASKED_FOR = 300_000;

/**
 * Which entities count in states, plans and intervals: those that something has asked for lately. Times are milliseconds
 * of the monotonic clock; `stretch` is the factor by which the plan slows all groups.
 */
export class AskedFor {
  readonly #context: Readonly<AccountContext>;
  readonly #everythingCounts: boolean;
  #newlyAsked = 0;

  /** @param everythingCounts true: entities count whether something asks for them or not */
  constructor(context: Readonly<AccountContext>, everythingCounts: boolean) {
    this.#context = context;
    this.#everythingCounts = everythingCounts;
  }

  /** How often an entity began to count. */
  get newlyAsked(): number {
    return this.#newlyAsked;
  }

  /** Something asks for an entity at `now`: from then on it counts. */
  ask(entity: Entity, stretch: number, now: number): void {
    if (!this.counts(entity, stretch, now)) this.#newlyAsked += 1;
    entity.ask(now);
  }

  counts(entity: Entity, stretch: number, now: number): boolean {
    return this.counting(stretch, now)(entity);
  }

  /** As `counts`, for many entities at the same time. */
  counting(stretch: number, now: number): (entity: Entity) => boolean {
    if (this.#everythingCounts) return () => true;
    const limits = new Map<Group, number>();
    return ({ group, askedAt }) => {
      let limit = limits.get(group);
      if (limit === undefined) {
        const interval = effectiveInterval(intervalOf(this.#context.collection, group), stretch);
        limits.set(group, (limit = Math.max(ASKED_FOR, 2 * interval)));
      }
      return now - askedAt <= limit;
    };
  }
}
