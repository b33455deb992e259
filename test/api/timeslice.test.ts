import { describe, expect, it } from 'vitest';
import { secondsOf } from '../../src/api/types.ts';

describe('secondsOf', () => {
  it.each([
    ['an exclusive end', 0, 1800, 1800],
    ['an inclusive end', 0, 1799, 1800],
    ['one minute with an inclusive end', 60, 119, 60],
    ['a timeslice that is too short', 0, 20, 60],
    ['a timeslice that ends before it begins', 120, 0, 60],
    ['a day', 0, 86_400, 86_400],
  ])('gives whole minutes of %s', (_, from, to, expected) => {
    expect(secondsOf({ from, to })).toBe(expected);
  });
});
