import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { observeCount, observeRatio, observeWord, WORDS } from '../../../src/tools/facts/evidence.ts';
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
    expect(patterns.length).toBeGreaterThan(30);
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
      const packRows = rows.filter((row) => row.pack === pack);
      return {
        pack,
        types: sorted(packRows.flatMap(({ types }) => types)),
        fields: sorted(packRows.flatMap(({ fields }) => fields)),
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

describe('shared evidence', () => {
  const subject = fc.constantFrom(...(Object.keys(WORDS) as (keyof typeof WORDS)[]));

  test('contains only listed words and numbers of two or three digits, whatever was seen', () => {
    fc.assert(
      fc.property(subject, fc.string(), fc.oneof(fc.double(), fc.nat()), (list, text, value) => {
        expect(['other', ...WORDS[list]]).toContain(Object.values(observeWord(list, text))[1]);
        for (const [seen, digits] of [
          [observeCount('rows', value), 2] as const,
          [observeRatio('seen by expected', value), 3] as const,
        ]) {
          const shared = Number(Object.values(seen)[1]);
          expect(Number(shared.toPrecision(digits))).toBe(shared);
        }
      }),
    );
  });

  test.each([
    [observeWord('language', 'ruby'), { of: 'language', word: 'ruby' }],
    [observeWord('language', 'Acme Secret 9'), { of: 'language', word: 'other' }],
    [observeWord('field', 'muted', ['muted']), { of: 'field', word: 'muted' }],
    [observeWord('field', 'secret', ['muted']), { of: 'field', word: 'other' }],
    [observeCount('rows', 4899), { of: 'rows', count: 4900 }],
    [observeRatio('seen by expected', 1.23456), { of: 'seen by expected', ratio: 1.23 }],
    [observeRatio('seen by expected', NaN), { of: 'seen by expected', ratio: 0 }],
  ])('contains only %o', (seen, shared) => {
    expect(seen).toEqual(shared);
  });
});
