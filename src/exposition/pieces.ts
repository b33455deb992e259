import type { Format } from './format.ts';
import type { Layout } from './layout.ts';
import { metadata } from './metadata.ts';
import type { Sliced } from './slices.ts';
import { SLICE } from './slices.ts';

/** The collected part of an answer in pieces of about a slice each, made one at a time. */
export function* piecesOf({ families }: Layout, format: Format): Sliced<Buffer> {
  let parts: string[] = [];
  let length = 0;
  for (const { family, texts } of families) {
    const head = metadata(family, format);
    parts.push(head);
    length += head.length;
    for (const text of texts) {
      parts.push(text);
      length += text.length;
      if (length >= SLICE) {
        yield Buffer.from(parts.join(''), 'utf8');
        parts = [];
        length = 0;
      }
    }
  }
  if (length > 0) {
    yield Buffer.from(parts.join(''), 'utf8');
  }
}
