import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitNames, MAX_CHARACTERS } from '../../../src/api/rest/metricData.ts';

const names = (count: number, length = 4): string[] =>
  Array.from({ length: count }, (_, index) => `M/${String(index).padStart(length, '0')}`);

describe('the batches of metric names', () => {
  it('are split before the encoded query exceeds 4,000 characters', () => {
    const long = names(20, 300);
    for (const batch of splitNames(long, 30)) expect(queryOf(batch).length).toBeLessThanOrEqual(MAX_CHARACTERS);
    expect(splitNames(long, 30)).toHaveLength(2);
    // Each of these characters is encoded as nine.
    expect(splitNames(['語'.repeat(200), '語'.repeat(200), '語'.repeat(200)], 30)).toHaveLength(2);
  });

  it('are the list itself where everything fits, so that a cache by list can be used', () => {
    const all = names(20);
    expect(splitNames(all, 30)[0]).toBe(all);
    expect(splitNames([], 30)).toEqual([]);
  });

  it('send a name that is too long for any call alone', () => {
    expect(splitNames(['a', 'b'.repeat(5_000), 'c'], 30)).toEqual([['a'], ['b'.repeat(5_000)], ['c']]);
  });

  it('hold every name once and in order, within the limit', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 500, unit: 'grapheme' })),
        fc.integer({ min: 1, max: 30 }),
        (all, most) => {
          const result = splitNames(all, most);
          expect(result.flat()).toEqual(all);
          for (const batch of result) {
            expect(batch.length).toBeLessThanOrEqual(most);
            if (batch.length > 1) expect(queryOf(batch).length).toBeLessThanOrEqual(MAX_CHARACTERS);
          }
        },
      ),
    );
  });
});

function queryOf(batch: readonly string[]): string {
  const query = new URLSearchParams(batch.map((name): [string, string] => ['names[]', name]));
  query.set('from', '2026-01-01T00:00:00Z');
  query.set('to', '2026-01-01T00:30:00Z');
  query.set('summarize', 'true');
  query.set('raw', 'true');
  // Encoded like the client does: a space takes three characters.
  return `?${query.toString().replaceAll('+', '%20')}`;
}
