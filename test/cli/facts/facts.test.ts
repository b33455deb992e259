import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { COUNTS, RATIOS, sentenceOf, shareable, WORDS, type Seen } from '../../../src/cli/facts/evidence.ts';
import { FACTS } from '../../../src/cli/facts/facts.ts';
import { EXPORTER_FAMILIES } from '../../../src/metrics/catalogueExporter.ts';
import { FAMILIES } from '../../../src/metrics/catalogue.ts';
import { readdirSync, readFileSync } from 'node:fs';

const IDS: readonly string[] = FACTS.map(({ id }) => id);

describe('the table of facts', () => {
  test('names families that exist', () => {
    const packs = readdirSync('packs').map((file) => readFileSync(`packs/${file}`, 'utf8'));
    const names = [
      ...[...FAMILIES, ...EXPORTER_FAMILIES].map(({ name }) => name),
      ...packs.flatMap((text) => [...text.matchAll(/name: (newrelic_\w+)/g)].map(([, name = '']) => name)),
    ];
    const patterns = FACTS.flatMap(({ wrong }) => wrong).filter((each) => /^newrelic_[\w*]+$/.test(each));
    expect(patterns.length).toBeGreaterThan(50);
    const unknown = patterns.filter((pattern) => {
      const expression = new RegExp(`^${pattern.replaceAll('*', '\\w*')}$`);
      return !names.some((name) => expression.test(name));
    });
    expect(unknown).toEqual([]);
  });

  test('has a row for each pack', () => {
    const packs = readdirSync('packs').map((file) => `pack_${file.replace('.yaml', '')}`);
    expect(packs.filter((id) => !IDS.includes(id))).toEqual([]);
  });
});

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
