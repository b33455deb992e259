import type { Block, Family } from '../metrics/sample.ts';
import type { AnswerCounts } from './counts.ts';
import type { Format } from './format.ts';
import { overflowing } from './guard.ts';
import { closedText, labelPairs, seriesKey } from './labelText.ts';
import { END_OF_ANSWER, metadata } from './metadata.ts';
import type { OwnFamily } from './own.ts';
import { ownText } from './own.ts';
import { isWritable } from './series.ts';

export interface PlainAnswer extends AnswerCounts {
  readonly text: string;
}

/**
 * The reference: an answer put together in the plainest way, all at once and nothing kept. The fast path (exposition.ts)
 * gives the same bytes, and a test holds the two together.
 */
export function renderPlain(
  blocks: readonly Block[],
  own: readonly OwnFamily[],
  { format, maxSeries }: { readonly format: Format; readonly maxSeries: number },
): PlainAnswer {
  const families = new Map<string, { family: Family; lines: Map<string, string> }>();
  let refused = 0;
  let duplicates = 0;
  for (const block of blocks) {
    for (const sample of block.samples) {
      const entry = families.get(sample.family.name) ?? { family: sample.family, lines: new Map<string, string>() };
      families.set(sample.family.name, entry);
      if (!isWritable(sample, block.labels)) {
        refused += 1;
        continue;
      }
      const pairs = [...labelPairs(block.labels), ...labelPairs(sample.labels ?? {})];
      const key = seriesKey(pairs);
      if (entry.lines.has(key)) {
        duplicates += 1;
        continue;
      }
      entry.lines.set(key, `${sample.family.name}${closedText(pairs.join(','))}${sample.value}\n`);
    }
  }
  const counted = [...families].map(([name, { lines }]) => [name, lines.size] as const).filter(([, size]) => size > 0);
  const dropped = overflowing(new Map(counted), maxSeries);
  const series = new Map(counted.filter(([name]) => !dropped.has(name)));
  let text = '';
  for (const [name, { family, lines }] of families) {
    if (series.has(name)) {
      text += metadata(family, format) + [...lines.values()].join('');
    }
  }
  text += ownText(own, series, format).join('') + (format === 'openmetrics' ? END_OF_ANSWER : '');
  return { text, series, dropped, refused, duplicates };
}
