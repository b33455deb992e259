import { describe, expect, it } from 'vitest';
import { perSecond, requestRate } from '../../src/formulas/ratesAndScores.ts';
import { known } from './support.ts';

describe('perSecond', () => {
  it.each([
    ['is the count over the length of the timeslice', 5400, 1800, 3],
    ['is 0 where nothing was counted', 0, 1800, 0],
    ['is absent where the count is', undefined, 1800, undefined],
    ['is absent where it is no finite number', 1, 0, undefined],
  ])('%s', (_, count, seconds, expected) => {
    expect(perSecond(count, seconds)).toBe(expected);
  });
});

describe('requestRate', () => {
  it.each([
    ['is the rate per minute over 60', 99_800, 99_770, 60, 99_800 / 60],
    ['keeps the rate where the calls are absent', 30, undefined, 1800, 0.5],
    ['keeps a rate of 0 without calls', 0, 0, 1800, 0],
    ['keeps a rate of 0 where the calls are absent', 0, undefined, 1800, 0],
    ['takes the calls where the rate was rounded away', 0, 50, 86_400, 50 / 86_400],
    ['takes the calls where the rate is absent', undefined, 90, 1800, 0.05],
    ['is absent where both are', undefined, undefined, 1800, undefined],
  ])('%s', (_, requests_per_minute, call_count, seconds, expected) => {
    expect(requestRate(known({ requests_per_minute, call_count }), seconds)).toBe(expected);
  });

  it('is absent where upstream has no such metric', () => {
    expect(requestRate(undefined, 1800)).toBeUndefined();
  });
});
