import type { Group } from '../metrics/groups.ts';
import type { Unit } from './unit.ts';

/** How a group's last refresh went. */
export interface GroupOutcome {
  readonly success: boolean;
  readonly durationSeconds: number;
}

interface Round {
  readonly startedAt: number;
  readonly pending: Set<Unit>;
  failures: number;
}

/**
 * Follows the refreshes of one group. A refresh begins with the first unit queued for a window and ends with the last of
 * them; work queued for a later window belongs to the next one, so a group that never comes to rest still reports.
 */
export class GroupProgress {
  readonly group: Group;
  /** Open refreshes by the end of their window. */
  readonly #rounds = new Map<number, Round>();
  /** Undefined before the first refresh has ended. */
  outcome: GroupOutcome | undefined;
  /** Unix seconds. */
  lastSuccess: number | undefined;

  constructor(group: Group) {
    this.group = group;
  }

  queued(unit: Unit, windowEnd: number, now: number): void {
    const round = this.#rounds.get(windowEnd) ?? { startedAt: now, pending: new Set(), failures: 0 };
    this.#rounds.set(windowEnd, round);
    round.pending.add(unit);
  }

  ended(unit: Unit, failed: boolean, now: number): void {
    for (const [windowEnd, round] of this.#rounds) {
      if (!round.pending.delete(unit)) continue;
      if (failed) round.failures += 1;
      if (round.pending.size > 0) continue;
      this.#rounds.delete(windowEnd);
      this.#close(round, now);
    }
  }

  /** Units that left the inventory before their turn are not waited for. */
  forgetGone(now: number): void {
    for (const { pending } of [...this.#rounds.values()]) {
      for (const unit of pending) if (unit.gone && unit.state !== 'running') this.ended(unit, false, now);
    }
  }

  /** Nothing of the group had to be read: that, too, is a refresh that went well. */
  nothingToDo(now: number): void {
    if (this.#rounds.size === 0) this.#close({ startedAt: now, pending: new Set(), failures: 0 }, now);
  }

  #close(round: Round, now: number): void {
    const success = round.failures === 0;
    this.outcome = { success, durationSeconds: (now - round.startedAt) / 1000 };
    if (success) this.lastSuccess = now / 1000;
  }
}
