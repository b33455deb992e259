import fc from 'fast-check';
import { test } from 'vitest';
import { withCommas } from '../../src/text/wording.ts';

test('thousands of every whole number are parted by commas', () => {
  const isGrouped = (number: number) => withCommas(number) === number.toLocaleString('en-US');
  fc.assert(fc.property(fc.oneof(fc.nat(9_999_999), fc.maxSafeNat()), isGrouped));
});
