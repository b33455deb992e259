import { describe, expect, it } from 'vitest';
import {
  apdexScore,
  callRate,
  errorRatio,
  errorsPerSecond,
  memoryOfAll,
  memoryOfProcess,
} from '../../src/formulas/derivedValues.ts';
import { inColumns } from '../support/restColumns.ts';

describe('callRate', () => {
  it.each([
    ['is the rate per minute over 60', 99_800, 99_770, 60, 99_800 / 60],
    ['keeps the rate where the calls are absent', 30, undefined, 1800, 0.5],
    ['keeps a rate of 0 without calls', 0, 0, 1800, 0],
    ['keeps a rate of 0 where the calls are absent', 0, undefined, 1800, 0],
    ['takes the calls where the rate was rounded away', 0, 50, 86_400, 50 / 86_400],
    ['takes the calls where the rate is absent', undefined, 90, 1800, 0.05],
    ['is absent where both are', undefined, undefined, 1800, NaN],
  ])('%s', (_, requests_per_minute, call_count, seconds, expected) => {
    expect(callRate(inColumns('HttpDispatcher', { requests_per_minute, call_count }), seconds)).toBe(expected);
  });

  it('is absent where upstream has no such metric', () => {
    expect(callRate(undefined, 1800)).toBeNaN();
  });
});

/** A count, undefined where it was answered and cannot be read, or that upstream has no such metric. */
type Count = number | undefined | 'absent';

const windowOf = (count: Count) => (count === 'absent' ? undefined : { count });

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
    const inputs = { scope, errors: windowOf(errors), web: windowOf(webCalls), nonWeb: windowOf(otherCalls) };
    if (ratio === undefined) expect(errorRatio(inputs)).toBeNaN();
    else expect(errorRatio(inputs)).toBeCloseTo(ratio, 14);
    expect(errorsPerSecond(inputs, 1800)).toBe(rate ?? NaN);
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
    expect(apdexScore(inColumns('Apdex', { score, count, s, t, f }))).toBe(expected ?? NaN);
  });

  it('is absent where upstream has no such metric', () => {
    expect(apdexScore(undefined)).toBeNaN();
  });
});

describe('memory', () => {
  it('of all processes is the mean of one times the reports per minute, unless it is stated', () => {
    const samples = { count: 120, sum: 60_000 };
    expect(memoryOfAll(samples, { count: 90 }, 1800)).toBe(1_500);
    expect(memoryOfProcess(samples)).toBe(500);
    const stated = inColumns('Memory/Physical', { total_used_mb: 700, used_mb_by_host: 350 });
    expect(memoryOfAll(stated, { count: 90 }, 1800)).toBe(700);
    expect(memoryOfProcess(stated)).toBe(350);
  });

  it('is absent where it cannot be read', () => {
    expect(memoryOfAll({ count: 1, sum: 2 }, undefined, 1800)).toBeNaN();
    expect(memoryOfProcess({})).toBeNaN();
  });
});
