import type { Labels } from '../metrics/sample.ts';
import type { Format } from './format.ts';
import { labelPairs } from './labelText.ts';
import type { Layout } from './layout.ts';
import { metadata } from './metadata.ts';
import type { FamilySeries } from './series.ts';
import type { Sliced } from './slices.ts';
import { SLICE } from './slices.ts';

/** The collected part of an answer in pieces of about a slice each, made one at a time. */
export function* piecesOf({ families }: Layout, format: Format): Sliced<string> {
  const piece = new Piece();
  for (const series of families) {
    piece.add(metadata(series.family, format));
    for (let next = 0; next < series.samples.length;) {
      next = piece.addLines(series, next);
      if (piece.length >= SLICE) {
        yield piece.take();
      }
    }
  }
  if (piece.length > 0) {
    yield piece.take();
  }
}

/**
 * The text of a piece while it grows. Its parts are joined all at once: concatenated, every line would be a tree of strings
 * that has to be flattened afterwards.
 */
class Piece {
  #parts: string[] = [];
  #length = 0;
  /** The text of labels that many samples share. */
  readonly #addedTexts = new Map<Labels, string>();

  get length(): number {
    return this.#length;
  }

  add(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
  }

  /** Adds lines from the series at `first` on until the piece is long enough; gives the place of the next one. */
  addLines({ family: { name }, samples, entities }: FamilySeries, first: number): number {
    const parts = this.#parts;
    let place = first;
    for (; place < samples.length && this.#length < SLICE; place += 1) {
      const sample = samples[place];
      const entity = entities[place];
      if (sample === undefined || entity === undefined) {
        continue;
      }
      const { labels, value } = sample;
      const added = labels === undefined ? '' : this.#addedText(labels);
      if (added === '') {
        parts.push(name, entity.closed, String(value), '\n');
      } else {
        parts.push(name, '{', entity.text, entity.text === '' ? '' : ',', added, '} ', String(value), '\n');
      }
      this.#length += name.length + entity.closed.length + added.length;
    }
    return place;
  }

  take(): string {
    const text = this.#parts.join('');
    this.#parts = [];
    this.#length = 0;
    this.#addedTexts.clear();
    return text;
  }

  #addedText(labels: Labels): string {
    let text = this.#addedTexts.get(labels);
    if (text === undefined) {
      text = labelPairs(labels).join(',');
      this.#addedTexts.set(labels, text);
    }
    return text;
  }
}
