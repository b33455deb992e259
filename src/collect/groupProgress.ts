import { type Group, GROUPS } from '../metrics/sample.ts';
import type { Entity } from './entity.ts';
import type { Clock } from './clock.ts';

/** The same moment by both clocks, in milliseconds. */
interface Moment {
  readonly monotonic: number;
  /** Unix time, only to be shown. */
  readonly wall: number;
}

interface Round {
  readonly startedAt: number;
  readonly pending: Set<Entity>;
}

/**
 * Follows the refreshes of one group. A refresh begins with the first entity queued for a window and ends with the last of
 * them; work queued for a later window belongs to the next one, so a group that never comes to rest still reports. What
 * failed is held against every refresh until it has been read: a later one that only leaves it out is no success.
 */
export class GroupProgress {
  readonly group: Group;
  readonly #counts: (entity: Entity) => boolean;
  /** Open refreshes by the end of their window. */
  readonly #rounds = new Map<number, Round>();
  /** What was not read at its last attempt. */
  readonly #failing = new Set<Entity>();
  #seconds: number | undefined;
  /** Unix seconds. */
  #lastSuccess: number | undefined;

  /** @param counts false for what nothing asks for any more */
  constructor(group: Group, counts: (entity: Entity) => boolean) {
    this.group = group;
    this.#counts = counts;
  }

  /** Whether nothing that counts has failed at its last attempt; undefined when no refresh has ended and none failed. */
  get success(): boolean | undefined {
    if (this.#fails()) return false;
    return this.#seconds === undefined ? undefined : true;
  }

  /** Seconds the last refresh took. */
  get seconds(): number | undefined {
    return this.#seconds;
  }

  /** When a refresh last ended without failure, Unix seconds. */
  get lastSuccess(): number | undefined {
    return this.#lastSuccess;
  }

  /** @param now the monotonic clock, milliseconds */
  queued(entity: Entity, windowEnd: number, now: number): void {
    const round = this.#rounds.get(windowEnd) ?? { startedAt: now, pending: new Set() };
    this.#rounds.set(windowEnd, round);
    round.pending.add(entity);
  }

  /** An entity has ended, or has left the inventory and is waited for no longer. */
  ended(entity: Entity, failed: boolean, now: Moment): void {
    if (failed) this.#failing.add(entity);
    else this.#failing.delete(entity);
    for (const [windowEnd, round] of this.#rounds) {
      if (!round.pending.delete(entity) || round.pending.size > 0) continue;
      this.#rounds.delete(windowEnd);
      this.#close(round.startedAt, now);
    }
  }

  /** Nothing of the group had to be read: that, too, is a refresh that went well. */
  nothingToDo(now: Moment): void {
    if (this.#rounds.size === 0) this.#close(now.monotonic, now);
  }

  #close(startedAt: number, now: Moment): void {
    this.#seconds = Math.max(0, now.monotonic - startedAt) / 1000;
    if (!this.#fails()) this.#lastSuccess = now.wall / 1000;
  }

  #fails(): boolean {
    for (const entity of this.#failing) if (!entity.gone && this.#counts(entity)) return true;
    return false;
  }
}

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
