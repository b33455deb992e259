import type { Labels } from '../metrics/sample.ts';
import type { Format } from './format.ts';
import type { LabelText } from './labelText.ts';
import { closedText, labelPairs } from './labelText.ts';
import type { Layout } from './layout.ts';
import { metadata } from './metadata.ts';
import type { Sliced } from './slices.ts';
import { SLICE } from './slices.ts';

/**
 * The collected part of an answer in pieces of about a slice each, made one at a time. The parts of the lines are joined all
 * at once: concatenated, every line would be a tree of strings that has to be flattened afterwards.
 */
export function* piecesOf({ families }: Layout, format: Format): Sliced<Buffer> {
  let parts: string[] = [];
  let length = 0;
  for (const { family, samples, entities } of families) {
    parts.push(metadata(family, format));
    for (const [index, { labels, value }] of samples.entries()) {
      const entity = entities[index];
      if (entity === undefined) {
        continue;
      }
      const closed = labels === undefined ? entity.closed : closedWith(entity, labels);
      parts.push(family.name, closed, String(value), '\n');
      length += family.name.length + closed.length;
      if (length >= SLICE) {
        yield Buffer.from(parts.join(''), 'utf8');
        parts = [];
        length = 0;
      }
    }
  }
  if (parts.length > 0) {
    yield Buffer.from(parts.join(''), 'utf8');
  }
}

function closedWith({ text }: LabelText, labels: Labels): string {
  const added = labelPairs(labels).join(',');
  return closedText(text === '' || added === '' ? text + added : `${text},${added}`);
}
