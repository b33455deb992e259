import { yieldIfDue } from '../eventLoop/turns.ts';
import type { Columns, DroppedSeries, Family, Block } from '../metrics/sample.ts';

/** The numbers of written and omitted series of an exposition. */
export interface ExpositionCounts {
  /** Series written, by family. */
  readonly series: ReadonlyMap<string, number>;
  /** Series of the families that were left out because of `max_series`, task by task. */
  readonly dropped: readonly DroppedSeries[];
}

/** The positions of the series of one family, in the order of the exposition. */
export class FamilySeries {
  readonly family: Family;
  /** For each series the index of its row in the exposition. */
  readonly rows: Uint32Array;
  /** For each series its index in the columns of its row. */
  readonly columns: Uint32Array;
  #length = 0;

  constructor(family: Family, series: number) {
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
 * Collects the series of each family. Families are in the order of their first appearance, series in the order of their rows.
 * Where there are more than `maxSeries` series, whole families are left out, and their series counted.
 */
export async function expositionFamilies(
  rows: ExpositionRows,
  maxSeries: number,
): Promise<{ readonly families: readonly FamilySeries[]; readonly counts: ExpositionCounts }> {
  const found = new Map<string, { readonly family: Family; series: number }>();
  for (const [columns, { rows: times }] of rows.rowsWith) {
    for (const { family } of columns) {
      const counted = found.get(family.name);
      if (counted === undefined) found.set(family.name, { family, series: times });
      else counted.series += times;
    }
    const yielded = yieldIfDue();
    if (yielded !== undefined) await yielded;
  }
  const droppedFamilies = familiesOverLimit(maxSeries, found);
  const kept = new Map<string, FamilySeries>();
  for (const [name, { family, series }] of found) {
    if (!droppedFamilies.has(name)) kept.set(name, new FamilySeries(family, series));
  }
  const dropped: DroppedSeries[] = [];
  const known = new Map<Columns, ReturnType<typeof positionsOf>>();
  let columns: Columns | undefined;
  let positions: ReturnType<typeof positionsOf> = { kept: [], dropped: [] };
  for (let row = 0; row < rows.columns.length; row += 1) {
    const ofRow = rows.columns[row];
    if (ofRow !== undefined && ofRow !== columns) {
      columns = ofRow;
      positions = known.get(ofRow) ?? positionsOf(ofRow, kept);
      known.set(ofRow, positions);
    }
    const { kept: destinations, dropped: notWritten } = positions;
    for (let column = 0; column < destinations.length; column += 1) destinations[column]?.add(row, column);
    if (notWritten.length > 0) {
      const reading = rows.blocks[row]?.samples;
      if (reading !== undefined) for (const [family, series] of notWritten) dropped.push({ family, series, reading });
    }
    const yielded = yieldIfDue();
    if (yielded !== undefined) await yielded;
  }
  const series = new Map(Array.from(kept, ([name, family]) => [name, family.rows.length]));
  return { families: [...kept.values()], counts: { series, dropped } };
}

/** The destination of each column, and the number of dropped series of a row with these columns, by family. */
function positionsOf(columns: Columns, families: ReadonlyMap<string, FamilySeries>) {
  const kept = columns.map(({ family }) => families.get(family.name));
  const dropped = new Map<string, number>();
  for (const [index, { family }] of columns.entries()) {
    if (kept[index] === undefined) dropped.set(family.name, (dropped.get(family.name) ?? 0) + 1);
  }
  return { kept, dropped: [...dropped] };
}

/**
 * The blocks of an exposition, one list for each property. An exposition walks these lists several times, but visits
 * the blocks only once, because they lie far apart in memory: 100,000 of them take 10 ms.
 */
export interface ExpositionRows {
  readonly blocks: readonly Block[];
  /** For each block the labels of its task as they are written. */
  readonly labels: readonly Buffer[];
  /** For each block the families and labels of its samples. */
  readonly columns: readonly Columns[];
  /** For each block its values, one for each column. */
  readonly values: readonly (readonly string[])[];
  /** For each block its `WrittenSamples.version`: equal versions mean equal samples. */
  readonly versions: Float64Array;
  /** The number of blocks with the same columns, in the order in which these first appear. */
  readonly rowsWith: ReadonlyMap<Columns, { readonly rows: number }>;
  readonly series: number;
}

/** After this number of blocks, which takes less than two milliseconds, other work may get its turn. */
const BLOCKS_AT_ONCE = 8192;

export async function expositionRows(blocks: readonly Block[]): Promise<ExpositionRows> {
  const labels = new Array<Buffer>(blocks.length);
  const columns = new Array<Columns>(blocks.length);
  const values = new Array<readonly string[]>(blocks.length);
  const versions = new Float64Array(blocks.length);
  const rowsWith = new Map<Columns, { rows: number }>();
  let same = { rows: 0 };
  let series = 0;
  for (let row = 0; row < blocks.length; row += 1) {
    if (row % BLOCKS_AT_ONCE === 0) {
      const yielded = yieldIfDue();
      if (yielded !== undefined) await yielded;
    }
    const block = blocks[row];
    if (block === undefined) break;
    const { samples } = block;
    labels[row] = block.labelBytes;
    columns[row] = samples.columns;
    values[row] = samples.values;
    versions[row] = samples.version;
    if (samples.columns !== columns[row - 1]) {
      same = rowsWith.get(samples.columns) ?? { rows: 0 };
      rowsWith.set(samples.columns, same);
    }
    same.rows += 1;
    series += samples.values.length;
  }
  return { blocks, labels, columns, values, versions, rowsWith, series };
}

/**
 * The families to leave out so that no more than `limit` series remain (`collection.max_series` in
 * docs/configuration.md): the largest first, of equally large ones the first by name.
 */
function familiesOverLimit(
  limit: number,
  found: ReadonlyMap<string, { readonly series: number }>,
): ReadonlySet<string> {
  let total = 0;
  for (const { series } of found.values()) total += series;
  const droppedFamilies = new Set<string>();
  for (const [name, { series }] of [...found].sort(([a, x], [b, y]) => y.series - x.series || (a < b ? -1 : 1))) {
    if (total <= limit) break;
    droppedFamilies.add(name);
    total -= series;
  }
  return droppedFamilies;
}
