import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { COUNTS, RATIOS, sentenceOf, shareable, WORDS, type Seen } from '../../../src/tools/facts/evidence.ts';
import { FACTS } from '../../../src/tools/facts/facts.ts';
import { EXPORTER_FAMILIES } from '../../../src/metrics/catalogueExporter.ts';
import { FAMILIES } from '../../../src/metrics/catalogue.ts';
import { readdirSync, readFileSync } from 'node:fs';

describe('the table of facts', () => {
  test('names families that exist', () => {
    const packs = readdirSync('packs').map((file) => readFileSync(`packs/${file}`, 'utf8'));
    const names = [
      ...[...FAMILIES, ...EXPORTER_FAMILIES].map(({ name }) => name),
      ...packs.flatMap((text) => [...text.matchAll(/name: (newrelic_\w+)/g)].map(([, name = '']) => name)),
    ];
    const patterns = FACTS.flatMap(({ wrong }) => wrong).filter((each) => /^newrelic_[\w*]+$/.test(each));
    expect(patterns.length).toBeGreaterThan(40);
    const unknown = patterns.filter((pattern) => {
      const expression = new RegExp(`^${pattern.replaceAll('*', '\\w*')}$`);
      return !names.some((name) => expression.test(name));
    });
    expect(unknown).toEqual([]);
  });

  test('has rows for each pack, with the events and the fields that its queries read', () => {
    const packs = readdirSync('packs').map((file) => file.replace('.yaml', ''));
    const rows = FACTS.filter(({ id }) => id.startsWith('pack_')).map(({ id, asked: nrql, fields = [] }) => {
      const [, from = ''] = /\sFROM (\w+(?:, \w+)*)/.exec(nrql) ?? [];
      const [, counted = '*'] = /^SELECT count\((\S+)\) AS n/.exec(nrql) ?? [];
      const pack = packs.find((name) => id === `pack_${name}` || id.startsWith(`pack_${name}_`)) ?? id;
      return { pack, types: from.split(', '), fields: [...fields, ...(counted === '*' ? [] : [counted])] };
    });
    const read = packs.map((pack) => {
      const { queries } = parse(readFileSync(`packs/${pack}.yaml`, 'utf8')) as { queries: { nrql: string }[] };
      // Queries of timeslices read what other rows are about.
      const inner = queries.filter(({ nrql }) => !nrql.includes('timeslice')).map(({ nrql }) => innermost(nrql));
      return {
        pack,
        types: sorted(inner.flatMap(({ from }) => from.split(', '))),
        fields: sorted(inner.flatMap(({ fields }) => fields)),
      };
    });
    const told = packs.map((pack) => {
      const own = rows.filter((row) => row.pack === pack);
      return {
        pack,
        types: sorted(own.flatMap(({ types }) => types)),
        fields: sorted(own.flatMap(({ fields }) => fields)),
      };
    });
    expect(told).toEqual(read);
    expect(rows.every(({ pack }) => packs.includes(pack))).toBe(true);
  });
});

const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort();

/** Words of NRQL, and the fields that some events of a pack need not have. */
const NO_FIELD = /^(?:select|from|where|facet|limit|max|as|and|or|is|not|null|in|like|minute|category|entity\.type)$/i;

/** The events that a query's innermost query reads, and the fields that it names. */
function innermost(nrql: string) {
  const text = (/\(\s*(SELECT.* LIMIT MAX)\s*\)/s.exec(nrql)?.[1] ?? nrql).replaceAll(/'[^']*'|\sAS \w+/g, '');
  const from = /\sFROM (\w+(?:, \w+)*)/.exec(text)?.[1] ?? '';
  const words = [...text.replace(from, '').matchAll(/(?<![\w.])[a-z][\w.]*(?![\w.(])/gi)].map(([word]) => word);
  return { from, fields: words.filter((word) => !NO_FIELD.test(word)) };
}

describe('evidence that is shared', () => {
  const text = fc.string({ minLength: 1 });
  const seen: fc.Arbitrary<Seen> = fc.oneof(
    fc.record({ of: fc.constantFrom(...COUNTS), count: fc.nat() }),
    fc.record({ of: fc.constantFrom(...RATIOS), ratio: fc.double() }),
    fc.record({ of: fc.constantFrom(...(Object.keys(WORDS) as (keyof typeof WORDS)[])), word: text }),
  );

  test('holds words of the lists and numbers of two or three digits, whatever was seen', () => {
    const words: readonly string[] = [
      'other',
      ...COUNTS,
      ...RATIOS,
      ...Object.keys(WORDS),
      ...Object.values(WORDS).flat(),
    ];
    fc.assert(
      fc.property(seen, (each) => {
        for (const value of Object.values(shareable(each))) {
          if (typeof value === 'string') expect(words).toContain(value);
          else expect(Number(value.toPrecision('count' in each ? 2 : 3))).toBe(value);
        }
      }),
    );
  });

  test.each([
    [{ of: 'language', word: 'ruby' }, 'language ruby'],
    [{ of: 'language', word: 'Acme Secret 9' }, 'language other'],
    [{ of: 'rows', count: 4899 }, 'rows 4900'],
    [{ of: 'seen by expected', ratio: 1.23456 }, 'seen by expected 1.23'],
  ] as readonly (readonly [Seen, string])[])('%o is told as "%s"', (each, sentence) => {
    expect(sentenceOf([each])).toBe(sentence);
  });
});
