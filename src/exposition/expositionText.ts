import { yieldIfDue } from '../eventLoop/turns.ts';
import type { FamilySeries, ExpositionRows } from './expositionFamilies.ts';
import { type Format, metadata } from './formats.ts';

/** After this number of lines, which takes less than a millisecond, other work may get its turn. */
const LINES_AT_ONCE = 1000;

/**
 * The collected part of an exposition, in pieces of about `size` bytes; lets other work run every thousand lines. Only the last
 * `inUse` pieces are valid, older ones are overwritten; Infinity keeps all of them.
 */
export async function* expositionPieces(
  rows: ExpositionRows,
  families: readonly FamilySeries[],
  format: Format,
  { size, inUse }: { readonly size: number; readonly inUse: number },
): AsyncGenerator<Buffer> {
  const writer = new PieceWriter(size, inUse);
  for (const series of families) {
    writer.addText(metadata(series.family, format));
    for (let next = 0; next < series.rows.length;) {
      next = addLines(writer, series, rows, next);
      if (writer.full) yield writer.take();
      const yielded = yieldIfDue();
      if (yielded !== undefined) await yielded;
    }
  }
  if (writer.length > 0) yield writer.take();
}

/** Adds up to LINES_AT_ONCE lines, from the series at `first`, until the piece is full; returns the index of the next series. */
function addLines(
  writer: PieceWriter,
  { family, rows: rowOf, columns: columnOf }: FamilySeries,
  { labels, columns, values }: ExpositionRows,
  first: number,
): number {
  const name = Buffer.from(family.name, 'utf8');
  let index = first;
  const end = Math.min(first + LINES_AT_ONCE, rowOf.length);
  for (; index < end && !writer.full; index += 1) {
    const row = rowOf[index];
    const column = columnOf[index];
    if (row === undefined || column === undefined) break;
    const ofEntity = labels[row];
    const value = values[row]?.[column];
    const added = columns[row]?.[column]?.labelBytes;
    if (ofEntity === undefined || value === undefined || added === undefined) continue;
    writer.addLine(name, ofEntity, added, value);
  }
  return index;
}

/** Bytes beyond the length of a piece, for its last line. */
const ROOM = 16 * 1024;

/** The most bytes that one UTF-16 unit takes in UTF-8; a character of four bytes has two units. */
const MAX_BYTES = 3;

/** The characters of a line besides its name, labels and value: `{`, `,`, `}`, a space and the end of the line. */
const MARKS = 5;

const [NEW_LINE = 0, SPACE = 0, COMMA = 0, OPEN = 0, CLOSE = 0] = Buffer.from('\n ,{}');

/**
 * Writes text into pieces of about equal length. The bytes of names and labels are copied; joining strings takes two to
 * three times as long and leaves them all behind as garbage.
 *
 * Buffers are reused: a piece from `take` is overwritten after `inUse` further pieces.
 */
class PieceWriter {
  readonly #size: number;
  readonly #inUse: number;
  readonly #buffers: Buffer[] = [];
  /** The index of the buffer that is written now. */
  #index = 0;
  #bytes: Buffer;
  #length = 0;

  /**
   * @param size the length of a piece in bytes; its last line may exceed it
   * @param inUse the number of pieces that are valid at once; Infinity keeps all of them
   */
  constructor(size: number, inUse: number) {
    this.#size = size;
    this.#inUse = inUse;
    this.#bytes = this.#buffer();
  }

  /** Bytes of the piece so far. */
  get length(): number {
    return this.#length;
  }

  /** True when the piece is long enough. */
  get full(): boolean {
    return this.#length >= this.#size;
  }

  addText(text: string): void {
    this.#makeRoom(text.length * MAX_BYTES);
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
  }

  /** Adds a line: `name{labels,added} value`. `value` is plain ASCII. */
  addLine(name: Buffer, labels: Buffer, added: Buffer, value: string): void {
    this.#makeRoom(name.length + labels.length + added.length + value.length + MARKS);
    const bytes = this.#bytes;
    let end = this.#length;
    bytes.set(name, end);
    end += name.length;
    if (labels.length + added.length > 0) {
      bytes[end++] = OPEN;
      bytes.set(labels, end);
      end += labels.length;
      if (added.length > 0) {
        if (labels.length > 0) bytes[end++] = COMMA;
        bytes.set(added, end);
        end += added.length;
      }
      bytes[end++] = CLOSE;
    }
    bytes[end++] = SPACE;
    for (let index = 0; index < value.length; index += 1) bytes[end++] = value.charCodeAt(index);
    bytes[end++] = NEW_LINE;
    this.#length = end;
  }

  /** Ends the piece and begins the next. */
  take(): Buffer {
    const piece = this.#bytes.subarray(0, this.#length);
    this.#index = (this.#index + 1) % this.#inUse;
    this.#bytes = this.#buffer();
    this.#length = 0;
    return piece;
  }

  #buffer(): Buffer {
    return (this.#buffers[this.#index] ??= Buffer.allocUnsafeSlow(this.#size + ROOM));
  }

  #makeRoom(needed: number): void {
    if (this.#length + needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#length + needed));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
    this.#buffers[this.#index] = larger;
  }
}
