import type { SelectedFunction } from './query.ts';

/** What one stored record says about an expression. */
export interface Reading {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** The answer of a function over the records of one row: a number, the values of `uniques`, or null over nothing. */
export type Answer = number | readonly string[] | null;

/** Adds up what a function needs of the records of one row. */
export class Tally {
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;
  #values: Set<string> | undefined;

  add({ count, sum, min, max }: Reading): void {
    this.#count += count;
    this.#sum += sum;
    // A record without calls has no fastest one: its zero must not become the minimum.
    if (count === 0 && max === 0) return;
    this.#min = Math.min(this.#min, min);
    this.#max = Math.max(this.#max, max);
  }

  addValue(value: string): void {
    this.#values ??= new Set();
    this.#values.add(value);
  }

  /** Adds all that another one has added. */
  merge(other: Tally): void {
    this.#count += other.#count;
    this.#sum += other.#sum;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
    for (const value of other.#values ?? []) this.addValue(value);
  }

  answer({ name, of }: SelectedFunction): Answer {
    switch (name) {
      case 'count':
        return this.#count;
      case 'sum':
        return this.#sum;
      case 'average':
        return this.#count === 0 ? null : this.#sum / this.#count;
      case 'min':
        return this.#min === Infinity ? null : this.#min;
      case 'max':
        return this.#max === -Infinity ? null : this.#max;
      case 'uniques':
        return [...(this.#values ?? [])].slice(0, of.kind === 'attribute' ? of.most : 0);
    }
  }

  /** What rows are ranked by: the number, or how many values there are; nothing ranks last. */
  rank(selected: SelectedFunction): number {
    const answer = this.answer(selected);
    if (answer === null) return -Infinity;
    return typeof answer === 'number' ? answer : answer.length;
  }
}
