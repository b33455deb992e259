import type { Turns } from '../eventLoop/turns.ts';
import type { AnswerFamilies, FamilySeries } from './answerFamilies.ts';
import type { AnswerRows } from './answerRows.ts';
import type { Format } from './format.ts';
import { metadata } from './metadata.ts';
import { PieceWriter } from './pieceWriter.ts';

/** Lines that are written before other work may go on; they take less than a millisecond. */
const LINES_PER_TURN = 1000;

/** Takes the pieces of an answer. */
export interface PieceTaker {
  /** Bytes of a piece. */
  readonly size: number;
  /** How many pieces it uses at once: older ones are written over. Infinity: it keeps them all. */
  readonly inUse: number;
  /** The next piece is begun when it has resolved. */
  take(piece: Buffer): void | Promise<void>;
}

/** Writes the collected part of an answer piece by piece, and lets other work go on every thousand lines. */
export async function writeAnswer(
  { rows, families }: AnswerFamilies,
  format: Format,
  taker: PieceTaker,
  turns: Turns,
): Promise<void> {
  const writer = new PieceWriter(taker.size, taker.inUse);
  for (const series of families) {
    writer.addText(metadata(series.family, format));
    for (let next = 0; next < series.rows.length;) {
      next = addLines(writer, series, rows, next);
      if (writer.full) await taker.take(writer.take());
      await turns.next();
    }
  }
  if (writer.length > 0) await taker.take(writer.take());
}

/** Adds lines from the series at `first` on until it is time for a turn or the piece is full; gives the place of the next. */
function addLines(
  writer: PieceWriter,
  { family, rows: rowOf, columns: columnOf }: FamilySeries,
  { labels, columns, values }: AnswerRows,
  first: number,
): number {
  const name = Buffer.from(family.name, 'utf8');
  let place = first;
  const end = Math.min(first + LINES_PER_TURN, rowOf.length);
  for (; place < end && !writer.full; place += 1) {
    const row = rowOf[place];
    const column = columnOf[place];
    if (row === undefined || column === undefined) break;
    const ofEntity = labels[row];
    const value = values[row]?.[column];
    const added = columns[row]?.list[column]?.labelBytes;
    if (ofEntity === undefined || value === undefined || added === undefined) continue;
    writer.addLine(name, ofEntity, added, value);
  }
  return place;
}
