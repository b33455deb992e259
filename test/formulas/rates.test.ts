import { describe, expect, it } from 'vitest';
import { apdexScore } from '../../src/formulas/apdex.ts';
import { cpuRatio } from '../../src/formulas/cpu.ts';
import { endUserResponseTime, pageViews } from '../../src/formulas/endUser.ts';
import { errorRatio } from '../../src/formulas/errorRatio.ts';
import { errorsPerSecond } from '../../src/formulas/errorsPerSecond.ts';
import { memoryBytes } from '../../src/formulas/memory.ts';
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

describe('errorRatio and errorsPerSecond', () => {
  it.each([
    ['an application with errors', 'application', true, 5, 19_608, 4, 0.00025494595145829083, 5 / 1800],
    ['an application without errors', 'application', true, 0, 100, 0, 0, 0],
    ['an absent count of background transactions', 'application', true, 1, 4, undefined, 0.25, 1 / 1800],
    ['an absent count of web requests', 'application', true, 1, undefined, 4, 0.25, 1 / 1800],
    ['an application whose Errors/all is absent while there are requests', 'application', false, undefined, 3, 1, 0, 0],
    [
      'an application whose Errors/all is absent, with background work only',
      'application',
      false,
      undefined,
      0,
      1,
      0,
      0,
    ],
    [
      'an application without requests and without Errors/all',
      'application',
      false,
      undefined,
      0,
      0,
      undefined,
      undefined,
    ],
    [
      'an application of which nothing is known',
      'application',
      false,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ],
    ['an application with errors and no requests', 'application', true, 3, 0, 0, undefined, 3 / 1800],
    ['an application whose Errors/all has no error count', 'application', true, undefined, 3, 1, undefined, undefined],
    ['a host with errors', 'host', true, 2, 8, undefined, 0.25, 2 / 1800],
    ['a host whose Errors/all is absent', 'host', false, undefined, 8, 0, undefined, undefined],
  ] as const)('%s', (_, scope, answered, errorCount, webCalls, otherCalls, ratio, rate) => {
    const counts = { scope, answered, errorCount, webCalls, otherCalls };
    if (ratio === undefined) expect(errorRatio(counts)).toBeUndefined();
    else expect(errorRatio(counts)).toBeCloseTo(ratio, 14);
    expect(errorsPerSecond(counts, 1800)).toBe(rate);
  });
});

describe('apdexScore', () => {
  it.each([
    ['is the score', 0.9, 200, [170, 20, 10], 0.9],
    ['is a true 0 where there are requests', 0, 3, [0, 0, 3], 0],
    ['is absent where the count is 0', 0, 0, [0, 0, 0], undefined],
    ['is absent over nothing, whatever it says', 1, 0, [0, 0, 0], undefined],
    ['is absent where the score is', undefined, 200, [170, 20, 10], undefined],
    ['takes the zones for an absent count', 0, undefined, [0, 0, 3], 0],
    ['takes the middle zone for an absent count', 0, undefined, [0, 2, 0], 0],
    ['takes the first zone for an absent count', 0, undefined, [2, 0, 0], 0],
    ['is absent where the zones of an absent count are 0', 0, undefined, [0, 0, 0], undefined],
    ['is the score where neither count nor zones are known', 0.8, undefined, [undefined, undefined, undefined], 0.8],
    ['is absent where 0 may be a score over nothing', 0, undefined, [0, undefined, 1], undefined],
  ] as const)('%s', (_, score, count, [satisfied, tolerating, frustrated], expected) => {
    expect(apdexScore({ score, count, satisfied, tolerating, frustrated })).toBe(expected);
  });
});

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

describe('memoryBytes', () => {
  it('counts a megabyte as 1024² bytes', () => {
    expect(memoryBytes(512)).toBe(536_870_912);
    expect(memoryBytes(0)).toBe(0);
  });

  it('is absent where the value is, or where it is no finite number', () => {
    expect(memoryBytes(undefined)).toBeUndefined();
    expect(memoryBytes(Number.MAX_VALUE)).toBeUndefined();
  });
});

describe('cpuRatio', () => {
  it('is the hundredth of a percentage, as in 15.7 s of CPU time over 30 minutes', () => {
    expect(cpuRatio(0.871)).toBeCloseTo(15_700 / 1000 / 1800, 4);
    expect(cpuRatio(250)).toBe(2.5);
  });

  it('is absent where the percentage is', () => {
    expect(cpuRatio(undefined)).toBeUndefined();
  });
});
