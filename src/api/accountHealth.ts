/** An account fails after this number of unanswered reads in a row. */
const UNANSWERED_READS = 3;

/**
 * Whether New Relic answers the calls of an account (docs/errors.md, "An account that fails"). An answer is New Relic's own JSON:
 * with data, or with the refusal of one query, name or entity.
 */
export class AccountHealth {
  /** The number of answered calls. */
  answers = 0;
  #unanswered = 0;

  /** While this is true, the account makes one call at a time, repeats none, and reads no batch in parts. */
  get isFailing(): boolean {
    return this.#unanswered >= UNANSWERED_READS;
  }

  recordAnswer(): void {
    this.answers += 1;
    this.#unanswered = 0;
  }

  /** Records that New Relic answered no call of a read: a list, a query, or a batch with its retries and parts. */
  recordUnansweredRead(): void {
    this.#unanswered += 1;
  }

  /** Forgets failures of another key. */
  reset(): void {
    this.#unanswered = 0;
  }
}
