import type { Block, Columns } from '../metrics/sample.ts';
import { withoutLabelsOf } from '../metrics/writeSamples.ts';
import type { Turns } from './turns.ts';

/**
 * What an answer needs of its blocks, in a list for each. An answer goes over these lists several times. It visits the
 * blocks only once, because they lie far apart in memory: 100,000 of them take 10 ms.
 */
export interface AnswerRows {
  /** For each block the labels of its entity as they are written. */
  readonly labels: readonly Buffer[];
  /** For each block the families and labels of its samples. */
  readonly columns: readonly Columns[];
  /** For each block its values, one for each column. */
  readonly values: readonly (readonly string[])[];
  /** For each block the number of its samples, which are the same as long as that number is. */
  readonly numbers: Float64Array;
  /** Series of all blocks. */
  readonly series: number;
  /** Samples that are not written; see AnswerCounts. */
  readonly refused: number;
}

/** Visits the blocks of an answer. */
export async function answerRows(blocks: readonly Block[], turns: Turns): Promise<AnswerRows> {
  const labels: Buffer[] = [];
  const columns: Columns[] = [];
  const values: (readonly string[])[] = [];
  const numbers = new Float64Array(blocks.length);
  let series = 0;
  let refused = 0;
  for (const block of blocks) {
    const samples = withoutLabelsOf(block.labels, block.samples);
    numbers[labels.length] = samples.number;
    labels.push(block.labelBytes);
    columns.push(samples.columns);
    values.push(samples.values);
    series += samples.columns.list.length;
    refused += samples.refused;
    const turn = turns.after(1);
    if (turn !== undefined) await turn;
  }
  return { labels, columns, values, numbers, series, refused };
}
