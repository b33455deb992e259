import fc from 'fast-check';
import { gunzipSync } from 'node:zlib';
import { writeExposition, type OwnFamily, findFamilies } from '../../src/exposition/exposition.ts';
import { SeriesMask } from '../../src/exposition/seriesMask.ts';
import type { Format } from '../../src/exposition/formats.ts';
import type { Group } from '../../src/reads/reads.ts';
import type { Family, Labels, Sample } from '../../src/metrics/family.ts';
import { packSamples, writeLabels, type Block, type PackedSamples } from '../../src/metrics/writeSamples.ts';

export function gauge(name: string, group: Group = 'applications', help = `Help of ${name}.`): Family {
  const unit = (['seconds', 'bytes', 'ratio'] as const).find((one) => name.endsWith(`_${one}`));
  return { name, help, type: 'gauge', unit, group, labelNames: [] };
}

/** The exposition of these blocks: in text, not compressed, without a limit where nothing else is said. */
export async function render(
  blocks: readonly Block[],
  {
    own: ownFamilies = [],
    mask = new SeriesMask(String, () => 0),
    format = 'text',
    gzip = false,
    maxSeries = Infinity,
    signal,
  }: {
    readonly own?: readonly OwnFamily[];
    readonly mask?: SeriesMask;
    readonly format?: Format;
    readonly gzip?: boolean;
    readonly maxSeries?: number;
    readonly signal?: AbortSignal;
  } = {},
) {
  const { families, dropped } = await findFamilies(blocks, maxSeries, mask, signal);
  const pieces = await writeExposition(families, ownFamilies, { format, gzip }, mask, signal);
  const bytes = Buffer.concat(pieces);
  return { families, dropped, pieces, text: (gzip ? gunzipSync(bytes) : bytes).toString('utf8') };
}

/** A block before its samples are written. */
export interface SampleBlock {
  readonly group: Group;
  readonly labels: Labels;
  readonly samples: readonly Sample[];
}

/** As the collector keeps it. */
export function written({ group, labels, samples }: SampleBlock): Block {
  return { ...writeLabels(labels), group, samples: packSamples(group, samples) };
}

export function samplesIn({ columns, values }: PackedSamples): Sample[] {
  return columns.map(({ family, labels }, index) => ({ family, labels, value: values[index] ?? NaN }));
}

/** A block of one group from rows of family, value and added labels. */
export function block(
  labels: Labels,
  rows: readonly (readonly [family: Family, value: number, added?: Labels])[],
  group: Group = 'applications',
): SampleBlock {
  return { group, labels, samples: rows.map(([family, value, added]) => ({ family, value, labels: added })) };
}

/** Any UTF-16, lone surrogates included, long strings, and what has to be escaped. */
const anyText = fc.oneof(
  fc.string(),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    '',
    '\\',
    '"',
    '\n',
    'a\\nb',
    '€'.repeat(400),
    `${'x'.repeat(1023)}€`,
    '😀'.repeat(300),
    '\\'.repeat(1100),
  ),
);

const value = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(NaN, Infinity, -Infinity, -0, 1e21, 5e-324));

const labels = (...names: string[]) =>
  fc.dictionary(fc.constantFrom(...names), fc.oneof(fc.constantFrom('1', '2'), anyText), {
    maxKeys: 3,
    noNullPrototype: true,
  });

/** The families by name, each with the one group that has it. */
const GROUP_BY_NAME = {
  newrelic_x_seconds: 'applications',
  newrelic_y: 'applications',
  newrelic_z_bytes: 'hosts',
  newrelic_w_ratio: 'custom_metrics',
  newrelic_v: 'custom_metrics',
} as const;

const family = fc
  .record({
    named: fc.constantFrom(...Object.entries(GROUP_BY_NAME)),
    help: fc.oneof(fc.constant('Plain help.'), anyText),
  })
  .map(({ named: [name, group], help }) => gauge(name, group, help));

/** What a block says in a group; in that of custom metrics a series may come several times over. */
function samplesOf(group: Group, families: readonly Family[]): fc.Arbitrary<readonly Sample[]> {
  const candidates = families.filter((each) => each.group === group);
  if (candidates.length === 0) return fc.constant([]);
  const sample = fc.record({
    family: fc.constantFrom(...candidates),
    labels: fc.option(labels('a', 'b', 'c', 'constructor'), { nil: undefined }),
    value,
  });
  if (group === 'custom_metrics') return fc.array(sample, { maxLength: 8 });
  const seriesOf = (one: Sample): string => {
    return `${one.family.name} ${Object.entries(one.labels ?? {})
      .map((pair) => pair.join('='))
      .sort()
      .join()}`;
  };
  return fc.uniqueArray(sample, { maxLength: 6, selector: seriesOf });
}

/**
 * Blocks as collectors make them and worse: families under several objects, values that are not finite, samples that stay while the labels change. As in the inventory, every block has an id among the
 * labels of its entity that no other has.
 */
export const anyBlocks: fc.Arbitrary<SampleBlock[]> = fc
  .record({
    families: fc.array(family, { minLength: 1, maxLength: 4 }),
    entities: fc.array(labels('d', 'e', 'f', 'valueOf'), { minLength: 1, maxLength: 4 }),
  })
  .chain(({ families, entities }) => {
    const one = fc.constantFrom<Group>('applications', 'hosts', 'custom_metrics').chain((group) =>
      fc.record({
        group: fc.constant(group),
        labels: fc.constantFrom(...entities),
        samples: samplesOf(group, families),
      }),
    );
    return fc.array(one, { maxLength: 8 });
  })
  .map((blocks) => blocks.map((one, id) => ({ ...one, labels: { ...one.labels, app_id: String(id) } })));
