import { describe, expect, it } from 'vitest';
import { endUserResponseTime, pageViews } from '../../src/formulas/endUser.ts';

describe('endUserResponseTime', () => {
  it.each([
    ['is the average in seconds', 2110, 724, 2.11],
    ['is absent without page views', 0, 0, undefined],
    ['is absent where the page views are', 2110, undefined, undefined],
    ['is absent where the average is', undefined, 724, undefined],
  ])('%s', (_, averageResponseTime, calls, expected) => {
    expect(endUserResponseTime({ averageResponseTime, calls })).toBe(expected);
  });
});

describe('pageViews', () => {
  it.each([
    ['is the calls over the length of the timeslice', 724, 1800, 724 / 1800],
    ['is 0 without calls', 0, 1800, 0],
    ['is absent where the calls are', undefined, 1800, undefined],
    ['is absent where it is no finite number', 1, 0, undefined],
  ])('%s', (_, calls, seconds, expected) => {
    expect(pageViews(calls, seconds)).toBe(expected);
  });
});
