import type { Turns } from '../eventLoop/turns.ts';
import type { Columns, DroppedSeries, Family } from '../metrics/sample.ts';
import type { AnswerRows } from './answerRows.ts';
import type { AnswerCounts } from './counts.ts';
import { familiesOverLimit } from './seriesLimit.ts';

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
export async function answerFamilies(rows: AnswerRows, maxSeries: number, turns: Turns): Promise<AnswerFamilies> {
  const found = await countedFamilies(rows, turns);
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
    const turn = turns.after(ofColumns.length);
    if (turn !== undefined) await turn;
  }
  const dropped = leftOut.size === 0 ? [] : await droppedSeries(rows, leftOut, turns);
  return { rows, families: [...drafts.values()], counts: { series, dropped, refused: rows.refused } };
}

/** The series of the families that are left out, row by row. */
async function droppedSeries(
  { columns, numbers }: AnswerRows,
  leftOut: ReadonlyMap<string, number>,
  turns: Turns,
): Promise<readonly DroppedSeries[]> {
  const dropped: DroppedSeries[] = [];
  const countsOf = new Map<Columns, ReadonlyMap<string, number>>();
  for (const [row, ofRow] of columns.entries()) {
    let counts = countsOf.get(ofRow);
    if (counts === undefined) countsOf.set(ofRow, (counts = seriesByFamily(ofRow, leftOut)));
    for (const [family, series] of counts) dropped.push({ family, series, number: numbers[row] ?? 0 });
    const turn = turns.after(1 + counts.size);
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
async function countedFamilies({ columns }: AnswerRows, turns: Turns): Promise<ReadonlyMap<string, SeriesCount>> {
  const rowsWith = new Map<Columns, number>();
  for (let first = 0; first < columns.length;) {
    const those = columns[first];
    let end = first + 1;
    while (end < columns.length && columns[end] === those) end += 1;
    if (those !== undefined) rowsWith.set(those, (rowsWith.get(those) ?? 0) + end - first);
    const turn = turns.after(1);
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
    const turn = turns.after(list.length);
    if (turn !== undefined) await turn;
  }
  return found;
}
