import type { DatabaseComponent } from '../../config/config.ts';
import { databaseKind, type DatabaseChoice } from '../../formulas/databaseKind.ts';
import type { ReadChunk } from './readChunk.ts';

const ANY_LENGTH = 60;

/** Counts the calls of an application's database metrics, so that its database kind is decided over the whole range. */
export class DatabaseTally {
  readonly #calls = new Map<string, number>();

  add({ metrics }: ReadChunk): void {
    for (const [name, timeslices] of metrics) {
      for (const { values } of timeslices) {
        const calls = values['call_count'];
        if (calls !== undefined) this.#calls.set(name, (this.#calls.get(name) ?? 0) + calls);
      }
    }
  }

  choose(language: string | undefined, override: DatabaseComponent): DatabaseChoice | undefined {
    const values = [...this.#calls].map(
      ([name, calls]) => [name, { seconds: ANY_LENGTH, values: { call_count: calls } }] as const,
    );
    return databaseKind(new Map(values), language, override);
  }
}
