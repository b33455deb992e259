import type { Group } from '../../metrics/groups.ts';
import type { Entity } from '../inventory/entity.ts';

/** The same moment by both clocks, in milliseconds. */
interface Moment {
  readonly monotonic: number;
  /** Unix time, only to be shown. */
  readonly wall: number;
}

interface Round {
  readonly startedAt: number;
  readonly pending: Set<Entity>;
  readonly failed: Set<Entity>;
}

/**
 * Follows the refreshes of one group. A refresh begins with the first entity queued for a window and ends with the last of
 * them; work queued for a later window belongs to the next one, so a group that never comes to rest still reports.
 */
export class GroupProgress {
  readonly group: Group;
  /** Open refreshes by the end of their window. */
  readonly #rounds = new Map<number, Round>();
  #last: { readonly failed: ReadonlySet<Entity>; readonly seconds: number } | undefined;
  /** Unix seconds. */
  #lastSuccess: number | undefined;

  constructor(group: Group) {
    this.group = group;
  }

  /**
   * Whether the last refresh had no failure, but of what is gone meanwhile or counts no longer; undefined before the first
   * has ended.
   */
  success(counts: (entity: Entity) => boolean): boolean | undefined {
    return this.#last === undefined
      ? undefined
      : [...this.#last.failed].every((entity) => entity.gone || !counts(entity));
  }

  /** Seconds the last refresh took. */
  get seconds(): number | undefined {
    return this.#last?.seconds;
  }

  /** When a refresh last ended without failure, Unix seconds. */
  get lastSuccess(): number | undefined {
    return this.#lastSuccess;
  }

  /** @param now the monotonic clock, milliseconds */
  queued(entity: Entity, windowEnd: number, now: number): void {
    const round = this.#rounds.get(windowEnd) ?? { startedAt: now, pending: new Set(), failed: new Set() };
    this.#rounds.set(windowEnd, round);
    round.pending.add(entity);
  }

  /** An entity has ended, or has left the inventory and is waited for no longer. */
  ended(entity: Entity, failed: boolean, now: Moment): void {
    for (const [windowEnd, round] of this.#rounds) {
      if (!round.pending.delete(entity)) continue;
      if (failed) round.failed.add(entity);
      if (round.pending.size > 0) continue;
      this.#rounds.delete(windowEnd);
      this.#close(round, now);
    }
  }

  /** Nothing of the group had to be read: that, too, is a refresh that went well. */
  nothingToDo(now: Moment): void {
    if (this.#rounds.size === 0) this.#close({ startedAt: now.monotonic, pending: new Set(), failed: new Set() }, now);
  }

  #close({ failed, startedAt }: Round, now: Moment): void {
    this.#last = { failed, seconds: Math.max(0, now.monotonic - startedAt) / 1000 };
    if ([...failed].every(({ gone }) => gone)) this.#lastSuccess = now.wall / 1000;
  }
}
