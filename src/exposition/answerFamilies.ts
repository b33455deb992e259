import type { Columns, Family, WrittenSamples } from '../metrics/sample.ts';
import type { AnswerCounts } from './counts.ts';
import { familiesBeyond } from './seriesLimit.ts';
import type { Turns } from './turns.ts';

/** The blocks of an answer: in each place the labels of an entity as they are written, and its samples. */
export interface Rows {
  readonly labels: readonly Buffer[];
  readonly samples: readonly WrittenSamples[];
}

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
  readonly rows: Rows;
  readonly families: readonly FamilySeries[];
  readonly counts: AnswerCounts;
}

interface SeriesCount {
  readonly family: Family;
  series: number;
}

/** The series of a family while they are brought together. */
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

/**
 * Brings the series of each family together: families in the order in which they first appear, series in the order of
 * their rows. Families beyond `maxSeries` are left out and counted.
 */
export async function answerFamilies(rows: Rows, maxSeries: number, turns: Turns): Promise<AnswerFamilies> {
  const found = await countedFamilies(rows, turns);
  const all = new Map(Array.from(found, ([name, { series }]) => [name, series]));
  const dropped = familiesBeyond(maxSeries, all);
  const drafts = new Map<string, FamilySeriesDraft>();
  for (const [name, counted] of found) if (!dropped.has(name)) drafts.set(name, new FamilySeriesDraft(counted));
  const draftsOf = new Map<Columns, readonly (FamilySeriesDraft | undefined)[]>();
  let refused = 0;
  for (const [row, { columns, refused: ofRow }] of rows.samples.entries()) {
    let ofColumns = draftsOf.get(columns);
    if (ofColumns === undefined) {
      draftsOf.set(columns, (ofColumns = columns.list.map(({ family }) => drafts.get(family.name))));
    }
    for (let column = 0; column < ofColumns.length; column += 1) ofColumns[column]?.add(row, column);
    refused += ofRow;
    const turn = turns.after(ofColumns.length);
    if (turn !== undefined) await turn;
  }
  const series = new Map(
    Array.from(
      drafts,
      ([
        name,
        {
          rows: { length },
        },
      ]) => [name, length],
    ),
  );
  return { rows, families: [...drafts.values()], counts: { series, dropped, refused } };
}

/** The families that have series, by name, in the order in which they first appear. */
async function countedFamilies({ samples }: Rows, turns: Turns): Promise<ReadonlyMap<string, SeriesCount>> {
  const rowsWith = new Map<Columns, number>();
  for (const { columns } of samples) {
    rowsWith.set(columns, (rowsWith.get(columns) ?? 0) + 1);
    const turn = turns.after(1);
    if (turn !== undefined) await turn;
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
