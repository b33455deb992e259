import { type AnswerCounts, familiesOverLimit } from '../../src/exposition/answerFamilies.ts';
import { type Format, END_OF_ANSWER, metadata } from '../../src/exposition/formats.ts';
import { bracedLabels, labelPairs } from '../../src/metrics/writeSamples.ts';
import { ownText, type OwnFamily } from '../../src/exposition/ownFamilies.ts';
import type { Family, Labels, Sample } from '../../src/metrics/sample.ts';
import type { SampleBlock } from './expositionBlocks.ts';

export interface PlainAnswer extends Omit<AnswerCounts, 'dropped'> {
  /** Series left out, by family. */
  readonly dropped: ReadonlyMap<string, number>;
  readonly text: string;
}

/** The reference: an answer put together in the plainest way, all at once, with nothing kept and every series compared. */
export function plainAnswer(
  blocks: readonly SampleBlock[],
  own: readonly OwnFamily[],
  { format, maxSeries }: { readonly format: Format; readonly maxSeries: number },
): PlainAnswer {
  const families = new Map<string, { family: Family; lines: Map<string, string> }>();
  let refused = 0;
  for (const block of blocks) {
    for (const sample of block.samples) {
      if (!isWritable(sample, block.labels)) {
        refused += 1;
        continue;
      }
      const entry = families.get(sample.family.name) ?? { family: sample.family, lines: new Map<string, string>() };
      families.set(sample.family.name, entry);
      const pairs = [...labelPairs(block.labels), ...labelPairs(sample.labels ?? {})];
      const key = pairs.toSorted().join(',');
      if (entry.lines.has(key)) {
        refused += 1;
        continue;
      }
      entry.lines.set(key, `${sample.family.name}${bracedLabels(pairs.join(','))}${sample.value}\n`);
    }
  }
  const all = new Map(Array.from(families, ([name, { lines }]) => [name, lines.size]));
  const dropped = familiesOverLimit(maxSeries, all);
  const series = new Map([...all].filter(([name]) => !dropped.has(name)));
  let text = '';
  for (const [name, { family, lines }] of families) {
    if (series.has(name)) text += metadata(family, format) + [...lines.values()].join('');
  }
  text += ownText(own, series, format).join('') + (format === 'openmetrics' ? END_OF_ANSWER : '');
  return { text, series, dropped, refused };
}

/** A finite value, and no label of the entity a second time. */
function isWritable({ labels = {}, value }: Sample, entity: Labels): boolean {
  return Number.isFinite(value) && !Object.keys(labels).some((name) => Object.hasOwn(entity, name));
}
