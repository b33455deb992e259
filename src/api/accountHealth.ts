const UNANSWERED_READS = 3;

/**
 * Records whether New Relic answers the calls of an account (docs/errors.md, "An account that fails"). An answer is New
 * Relic's own JSON: data, or the refusal of one query, name or entity.
 */
export class AccountHealth {
  answers = 0;
  #unanswered = 0;

  /** A failing account makes one call at a time, retries no call, and divides no batch. */
  get isFailing(): boolean {
    return this.#unanswered >= UNANSWERED_READS;
  }

  recordAnswer(): void {
    this.answers += 1;
    this.#unanswered = 0;
  }

  /** Records a read without any answer. A read is a list, a query, or a batch with its retries and parts. */
  recordUnansweredRead(): void {
    this.#unanswered += 1;
  }

  /** Forgets the failures of the previous key. */
  reset(): void {
    this.#unanswered = 0;
  }
}
