import { yieldIfDue } from '../eventLoop/turns.ts';
import type { Family } from '../metrics/family.ts';
import type { Block } from '../metrics/writeSamples.ts';
import { metadata, type Format } from './formats.ts';

/** A family of an exposition, and the places of its series. */
export interface FamilySeries {
  readonly family: Family;
  /** The blocks with series of the family, in order: once for each run of neighbouring columns. */
  readonly blocks: Block[];
  readonly starts: number[];
  series: number;
}

/** The length of a piece that is compressed, off the main thread, while the next one is made. */
export const PASSING = 512 * 1024;

/** The length of a piece that is kept, in bytes; its last line may exceed it. */
const KEPT = 128 * 1024;

/**
 * The text of families, and then `end`, in pieces; lets other work run in between. Rejects with the reason of the signal once that
 * is aborted.
 *
 * @param isKept false when each piece may be overwritten once the second piece after it is requested
 */
export async function* expositionPieces(
  families: Iterable<FamilySeries>,
  end: string,
  format: Format,
  isKept: boolean,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const writer = new PieceWriter(isKept);
  for (const { family, blocks, starts } of families) {
    writer.addText(metadata(family, format));
    const name = Buffer.from(family.name, 'utf8');
    // By index, because the pairs that an iterator gives would be garbage as large as the text.
    for (let index = 0; index < blocks.length; index += 1) {
      const block = blocks[index];
      for (let start = starts[index]; block !== undefined && start !== undefined;) {
        start = writer.addRun(family, name, block, start);
        if (start === undefined) continue;
        yield writer.take();
        await yieldIfDue();
        signal?.throwIfAborted();
      }
    }
  }
  writer.addText(end);
  yield writer.take();
}

const ROOM = 16 * 1024;

const MARKS = 5;

const [NEW_LINE = 0, SPACE = 0, COMMA = 0, OPEN = 0, CLOSE = 0] = Buffer.from('\n ,{}');

/**
 * Writes text into pieces of about equal length. The bytes of names and labels are copied; joining strings takes two to
 * three times as long and leaves them all behind as garbage.
 */
class PieceWriter {
  readonly #isKept: boolean;
  readonly #size: number;
  #bytes: Buffer;
  /** Where pieces are passing, the buffer of the piece before. */
  #other: Buffer | undefined;
  #length = 0;

  constructor(isKept: boolean) {
    this.#isKept = isKept;
    this.#size = isKept ? KEPT : PASSING;
    this.#bytes = Buffer.allocUnsafeSlow(this.#size + ROOM);
  }

  addText(text: string): void {
    const needed = Buffer.byteLength(text);
    if (this.#length + needed > this.#bytes.length) this.#grow(needed);
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
  }

  /** Adds the lines of a run until the piece is full; returns the index of the next column of the run, if any is left. */
  addRun(
    family: Family,
    name: Buffer,
    { labelBytes, samples: { columns, values } }: Block,
    start: number,
  ): number | undefined {
    for (let at = start; at < columns.length; at += 1) {
      const column = columns[at];
      const value = values[at];
      if (column === undefined || value === undefined || column.family.name !== family.name) return undefined;
      if (this.#length >= this.#size) return at;
      this.#addLine(name, labelBytes, column.labelBytes, value);
    }
    return undefined;
  }

  /** Adds a line: `name{labels,added} value`. `value` is plain ASCII. */
  #addLine(name: Buffer, labels: Buffer, added: Buffer, value: string): void {
    const needed = name.length + labels.length + added.length + value.length + MARKS;
    if (this.#length + needed > this.#bytes.length) this.#grow(needed);
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

  take(): Buffer {
    const piece = this.#bytes.subarray(0, this.#length);
    const next = this.#other ?? Buffer.allocUnsafeSlow(this.#size + ROOM);
    if (!this.#isKept) this.#other = this.#bytes;
    this.#bytes = next;
    this.#length = 0;
    return piece;
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(2 * (this.#length + needed));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
