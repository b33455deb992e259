import { inSlices, yieldIfDue } from '../eventLoop/turns.ts';
import type { Family } from '../metrics/family.ts';
import type { Block, Columns, DroppedSeries } from '../metrics/writeSamples.ts';

/** A family of an exposition, and the places of its series. */
export interface FamilySeries {
  readonly family: Family;
  /** The blocks with series of the family, in order: once for each run of neighbouring columns. */
  readonly blocks: Block[];
  readonly starts: number[];
  series: number;
}

/** After this number of blocks, which takes less than two milliseconds, other work may get its turn. */
const BLOCKS_AT_ONCE = 1024;

/**
 * Finds the series of each family. Families are in the order of their first appearance, series in the order of their blocks.
 * Where there are more than `maxSeries` series, whole families are left out, the largest first, of equally large ones the first
 * by name (`collection.max_series` in docs/configuration.md). Rejects with the reason of the signal once that is aborted.
 */
export async function familiesOf(
  blocks: readonly Block[],
  maxSeries: number,
  signal?: AbortSignal,
): Promise<{ readonly families: ReadonlyMap<string, FamilySeries>; readonly dropped: readonly DroppedSeries[] }> {
  const families = new Map<string, FamilySeries>();
  let series = 0;
  for (const [index, block] of blocks.entries()) {
    if (index % BLOCKS_AT_ONCE === 0) {
      await yieldIfDue();
      signal?.throwIfAborted();
    }
    addRuns(families, block);
    series += block.samples.columns.length;
  }
  const dropped: DroppedSeries[] = [];
  for (const largest of [...families.values()].sort(
    (a, b) => b.series - a.series || (a.family.name < b.family.name ? -1 : 1),
  )) {
    if (series <= maxSeries) break;
    series -= largest.series;
    families.delete(largest.family.name);
    await inSlices(droppedSeries(largest), (each) => dropped.push(each), signal);
  }
  return { families, dropped };
}

function addRuns(families: Map<string, FamilySeries>, block: Block): void {
  const { columns } = block.samples;
  for (let start = 0, end; start < columns.length; start = end) {
    const family = columns[start]?.family;
    if (family === undefined) break;
    let found = families.get(family.name);
    if (found === undefined) families.set(family.name, (found = { family, blocks: [], starts: [], series: 0 }));
    end = endOfRun(columns, start);
    found.blocks.push(block);
    found.starts.push(start);
    found.series += end - start;
  }
}

function endOfRun(columns: Columns, start: number): number {
  const name = columns[start]?.family.name;
  let end = start + 1;
  while (end < columns.length && columns[end]?.family.name === name) end += 1;
  return end;
}

function* droppedSeries({ family, blocks, starts }: FamilySeries): Generator<DroppedSeries> {
  let series = 0;
  for (const [index, { samples }] of blocks.entries()) {
    const start = starts[index] ?? 0;
    series += endOfRun(samples.columns, start) - start;
    if (blocks[index + 1]?.samples === samples) continue;
    yield { family: family.name, series, reading: samples };
    series = 0;
  }
}
