import { formatMinute } from '../terminal/minute.ts';
import { table } from '../terminal/table.ts';
import type { Comparison, Difference } from './differences.ts';

/** More differences than this are counted, not shown: nobody reads them, and JSON has them all. */
const MOST_SHOWN = 100;

/** The result for a person: a table of families, the differences, and what they mean. Ends in a line feed. */
export function comparisonText(comparison: Comparison): string {
  const { account, window, tolerance, families, differences, unexpected } = comparison;
  const percent = `${tolerance * 100} %`;
  const expected = differences.length - unexpected;
  const sections = [
    `Account ${account}, window from ${formatMinute(window.from)} to ${formatMinute(window.to)}, tolerance ${percent}`,
    table([
      ['FAMILY', 'COMPARED', 'DIFFER', 'WORST', 'ONLY REST', 'ONLY NERDGRAPH'],
      ...families.map((family) => [
        family.family,
        family.compared,
        family.differing,
        family.compared === 0 ? '-' : percentText(family.max_difference),
        family.only_rest,
        family.only_nerdgraph,
      ]),
    ]),
    ...differenceSection(
      `Differences that nothing explains: ${unexpected}`,
      differences.filter((difference) => !difference.expected),
    ),
    ...differenceSection(
      `Differences that are expected: ${expected}`,
      differences.filter((difference) => difference.expected),
    ),
    verdict(comparison),
  ];
  return `${sections.join('\n\n')}\n`;
}

export function comparisonJson(comparison: Comparison): string {
  return `${JSON.stringify(comparison, undefined, 2)}\n`;
}

function differenceSection(title: string, differences: readonly Difference[]): string[] {
  if (differences.length === 0) return [];
  const rows = differences
    .slice(0, MOST_SHOWN)
    .map(({ family, labels, rest, nerdgraph, difference, reason }) => [
      difference === null ? '-' : percentText(difference),
      numberText(rest),
      numberText(nerdgraph),
      family + labelText(labels),
      ...(reason === null ? [] : [reason]),
    ]);
  const why = differences[0]?.expected === true ? ['WHY'] : [];
  const text = table([['DIFFERENCE', 'REST', 'NERDGRAPH', 'SERIES', ...why], ...rows]);
  const more = differences.length - MOST_SHOWN;
  return [`${title}\n${text}${more > 0 ? `\nand ${more} more: --format=json has them all` : ''}`];
}

function verdict({ families, unexpected }: Comparison): string {
  const compared = families.reduce((sum, family) => sum + family.compared, 0);
  return unexpected === 0
    ? `Both interfaces agree: ${compared} series compared, nothing differs that is not expected.`
    : `The interfaces do not agree: ${unexpected} of the differences are not expected. docs/migrating.md says what to look at.`;
}

function labelText(labels: Difference['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `{${pairs.join(',')}}`;
}

function percentText(difference: number): string {
  return `${(difference * 100).toPrecision(3)} %`;
}

function numberText(value: number | null): string {
  return value === null ? 'absent' : String(Number(value.toPrecision(6)));
}
