import { GROUPS, type Group } from '../../metrics/groups.ts';
import type { Entity } from '../inventory/entity.ts';
import type { Clock } from './clock.ts';
import { GroupProgress, type Moment } from './progress.ts';

/** Follows the refreshes of all groups of an account, each for itself. */
export class AccountProgress {
  readonly #clock: Clock;
  readonly #byGroup: ReadonlyMap<Group, GroupProgress>;

  /** @param counts false for what nothing asks for any more */
  constructor(clock: Clock, counts: (entity: Entity) => boolean) {
    this.#clock = clock;
    this.#byGroup = new Map(GROUPS.map((group) => [group, new GroupProgress(group, counts)]));
  }

  of(group: Group): GroupProgress {
    const progress = this.#byGroup.get(group);
    if (progress === undefined) throw new Error(`no progress is kept for ${group}`);
    return progress;
  }

  /** An entity was queued for the window that ends then. */
  queued(entity: Entity, windowEnd: number): void {
    this.of(entity.group).queued(entity, windowEnd, this.#clock.monotonic());
  }

  /** An entity has ended, or has left the inventory and is waited for no longer. */
  ended(entity: Entity, failed: boolean): void {
    this.of(entity.group).ended(entity, failed, this.#moment());
  }

  /** Nothing of the group had to be read: that, too, is a refresh that went well. */
  nothingToDo(group: Group): void {
    this.of(group).nothingToDo(this.#moment());
  }

  #moment(): Moment {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
  }
}
