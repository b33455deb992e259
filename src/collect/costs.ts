import type { Group } from '../metrics/groups.ts';
import type { GroupCalls } from './plan.ts';
import type { Unit } from './unit.ts';

/** How many calls a refresh of everything takes, by group: kept as units come, go and change, never counted anew. */
export class Costs {
  readonly #calls = new Map<Group, number>();
  /** Grows with every change. */
  version = 0;

  get calls(): GroupCalls {
    return this.#calls;
  }

  add(unit: Unit): void {
    this.#change(unit.group, unit.calls);
  }

  remove(unit: Unit): void {
    this.#change(unit.group, -unit.calls);
  }

  /** Says how many calls a reading of a unit takes after all. */
  learn(unit: Unit, calls: number): void {
    if (unit.gone || unit.calls === calls) return;
    this.#change(unit.group, calls - unit.calls);
    unit.calls = calls;
  }

  #change(group: Group, by: number): void {
    const calls = (this.#calls.get(group) ?? 0) + by;
    if (calls === 0) this.#calls.delete(group);
    else this.#calls.set(group, calls);
    this.version += 1;
  }
}
