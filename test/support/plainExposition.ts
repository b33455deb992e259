import { createHash } from 'node:crypto';
import type { Format } from '../../src/exposition/formats.ts';
import type { OwnFamily } from '../../src/exposition/exposition.ts';
import type { Family } from '../../src/metrics/family.ts';
import type { SampleBlock } from './expositionBlocks.ts';

export interface PlainExposition {
  /** Series written, by family. */
  readonly series: ReadonlyMap<string, number>;
  /** Series left out, by family. */
  readonly dropped: ReadonlyMap<string, number>;
  readonly text: string;
}

/**
 * The reference: an exposition put together in the plainest way, all at once, with nothing kept and every series compared. It
 * follows the pages of the two formats, and nothing of it comes from the program but the shapes of what goes in.
 */
export function plainExposition(
  blocks: readonly SampleBlock[],
  ownFamilies: readonly OwnFamily[],
  { format, maxSeries }: { readonly format: Format; readonly maxSeries: number },
): PlainExposition {
  const families = new Map<string, { family: Family; lines: Map<string, string> }>();
  for (const block of blocks) {
    for (const sample of block.samples) {
      const { family } = sample;
      const entry = families.get(family.name) ?? { family, lines: new Map<string, string>() };
      const all = [...Object.entries(block.labels), ...Object.entries(sample.labels ?? {})];
      const labels = all.map(([name, text]) => [name, shortened(text)] as const);
      const key = JSON.stringify(labels.toSorted(([a], [b]) => (a < b ? -1 : 1)));
      if (!Number.isFinite(sample.value) || entry.lines.has(key)) continue;
      families.set(family.name, entry);
      entry.lines.set(key, sampleLine(family.name, labels, sample.value));
    }
  }
  const dropped = new Map<string, number>();
  const remaining = new Map(families);
  const seriesOf = (name: string): number => remaining.get(name)?.lines.size ?? 0;
  const total = (): number => [...remaining.keys()].reduce((sum, name) => sum + seriesOf(name), 0);
  while (total() > maxSeries) {
    const [largest = ''] = [...remaining.keys()].toSorted((a, b) => seriesOf(b) - seriesOf(a) || (a < b ? -1 : 1));
    dropped.set(largest, seriesOf(largest));
    remaining.delete(largest);
  }
  const series = new Map([...remaining.keys()].map((name) => [name, seriesOf(name)]));
  const parts = [...remaining.values()].map(({ family, lines }) => head(family, format) + [...lines.values()].join(''));
  const others = ownFamilies.filter(({ name }) => !remaining.has(name)).map((family) => ownFamily(family, format));
  return { text: [...parts, ...others, format === 'openmetrics' ? '# EOF\n' : ''].join(''), series, dropped };
}

/** One line: the name, the labels in their order with the three escapes, the value. */
function sampleLine(name: string, labels: readonly (readonly [string, string])[], value: number): string {
  const pairs = labels.map(([label, text]) => `${label}="${escaped(text, ['\\', '"', '\n'])}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

/** At most 1,024 bytes: a longer text is cut, and ends in a mark and twelve digits of a hash of all of it. */
function shortened(text: string): string {
  const whole = escaped(text, []);
  if (Buffer.byteLength(whole) <= 1024) return whole;
  const end = `…${createHash('sha256').update(text, 'utf16le').digest('hex').slice(0, 12)}`;
  let start = Array.from(whole).slice(0, 1024);
  while (Buffer.byteLength(start.join('') + end) > 1024) start = start.slice(0, -1);
  return start.join('') + end;
}

interface Head {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly unit?: string | undefined;
}

/** What stands above the samples: text 0.0.4 has HELP and TYPE; OpenMetrics TYPE, UNIT, HELP, and a counter's bare name. */
function head({ name, help, type, unit }: Head, format: Format): string {
  if (format === 'text') return `# HELP ${name} ${escaped(help, ['\\', '\n'])}\n# TYPE ${name} ${type}\n`;
  const bare = type === 'counter' && name.endsWith('_total') ? name.slice(0, -'_total'.length) : name;
  const unitLine = unit !== undefined && bare.endsWith(`_${unit}`) ? `# UNIT ${bare} ${unit}\n` : '';
  return `# TYPE ${bare} ${type}\n${unitLine}# HELP ${bare} ${escaped(help, ['\\', '\n', '"'])}\n`;
}

/** Characters get a backslash before them, a line feed becomes `\\n`; half a pair of UTF-16 becomes the sign for that. */
function escaped(text: string, characters: readonly string[]): string {
  return Array.from(text, (character) => {
    if (/^[\ud800-\udfff]$/.test(character)) return '\ufffd';
    if (!characters.includes(character)) return character;
    return character === '\n' ? '\\n' : `\\${character}`;
  }).join('');
}

const UNITS = ['seconds', 'bytes', 'ratio'];

/** A family of the exporter itself; a bound of a bucket is a float in OpenMetrics. */
function ownFamily({ name, help, type, series }: OwnFamily, format: Format): string {
  const lines = series
    .filter(({ value }) => Number.isFinite(value))
    .map(({ suffix, labels: { le, ...labels }, value }) => {
      const bound = le !== undefined && format === 'openmetrics' && /^-?\d+$/.test(le) ? `${le}.0` : le;
      const all = bound === undefined ? Object.entries(labels) : [...Object.entries(labels), ['le', bound] as const];
      return sampleLine(`${name}${suffix}`, all, value);
    });
  const unit = UNITS.find((each) => name.replace(/_total$/, '').endsWith(`_${each}`));
  return lines.length === 0 ? '' : head({ name, help, type, unit }, format) + lines.join('');
}
