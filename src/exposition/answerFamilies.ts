import type { TimeSlice } from '../eventLoop/turns.ts';
import type { Columns, DroppedSeries, Family, Block } from '../metrics/sample.ts';
import { withoutLabelsOf } from '../metrics/writeSamples.ts';

/** Where the series of one family are, in the order of the answer. */
export interface FamilySeries {
  readonly family: Family;
  /** For each series the place of its row in the answer. */
  readonly rows: Uint32Array;
  /** For each series its place in the columns of its row. */
  readonly columns: Uint32Array;
}

/** The collected part of an answer, family by family. */
export interface AnswerFamilies {
  readonly rows: AnswerRows;
  readonly families: readonly FamilySeries[];
  readonly counts: AnswerCounts;
}

interface SeriesCount {
  readonly family: Family;
  series: number;
}

/** The series of a family while they are being collected. */
class FamilySeriesDraft implements FamilySeries {
  readonly family: Family;
  readonly rows: Uint32Array;
  readonly columns: Uint32Array;
  #length = 0;

  constructor({ family, series }: SeriesCount) {
    this.family = family;
    this.rows = new Uint32Array(series);
    this.columns = new Uint32Array(series);
  }

  add(row: number, column: number): void {
    this.rows[this.#length] = row;
    this.columns[this.#length] = column;
    this.#length += 1;
  }
}

type DraftsOfColumns = readonly (FamilySeriesDraft | undefined)[];

/**
 * Collects the series of each family: families in the order in which they first appear, series in the order of
 * their rows. Where there are more than `maxSeries` series, whole families are left out, and their series counted.
 */
export async function answerFamilies(rows: AnswerRows, maxSeries: number, slice: TimeSlice): Promise<AnswerFamilies> {
  const found = await countedFamilies(rows, slice);
  const all = new Map(Array.from(found, ([name, { series }]) => [name, series]));
  const leftOut = familiesOverLimit(maxSeries, all);
  const drafts = new Map<string, FamilySeriesDraft>();
  const series = new Map<string, number>();
  for (const [name, counted] of found) {
    if (leftOut.has(name)) continue;
    drafts.set(name, new FamilySeriesDraft(counted));
    series.set(name, counted.series);
  }
  const draftsByColumns = new Map<Columns, DraftsOfColumns>();
  let columns: Columns | undefined;
  let ofColumns: DraftsOfColumns = [];
  for (let row = 0; row < rows.columns.length; row += 1) {
    if (rows.columns[row] !== columns) {
      columns = rows.columns[row];
      ofColumns = draftsOf(columns, drafts, draftsByColumns);
    }
    for (let column = 0; column < ofColumns.length; column += 1) ofColumns[column]?.add(row, column);
    const turn = slice.over();
    if (turn !== undefined) await turn;
  }
  const dropped = leftOut.size === 0 ? [] : await droppedSeries(rows, leftOut, slice);
  return { rows, families: [...drafts.values()], counts: { series, dropped, refused: rows.refused } };
}

/** The series of the families that are left out, row by row. */
async function droppedSeries(
  { columns, numbers }: AnswerRows,
  leftOut: ReadonlyMap<string, number>,
  slice: TimeSlice,
): Promise<readonly DroppedSeries[]> {
  const dropped: DroppedSeries[] = [];
  const countsOf = new Map<Columns, ReadonlyMap<string, number>>();
  for (const [row, ofRow] of columns.entries()) {
    let counts = countsOf.get(ofRow);
    if (counts === undefined) countsOf.set(ofRow, (counts = seriesByFamily(ofRow, leftOut)));
    for (const [family, series] of counts) dropped.push({ family, series, number: numbers[row] ?? 0 });
    const turn = slice.over();
    if (turn !== undefined) await turn;
  }
  return dropped;
}

function seriesByFamily({ list }: Columns, families: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { family } of list) {
    if (families.has(family.name)) counts.set(family.name, (counts.get(family.name) ?? 0) + 1);
  }
  return counts;
}

function draftsOf(
  columns: Columns | undefined,
  drafts: ReadonlyMap<string, FamilySeriesDraft>,
  known: Map<Columns, DraftsOfColumns>,
): DraftsOfColumns {
  if (columns === undefined) return [];
  let found = known.get(columns);
  if (found === undefined) known.set(columns, (found = columns.list.map(({ family }) => drafts.get(family.name))));
  return found;
}

/** The families that have series, by name, in the order in which they first appear. */
async function countedFamilies({ columns }: AnswerRows, slice: TimeSlice): Promise<ReadonlyMap<string, SeriesCount>> {
  const rowsWith = new Map<Columns, number>();
  for (let first = 0; first < columns.length;) {
    const those = columns[first];
    let end = first + 1;
    while (end < columns.length && columns[end] === those) end += 1;
    if (those !== undefined) rowsWith.set(those, (rowsWith.get(those) ?? 0) + end - first);
    const turn = slice.over();
    if (turn !== undefined) await turn;
    first = end;
  }
  const found = new Map<string, SeriesCount>();
  for (const [{ list }, times] of rowsWith) {
    for (const { family } of list) {
      const counted = found.get(family.name);
      if (counted === undefined) found.set(family.name, { family, series: times });
      else counted.series += times;
    }
    const turn = slice.over();
    if (turn !== undefined) await turn;
  }
  return found;
}

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
const BLOCKS_AT_ONCE = 8192;

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
export async function answerRows(blocks: readonly Block[], slice: TimeSlice): Promise<AnswerRows> {
  const rows = new RowsDraft(blocks.length);
  for (let start = 0; start < blocks.length; start += BLOCKS_AT_ONCE) {
    const turn = slice.over();
    if (turn !== undefined) await turn;
    rows.visit(blocks, start, Math.min(start + BLOCKS_AT_ONCE, blocks.length));
  }
  return rows;
}

/**
 * Which families are left out so that no more than `limit` series remain (`collection.max_series` in
 * docs/configuration.md): the largest first, of equally large ones the first by name. Gives the number of series of each.
 *
 * @param series number of series by family
 */
export function familiesOverLimit(limit: number, series: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  let total = 0;
  for (const count of series.values()) total += count;
  const dropped = new Map<string, number>();
  if (total <= limit) return dropped;
  const largestFirst = [...series].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  for (const [name, count] of largestFirst) {
    if (total <= limit) break;
    dropped.set(name, count);
    total -= count;
  }
  return dropped;
}

/** What an answer holds of the collected data, and what it does not. */
export interface AnswerCounts {
  /** Series written, by family. */
  readonly series: ReadonlyMap<string, number>;
  /** Series of the families that were left out because of `max_series`, entity by entity. */
  readonly dropped: readonly DroppedSeries[];
  /** Samples that are not written: the value is not finite, a label is the entity's, or the series is there already. */
  readonly refused: number;
}
