import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { globMatches, matches } from '../../src/config/match.ts';

/** What a glob means, said without any thought of speed. */
function naive(pattern: readonly string[], text: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return text.length === 0;
  if (first === '*') return naive(rest, text) || (text.length > 0 && naive(pattern, text.slice(1)));
  return text.length > 0 && (first === '?' || first === text[0]) && naive(rest, text.slice(1));
}

describe('a glob', () => {
  it('covers what a naive reading of it covers', () => {
    // Letters whose case counts, signs of regular expressions, a line end, and a character of two units.
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

  it('with many stars ends, where trying all their lengths would not', () => {
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
    ['a name that is not its id', { name: '7' }, false],
    ['its id', { id: 7 }, true],
    ['another id', { id: 8 }, false],
    ['a tag, whatever the case of its key', match('team'), true],
    ['a tag without values', match('tier'), true],
    ['a tag that is not there', match('owner'), false],
    ['any of its values', match('team', 'pla*'), true],
    ['a value in the same case only', match('team', 'Payments'), false],
    ['a value of a tag without values', match('tier', '*'), false],
    ['a tag and a name', match('team', 'pay*', 'check*'), true],
    ['a tag and another name', match('team', 'pay*', 'other'), false],
  ])('is by %s', (_, wanted, expected) => {
    expect(matches(wanted, { id: 7, name: 'checkout', tags })).toBe(expected);
  });

  it('by a tag is none where the interface tells no tags', () => {
    expect(matches(match('team'), { id: 7, name: 'checkout' })).toBe(false);
  });
});
