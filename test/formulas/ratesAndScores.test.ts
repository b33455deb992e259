import { describe, expect, it } from 'vitest';
import {
  perSecond,
  requestRate,
  errorRatio,
  errorsPerSecond,
  apdexScore,
  cpuRatio,
  memoryBytes,
} from '../../src/formulas/ratesAndScores.ts';
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

/** A count, undefined where it was answered and cannot be read, or that upstream has no such metric. */
type Count = number | undefined | 'absent';

const windowOf = <Value extends string>(value: Value, count: Count) =>
  count === 'absent' ? undefined : known({ [value]: count } as Partial<Record<Value, number | undefined>>);

describe('errorRatio and errorsPerSecond', () => {
  it.each([
    ['of an application with errors', 'application', 5, 19_608, 4, 0.00025494595145829083, 5 / 1800],
    ['of an application without errors', 'application', 0, 100, 0, 0, 0],
    ['without background transactions', 'application', 1, 4, 'absent', 0.25, 1 / 1800],
    ['without web requests', 'application', 1, 'absent', 4, 0.25, 1 / 1800],
    ['without Errors/all while there are requests', 'application', 'absent', 3, 1, 0, 0],
    ['without Errors/all, with background work only', 'application', 'absent', 0, 1, 0, 0],
    ['without Errors/all and without web requests', 'application', 'absent', 'absent', 4, 0, 0],
    ['without requests and without Errors/all', 'application', 'absent', 0, 0, undefined, undefined],
    ['of which nothing is known', 'application', 'absent', 'absent', 'absent', undefined, undefined],
    ['with errors and no requests', 'application', 3, 0, 0, undefined, 3 / 1800],
    ['with fewer than no requests', 'application', 3, -4, 0, undefined, 3 / 1800],
    ['whose error count cannot be read', 'application', undefined, 3, 1, undefined, undefined],
    ['whose web requests cannot be read', 'application', 1, undefined, 4, undefined, 1 / 1800],
    ['whose background transactions cannot be read', 'application', 1, 4, undefined, undefined, 1 / 1800],
    ['whose requests cannot be read, without Errors/all', 'application', 'absent', undefined, 0, undefined, undefined],
    ['of a host with errors', 'host', 2, 8, 'absent', 0.25, 2 / 1800],
    ['of a host without Errors/all', 'host', 'absent', 8, 0, undefined, undefined],
  ] as const)('%s', (_, scope, errors, webCalls, otherCalls, ratio, rate) => {
    const inputs = {
      scope,
      errors: windowOf('error_count', errors),
      web: windowOf('call_count', webCalls),
      nonWeb: windowOf('call_count', otherCalls),
    };
    if (ratio === undefined) expect(errorRatio(inputs)).toBeUndefined();
    else expect(errorRatio(inputs)).toBeCloseTo(ratio, 14);
    expect(errorsPerSecond(inputs, 1800)).toBe(rate);
  });
});

describe('apdexScore', () => {
  it.each([
    ['is the score', 0.9, 200, [170, 20, 10], 0.9],
    ['is a true 0 where there are requests', 0, 3, [0, 0, 3], 0],
    ['is the score of a single request', 0.5, 1, [0, 1, 0], 0.5],
    ['is absent where the count is 0', 0, 0, [0, 0, 0], undefined],
    ['is absent over nothing, whatever it says', 1, 0, [0, 0, 0], undefined],
    ['is absent where the score is', undefined, 200, [170, 20, 10], undefined],
    ['takes the zones for an absent count', 0, undefined, [0, 0, 3], 0],
    ['takes the middle zone for an absent count', 0, undefined, [0, 2, 0], 0],
    ['takes the first zone for an absent count', 0, undefined, [2, 0, 0], 0],
    ['is absent where the zones of an absent count are 0', 0, undefined, [0, 0, 0], undefined],
    ['is the score where neither count nor zones are known', 0.8, undefined, [undefined, undefined, undefined], 0.8],
    ['is the score where the first zone of an absent count is unknown', 0.8, undefined, [undefined, 2, 0], 0.8],
    ['is the score where the middle zone of an absent count is unknown', 0.8, undefined, [8, undefined, 0], 0.8],
    ['is the score where the last zone of an absent count is unknown', 0.8, undefined, [8, 2, undefined], 0.8],
    ['is absent where 0 may be a score over nothing', 0, undefined, [0, undefined, 1], undefined],
  ] as const)('%s', (_, score, count, [s, t, f], expected) => {
    expect(apdexScore(known({ score, count, s, t, f }))).toBe(expected);
  });

  it('is absent where upstream has no such metric', () => {
    expect(apdexScore(undefined)).toBeUndefined();
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
