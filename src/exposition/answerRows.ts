import type { Turns } from '../eventLoop/turns.ts';
import type { Block, Columns } from '../metrics/sample.ts';
import { withoutLabelsOf } from '../metrics/writeSamples.ts';

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

/** Blocks that are visited before other work may go on: less than two milliseconds. */
const BLOCKS_PER_TURN = 8192;

/** The rows of an answer while its blocks are visited. */
class RowsDraft implements AnswerRows {
  readonly labels: Buffer[];
  readonly columns: Columns[];
  readonly values: (readonly string[])[];
  readonly numbers: Float64Array;
  series = 0;
  refused = 0;

  constructor(blocks: number) {
    this.labels = new Array<Buffer>(blocks);
    this.columns = new Array<Columns>(blocks);
    this.values = new Array<readonly string[]>(blocks);
    this.numbers = new Float64Array(blocks);
  }

  /** Visits the blocks from `start` up to, without, `end`. */
  visit(blocks: readonly Block[], start: number, end: number): void {
    for (let row = start; row < end; row += 1) {
      const block = blocks[row];
      if (block === undefined) return;
      const { number, columns, values, refused } = withoutLabelsOf(block.labels, block.samples);
      this.labels[row] = block.labelBytes;
      this.columns[row] = columns;
      this.values[row] = values;
      this.numbers[row] = number;
      this.series += values.length;
      this.refused += refused;
    }
  }
}

/** Visits the blocks of an answer. */
export async function answerRows(blocks: readonly Block[], turns: Turns): Promise<AnswerRows> {
  const rows = new RowsDraft(blocks.length);
  for (let start = 0; start < blocks.length; start += BLOCKS_PER_TURN) {
    if (start > 0) await turns.next();
    rows.visit(blocks, start, Math.min(start + BLOCKS_PER_TURN, blocks.length));
  }
  return rows;
}
