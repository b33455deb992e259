import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { globMatches, matches } from '../../src/config/match.ts';

/** A naive implementation of globs, regardless of speed. */
function naive(pattern: readonly string[], text: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return text.length === 0;
  if (first === '*') return naive(rest, text) || (text.length > 0 && naive(pattern, text.slice(1)));
  return text.length > 0 && (first === '?' || first === text[0]) && naive(rest, text.slice(1));
}

describe('a glob', () => {
  it('matches what a naive implementation matches', () => {
    // Two cases of a letter, characters of regular expressions, a line end, and a surrogate pair.
    const characters = ['a', 'A', '.', '[a]', '$\\', '\n', '😀'];
    const pattern = fc.array(fc.constantFrom(...characters, '*', '*', '?'), { maxLength: 8 });
    const text = fc.array(fc.constantFrom(...characters), { maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, (p, t) => {
        expect(globMatches(p.join(''), t.join(''))).toBe(naive(Array.from(p.join('')), Array.from(t.join(''))));
      }),
      { numRuns: 3_000 },
    );
  });

  it('with many stars is matched fast, without trying all lengths', () => {
    expect(globMatches('*a'.repeat(50) + 'b', 'a'.repeat(5_000))).toBe(false);
  });
});

describe('a match', () => {
  const tags = [
    { key: 'Team', values: ['payments', 'platform'] },
    { key: 'tier', values: [] },
  ];
  const match = (tag: string, value?: string, name?: string) => ({ tag, value, name });

  it.each([
    ['its name', { name: 'check*' }, true],
    ['a name that equals only the id', { name: '7' }, false],
    ['its id', { id: 7 }, true],
    ['a different id', { id: 8 }, false],
    ['a tag, whatever the case of its key', match('team'), true],
    ['a tag without values', match('tier'), true],
    ['a tag that the entity lacks', match('owner'), false],
    ['any value of the tag', match('team', 'pla*'), true],
    ['values with their case', match('team', 'Payments'), false],
    ['a value of a tag without values', match('tier', '*'), false],
    ['a tag and a name', match('team', 'pay*', 'check*'), true],
    ['a tag and another name', match('team', 'pay*', 'other'), false],
  ])('compares %s', (_, wanted, expected) => {
    expect(matches(wanted, { id: 7, name: 'checkout', tags })).toBe(expected);
  });

  it('by tag never succeeds on an interface without tags', () => {
    expect(matches(match('team'), { id: 7, name: 'checkout' })).toBe(false);
  });
});
