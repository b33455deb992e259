import type { DroppedSeries } from '../metrics/sample.ts';

/** What an answer holds of the collected data, and what it does not. */
export interface AnswerCounts {
  /** Series written, by family. */
  readonly series: ReadonlyMap<string, number>;
  /** Series of the families that were left out because of `max_series`, entity by entity. */
  readonly dropped: readonly DroppedSeries[];
  /** Samples that are not written: the value is not finite, a label is the entity's, or the series is there already. */
  readonly refused: number;
}
