import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeMetadata } from '../../src/exposition/formats.ts';
import { writeLabelValue } from '../../src/metrics/writeSamples.ts';
import { unescaped } from '../support/expositionLine.ts';

const read = (text: string) => unescaped(text, '\\"n', 1, text);

describe('a label value', () => {
  it('is read back unchanged if it is well-formed and short enough', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 250 }), (value) => {
        expect(read(writeLabelValue(value))).toBe(value);
      }),
    );
  });

  it('has a replacement character for each lone surrogate', () => {
    expect(writeLabelValue('a\ud83db\ude00\ud83d\ude00')).toBe('a\ufffdb\ufffd😀');
  });

  it('stays different from every other value, also where they differ only beyond the cut', () => {
    const tails = ['', 'a', 'b', 'ab', 'ba', '\ud83d', '\ude00', '😀', 'a'.repeat(5_000)];
    const written = tails.map((tail) => writeLabelValue(`${'Custom/'.repeat(200)}${tail}`));
    expect(new Set(written).size).toBe(tails.length);
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'binary' }), { maxLength: 20 }), (ends) => {
        const texts = ends.map((end) => writeLabelValue(`${'x'.repeat(1020)}12345${end}`));
        expect(new Set(texts).size).toBe(ends.length);
      }),
    );
  });

  it('never exceeds 1,024 bytes before escaping', () => {
    const long = fc.array(fc.constantFrom('x', 'é', '€', '😀', '\ud83d', '\\', '\n'), {
      minLength: 200,
      maxLength: 1200,
    });
    fc.assert(
      fc.property(long, (characters) => {
        const bytes = Buffer.byteLength(read(writeLabelValue(characters.join(''))), 'utf8');
        expect(bytes).toBeLessThanOrEqual(1024);
      }),
    );
  });
});

describe('HELP', () => {
  it('has escaped quotes in OpenMetrics only', () => {
    const family = { name: 'x', help: 'a "b" \\ c\nd', type: 'gauge', unit: undefined } as const;
    expect(writeMetadata(family, 'text')).toBe('# HELP x a "b" \\\\ c\\nd\n# TYPE x gauge\n');
    expect(writeMetadata(family, 'openmetrics')).toBe('# TYPE x gauge\n# HELP x a \\"b\\" \\\\ c\\nd\n');
  });
});
