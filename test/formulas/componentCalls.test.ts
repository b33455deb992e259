import { describe, expect, it } from 'vitest';
import { componentCalls } from '../../src/formulas/componentCalls.ts';

describe('componentCalls', () => {
  it.each([
    ['is the calls over the length of the timeslice', 5400, 1800, 3],
    ['is 0 without calls', 0, 1800, 0],
    ['is absent where the calls are', undefined, 1800, undefined],
  ])('%s', (_, calls, seconds, expected) => {
    expect(componentCalls(calls, seconds)).toBe(expected);
  });
});
