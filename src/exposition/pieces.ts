import type { Format } from './format.ts';
import type { Layout } from './layout.ts';
import { metadata } from './metadata.ts';
import { Piece } from './piece.ts';
import type { Sliced } from './slices.ts';
import { SLICE } from './slices.ts';

/**
 * The collected part of an answer in pieces of about a slice each, made one at a time.
 *
 * @param inUse how many pieces are in use at once, Infinity for all: the memory of one that was yielded so many pieces ago
 * is used again
 */
export function* piecesOf({ families }: Layout, format: Format, inUse: number): Sliced<Buffer> {
  const piece = new Piece(inUse);
  for (const series of families) {
    piece.addText(metadata(series.family, format));
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
