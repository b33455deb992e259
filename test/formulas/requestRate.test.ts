import { describe, expect, it } from 'vitest';
import { requestRate } from '../../src/formulas/requestRate.ts';

describe('requestRate', () => {
  it.each([
    ['is the rate per minute over 60', 99_800, 99_770, 60, 99_800 / 60],
    ['keeps the rate where the calls are absent', 30, undefined, 1800, 0.5],
    ['keeps a rate of 0 without calls', 0, 0, 1800, 0],
    ['keeps a rate of 0 where the calls are absent', 0, undefined, 1800, 0],
    ['takes the calls where the rate was rounded away', 0, 50, 86_400, 50 / 86_400],
    ['takes the calls where the rate is absent', undefined, 90, 1800, 0.05],
    ['is absent where both are', undefined, undefined, 1800, undefined],
  ])('%s', (_, requestsPerMinute, calls, seconds, expected) => {
    expect(requestRate({ requestsPerMinute, calls, seconds })).toBe(expected);
  });
});
