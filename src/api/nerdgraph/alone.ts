/** After so many good answers alone, what once broke a query travels with the others again. */
const GOOD_ANSWERS = 30;

/** Remembers what broke a query that others shared, so that it is asked alone from the next refresh on. */
export class Alone {
  /** By id, how many good answers are still needed. */
  readonly #left = new Map<number, number>();

  has(id: number): boolean {
    return this.#left.has(id);
  }

  broke(id: number): void {
    this.#left.set(id, GOOD_ANSWERS);
  }

  answered(id: number): void {
    const left = (this.#left.get(id) ?? 0) - 1;
    if (left > 0) this.#left.set(id, left);
    else this.#left.delete(id);
  }

  keepOnly(ids: ReadonlySet<number>): void {
    for (const id of this.#left.keys()) if (!ids.has(id)) this.#left.delete(id);
  }
}
