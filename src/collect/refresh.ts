import { coversApplication, neededGroups } from './scope.ts';
import type { Unit } from './unit.ts';
import type { Scope } from './view.ts';

/** One refresh of one account: what it waits for. Refreshes that meet wait for the same units. */
export class Refresh {
  readonly scope: Scope;
  /** When it was asked for, Unix milliseconds: what becomes due later is not its work. */
  readonly askedAt: number;
  readonly pending = new Set<Unit>();
  /** How many units it has waited for, and how many of those failed. */
  units = 0;
  failures = 0;
  /** True once nobody waits for it any more. */
  answered = false;
  readonly #needed: ReturnType<typeof neededGroups>;
  readonly #key: string;

  constructor(scope: Scope, askedAt: number) {
    this.scope = scope;
    this.askedAt = askedAt;
    this.#needed = neededGroups(scope);
    this.#key = JSON.stringify([[...scope.groups].sort(), scope.applicationId]);
  }

  /** True for units of its groups and applications, and for those that its groups need to have been read once. */
  covers(unit: Unit): boolean {
    const { always, once } = this.#needed;
    if (!always.has(unit.group) && !(once.has(unit.group) && !unit.tried)) return false;
    return coversApplication(this.scope, unit.subject.applicationId);
  }

  add(unit: Unit): void {
    if (this.pending.has(unit)) return;
    this.pending.add(unit);
    this.units += 1;
  }

  /** True when the two ask for the same, so that the later can carry on the earlier. */
  asksLike(other: Refresh): boolean {
    return this.#key === other.#key;
  }
}
