import type { DatabaseComponent } from '../../config/config.ts';
import { databaseKind, type DatabaseChoice } from '../../formulas/databaseKind.ts';
import type { WindowValues } from '../../formulas/inputs.ts';

const ANY_LENGTH = 60;

/** Counts the calls of an application's database metrics, so that its database kind is decided over the whole range. */
export class DatabaseTally {
  /** Undefined: the metric was answered, but its calls never could be read. */
  readonly #calls = new Map<string, number | undefined>();

  add(values: WindowValues): void {
    for (const [name, { values: found }] of values) {
      const calls = found['call_count'];
      const before = this.#calls.get(name);
      this.#calls.set(name, calls === undefined ? before : (before ?? 0) + calls);
    }
  }

  choose(language: string | undefined, override: DatabaseComponent): DatabaseChoice | undefined {
    const values = [...this.#calls].map(
      ([name, calls]) =>
        [name, { seconds: ANY_LENGTH, values: calls === undefined ? {} : { call_count: calls } }] as const,
    );
    return databaseKind(new Map(values), language, override);
  }
}
