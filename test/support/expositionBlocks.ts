import fc from 'fast-check';
import type { Block, Family, Labels } from '../../src/metrics/sample.ts';
import { GROUPS } from '../../src/metrics/groups.ts';
import type { Group } from '../../src/metrics/groups.ts';

export function gauge(name: string, group: Group = 'applications', help = `Help of ${name}.`): Family {
  const unit = (['seconds', 'bytes', 'ratio'] as const).find((one) => name.endsWith(`_${one}`));
  return { name, help, type: 'gauge', unit, group, labelNames: [] };
}

/** A block of one group from rows of family, value and added labels. */
export function block(
  labels: Labels,
  rows: readonly (readonly [family: Family, value: number, added?: Labels])[],
  group: Group = 'applications',
): Block {
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

const labels = fc.dictionary(
  fc.constantFrom('a', 'b', 'c', 'constructor'),
  fc.oneof(fc.constantFrom('1', '2'), anyText),
  {
    maxKeys: 3,
    noNullPrototype: true,
  },
);

const family = fc
  .record({
    name: fc.constantFrom('newrelic_x_seconds', 'newrelic_y', 'newrelic_z_bytes', 'newrelic_w_ratio'),
    group: fc.constantFrom(...GROUPS.slice(0, 3)),
    help: fc.oneof(fc.constant('Plain help.'), anyText),
  })
  .map(({ name, group, help }) => gauge(name, group, help));

/**
 * Blocks as no collector would make them: series several times over, families in several groups and under several objects,
 * labels that clash, values that are not finite, the same block or labels object twice.
 */
export const anyBlocks: fc.Arbitrary<Block[]> = fc
  .record({
    families: fc.array(family, { minLength: 1, maxLength: 4 }),
    entities: fc.array(labels, { minLength: 1, maxLength: 4 }),
  })
  .chain(({ families, entities }) => {
    const sample = fc.record({
      family: fc.constantFrom(...families),
      labels: fc.option(labels, { nil: undefined }),
      value,
    });
    const one = fc.record({
      group: fc.constantFrom(...GROUPS.slice(0, 3)),
      labels: fc.constantFrom(...entities),
      samples: fc.array(sample, { maxLength: 6 }),
    });
    return fc.array(one, { maxLength: 6 }).chain((blocks) => {
      return blocks.length === 0 ? fc.constant([]) : fc.array(fc.constantFrom(...blocks), { maxLength: 8 });
    });
  });
