/** After so many good answers alone, what once broke a query travels with the others again. */
const GOOD_ANSWERS = 30;
/** While nothing at all is answered, each of so many attempts is made with small parts, too; the others are short. */
const THOROUGH_EVERY = 4;

/** Remembers what broke a query that others shared, so that it is asked alone from the next refresh on. */
export class Alone {
  /** By id, how many good answers are still needed. */
  readonly #left = new Map<number, number>();

  #unanswered = 0;

  /**
   * Whether it makes sense to divide a failing query far: not while no part of any was answered lately, because then it is the
   * service that fails, but now and then, because it may be back and slow.
   */
  get isThorough(): boolean {
    return this.#unanswered % THOROUGH_EVERY === 0;
  }

  /** How many times it was divided far in vain. */
  get round(): number {
    return Math.floor(this.#unanswered / THOROUGH_EVERY);
  }

  /** Notes whether any part of a query for several was answered. */
  tried(answered: number): void {
    this.#unanswered = answered > 0 ? 0 : this.#unanswered + 1;
  }

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
