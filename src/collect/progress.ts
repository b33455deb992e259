import type { Group } from '../metrics/groups.ts';
import type { Unit } from './unit.ts';

interface Round {
  readonly startedAt: number;
  readonly pending: Set<Unit>;
  readonly failed: Set<Unit>;
}

/**
 * Follows the refreshes of one group. A refresh begins with the first unit queued for a window and ends with the last of
 * them; work queued for a later window belongs to the next one, so a group that never comes to rest still reports.
 */
export class GroupProgress {
  readonly group: Group;
  /** Open refreshes by the end of their window. */
  readonly #rounds = new Map<number, Round>();
  #last: { readonly failed: ReadonlySet<Unit>; readonly seconds: number } | undefined;
  #lastSuccess: number | undefined;

  constructor(group: Group) {
    this.group = group;
  }

  /** Whether the last refresh had no failure, but of what is gone meanwhile; undefined before the first has ended. */
  get success(): boolean | undefined {
    return this.#last === undefined ? undefined : [...this.#last.failed].every(({ gone }) => gone);
  }

  /** Seconds the last refresh took. */
  get seconds(): number | undefined {
    return this.#last?.seconds;
  }

  /** When a refresh last ended without failure, Unix seconds. */
  get lastSuccess(): number | undefined {
    return this.#lastSuccess;
  }

  queued(unit: Unit, windowEnd: number, now: number): void {
    const round = this.#rounds.get(windowEnd) ?? { startedAt: now, pending: new Set(), failed: new Set() };
    this.#rounds.set(windowEnd, round);
    round.pending.add(unit);
  }

  /** A unit has ended, or has left the inventory and is waited for no longer. */
  ended(unit: Unit, failed: boolean, now: number): void {
    for (const [windowEnd, round] of this.#rounds) {
      if (!round.pending.delete(unit)) continue;
      if (failed) round.failed.add(unit);
      if (round.pending.size > 0) continue;
      this.#rounds.delete(windowEnd);
      this.#close(round, now);
    }
  }

  /** Nothing of the group had to be read: that, too, is a refresh that went well. */
  nothingToDo(now: number): void {
    if (this.#rounds.size === 0) this.#close({ startedAt: now, pending: new Set(), failed: new Set() }, now);
  }

  #close({ failed, startedAt }: Round, now: number): void {
    this.#last = { failed, seconds: Math.max(0, now - startedAt) / 1000 };
    if (this.success === true) this.#lastSuccess = now / 1000;
  }
}
