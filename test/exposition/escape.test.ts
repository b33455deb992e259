import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { helpText } from '../../src/exposition/formats.ts';
import { labelValueText } from '../../src/metrics/writeSamples.ts';
import { unescaped } from '../support/expositionLine.ts';

const read = (text: string) => unescaped(text, '\\"n', 1, text);

describe('a label value', () => {
  it('has its backslash, quote and newline escaped, and nothing else', () => {
    expect(labelValueText('C:\\temp "x"\nnext\ttab é 😀')).toBe('C:\\\\temp \\"x\\"\\nnext\ttab é 😀');
  });

  it('is read back as it was, when it is well-formed and short enough', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 250 }), (value) => {
        expect(read(labelValueText(value))).toBe(value);
      }),
    );
  });

  it('has a replacement character for each half of a surrogate pair that stands alone', () => {
    expect(labelValueText('a\ud83db\ude00\ud83d\ude00')).toBe('a\ufffdb\ufffd😀');
  });

  it.each([
    ['as long as allowed', 'x'.repeat(1024), 'x'.repeat(1024)],
    ['one byte too long', 'x'.repeat(1025), `${'x'.repeat(1021)}…`],
    ['of three bytes each', '€'.repeat(342), `${'€'.repeat(340)}…`],
    ['of four bytes each', '😀'.repeat(257), `${'😀'.repeat(255)}…`],
    ['a character over the border', `${'x'.repeat(1020)}😀x`, `${'x'.repeat(1020)}…`],
    ['escapes, which do not count', '"'.repeat(1024), '\\"'.repeat(1024)],
  ])('is cut after whole characters, the mark within 1,024 bytes: %s', (_, given, written) => {
    expect(labelValueText(given)).toBe(written);
  });

  it('never takes more than 1,024 bytes before escaping', () => {
    const long = fc.array(fc.constantFrom('x', 'é', '€', '😀', '\ud83d', '\\', '\n'), {
      minLength: 200,
      maxLength: 1200,
    });
    fc.assert(
      fc.property(long, (characters) => {
        const bytes = Buffer.byteLength(read(labelValueText(characters.join(''))), 'utf8');
        expect(bytes).toBeLessThanOrEqual(1024);
      }),
    );
  });
});

describe('HELP', () => {
  it('has its quotes escaped in OpenMetrics only', () => {
    expect(helpText('a "b" \\ c\nd', 'text')).toBe('a "b" \\\\ c\\nd');
    expect(helpText('a "b" \\ c\nd', 'openmetrics')).toBe('a \\"b\\" \\\\ c\\nd');
  });
});
