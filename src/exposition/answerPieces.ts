import type { AnswerFamilies, FamilySeries, Row } from './answerFamilies.ts';
import type { Format } from './format.ts';
import { metadata } from './metadata.ts';
import { PieceWriter } from './pieceWriter.ts';
import type { Turns } from './turns.ts';

/**
 * Writes the collected part of an answer piece by piece, and gives way to other work after each.
 *
 * @param take what becomes of a piece; the next one is begun when it has resolved
 * @param inUse how many pieces `take` has in use at once, Infinity for all: older ones are written over
 */
export async function writeAnswer(
  { rows, families }: AnswerFamilies,
  format: Format,
  take: (piece: Buffer) => void | Promise<void>,
  inUse: number,
  turns: Turns,
): Promise<void> {
  const writer = new PieceWriter(inUse);
  for (const series of families) {
    writer.addText(metadata(series.family, format));
    for (let next = 0; next < series.rows.length;) {
      next = addLines(writer, series, rows, next);
      if (!writer.full) continue;
      await take(writer.take());
      await turns.next();
    }
  }
  if (writer.length > 0) await take(writer.take());
}

/** Adds lines from the series at `first` on until the piece is full; gives the place of the next one. */
function addLines(
  writer: PieceWriter,
  { family, rows: rowOf, columns: columnOf }: FamilySeries,
  rows: readonly Row[],
  first: number,
): number {
  const name = Buffer.from(family.name, 'utf8');
  let place = first;
  for (; place < rowOf.length && !writer.full; place += 1) {
    const row = rows[rowOf[place] ?? NaN];
    const column = columnOf[place] ?? NaN;
    const value = row?.samples.values[column];
    const added = row?.samples.columns.list[column]?.labelBytes;
    if (row === undefined || value === undefined || added === undefined) continue;
    writer.addLine(name, row.labels, added, value);
  }
  return place;
}
