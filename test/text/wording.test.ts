import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutAtWord, withCommas } from '../../src/text/wording.ts';

test('commas separate the thousands of every whole number', () => {
  const isGrouped = (number: number) => withCommas(number) === number.toLocaleString('en-US');
  fc.assert(fc.property(fc.oneof(fc.nat(9_999_999), fc.maxSafeNat()), isGrouped));
});

test.each([
  ['short', 'short'],
  ['exactly 10', 'exactly 10'],
  ['one two three', 'one two'],
  ['averylongword', ''],
  ['a key-that-is-cut', 'a'],
])('a text is cut at ten characters without a part of a word: %j becomes %j', (text, expected) => {
  expect(cutAtWord(text, 10)).toBe(expected);
});
