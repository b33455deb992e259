import type { Labels } from '../metrics/sample.ts';
import { labelPairs } from './labelText.ts';
import type { FamilySeries } from './series.ts';
import { SLICE } from './slices.ts';

/** Beyond a slice there is room for its last line; the longest number has 25 characters. */
const ROOM = 16 * 1024;
const LONGEST_NUMBER = 32;

/** A character of a string takes up to three bytes (those that take four are two in a string). */
const MOST_BYTES = 3;

const [NEW_LINE = 0, SPACE = 0, COMMA = 0, OPEN = 0, CLOSE = 0] = Buffer.from('\n ,{}');
const NONE = Buffer.alloc(0);

/**
 * A piece of an answer while it is written. The bytes of names and labels are copied and only numbers are made: joining
 * strings takes two to three times as long, and leaves them all behind as garbage.
 *
 * The memory is used again: what `take` gave holds until as many further pieces were begun as are in use.
 */
export class Piece {
  readonly #inUse: number;
  readonly #memories: Buffer[] = [];
  #turn = 0;
  #bytes: Buffer;
  #length = 0;
  /** The bytes of labels that many samples share. */
  readonly #addedBytes = new Map<Labels, Buffer>();

  /** @param inUse how many pieces are in use at once; Infinity where all of them are kept */
  constructor(inUse: number) {
    this.#inUse = inUse;
    this.#bytes = this.#memory();
  }

  get length(): number {
    return this.#length;
  }

  addText(text: string): void {
    this.#makeRoom(text.length * MOST_BYTES);
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
  }

  /** Adds lines from the series at `first` on until the piece is a slice long; gives the place of the next one. */
  addLines({ family, samples, entities }: FamilySeries, first: number): number {
    const name = Buffer.from(family.name, 'utf8');
    let place = first;
    for (; place < samples.length && this.#length < SLICE; place += 1) {
      const sample = samples[place];
      const entity = entities[place];
      if (sample === undefined || entity === undefined) {
        continue;
      }
      const added = sample.labels === undefined ? NONE : this.#bytesOf(sample.labels);
      this.#makeRoom(name.length + entity.bytes.length + added.length + LONGEST_NUMBER);
      this.#addLine(name, entity.bytes, added, String(sample.value));
    }
    return place;
  }

  /** Ends the piece and begins the next. */
  take(): Buffer {
    const piece = this.#bytes.subarray(0, this.#length);
    this.#turn = (this.#turn + 1) % this.#inUse;
    this.#bytes = this.#memory();
    this.#length = 0;
    this.#addedBytes.clear();
    return piece;
  }

  #addLine(name: Buffer, labels: Buffer, added: Buffer, number: string): void {
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
    for (let index = 0; index < number.length; index += 1) bytes[end++] = number.charCodeAt(index);
    bytes[end++] = NEW_LINE;
    this.#length = end;
  }

  #memory(): Buffer {
    return (this.#memories[this.#turn] ??= Buffer.allocUnsafeSlow(SLICE + ROOM));
  }

  #makeRoom(needed: number): void {
    if (this.#length + needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#length + needed));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
    this.#memories[this.#turn] = larger;
  }

  #bytesOf(labels: Labels): Buffer {
    let bytes = this.#addedBytes.get(labels);
    if (bytes === undefined) {
      bytes = Buffer.from(labelPairs(labels).join(','), 'utf8');
      this.#addedBytes.set(labels, bytes);
    }
    return bytes;
  }
}
