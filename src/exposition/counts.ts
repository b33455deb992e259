/** What an answer holds of the collected data, and what it does not. */
export interface AnswerCounts {
  /** Series written, by family. */
  readonly series: ReadonlyMap<string, number>;
  /** Series of the families that were left out because of `max_series`, by family. */
  readonly dropped: ReadonlyMap<string, number>;
  /** Samples that cannot be written: a value that is not finite, or a label of the entity given again. */
  readonly refused: number;
  /** Samples of a series that the answer has already; the first is written. */
  readonly duplicates: number;
}
