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
    ['keeps the rate where the number of calls is absent', 30, undefined, 1800, 0.5],
    ['keeps a rate of 0 without calls', 0, 0, 1800, 0],
    ['keeps a rate of 0 where the number of calls is absent', 0, undefined, 1800, 0],
    ['is calculated from the calls where the rate was rounded to 0', 0, 50, 86_400, 50 / 86_400],
    ['is calculated from the calls where the rate is absent', undefined, 90, 1800, 0.05],
    ['is absent where rate and calls are absent', undefined, undefined, 1800, NaN],
  ])('%s', (_, requests_per_minute, call_count, seconds, expected) => {
    expect(callRate(inColumns('HttpDispatcher', { requests_per_minute, call_count }), seconds)).toBe(expected);
  });

  it('is absent where upstream has no such metric', () => {
    expect(callRate(undefined, 1800)).toBeNaN();
  });
});

/** A count; undefined where it cannot be read, 'absent' where upstream has no such metric. */
type Count = number | undefined | 'absent';

const windowOf = (count: Count) => (count === 'absent' ? undefined : { count });

describe('errorRatio and errorsPerSecond', () => {
  it.each([
    ['an application with errors', 'application', 5, 19_608, 4, 0.00025494595145829083, 5 / 1800],
    ['an application without errors', 'application', 0, 100, 0, 0, 0],
    ['an application without background transactions', 'application', 1, 4, 'absent', 0.25, 1 / 1800],
    ['an application without web requests', 'application', 1, 'absent', 4, 0.25, 1 / 1800],
    ['an application with requests and without Errors/all', 'application', 'absent', 3, 1, 0, 0],
    ['an application with background work only and without Errors/all', 'application', 'absent', 0, 1, 0, 0],
    ['an application without Errors/all and web requests', 'application', 'absent', 'absent', 4, 0, 0],
    ['an application without requests and Errors/all', 'application', 'absent', 0, 0, undefined, undefined],
    ['an application without any data', 'application', 'absent', 'absent', 'absent', undefined, undefined],
    ['an application with errors and no requests', 'application', 3, 0, 0, undefined, 3 / 1800],
    ['an application with fewer than 0 requests', 'application', 3, -4, 0, undefined, 3 / 1800],
    ['an unreadable error count', 'application', undefined, 3, 1, undefined, undefined],
    ['an unreadable number of web requests', 'application', 1, undefined, 4, undefined, 1 / 1800],
    ['an unreadable number of background transactions', 'application', 1, 4, undefined, undefined, 1 / 1800],
    ['unreadable requests without Errors/all', 'application', 'absent', undefined, 0, undefined, undefined],
    ['a host with errors', 'host', 2, 8, 'absent', 0.25, 2 / 1800],
    ['a host without Errors/all', 'host', 'absent', 8, 0, undefined, undefined],
  ] as const)('are correct or absent for %s', (_, scope, errors, webCalls, otherCalls, ratio, rate) => {
    const inputs = { scope, errors: windowOf(errors), web: windowOf(webCalls), nonWeb: windowOf(otherCalls) };
    if (ratio === undefined) expect(errorRatio(inputs)).toBeNaN();
    else expect(errorRatio(inputs)).toBeCloseTo(ratio, 14);
    expect(errorsPerSecond(inputs, 1800)).toBe(rate ?? NaN);
  });
});

describe('apdexScore', () => {
  it.each([
    ['is the score', 0.9, 200, [170, 20, 10], 0.9],
    ['is 0 where there are requests', 0, 3, [0, 0, 3], 0],
    ['is the score of a single request', 0.5, 1, [0, 1, 0], 0.5],
    ['is absent where the number of requests is 0', 0, 0, [0, 0, 0], undefined],
    ['is absent without requests, although upstream gives a score', 1, 0, [0, 0, 0], undefined],
    ['is absent where upstream gives no score', undefined, 200, [170, 20, 10], undefined],
    ['counts requests by the zones where the count is absent', 0, undefined, [0, 0, 3], 0],
    ['counts requests by the middle zone where the count is absent', 0, undefined, [0, 2, 0], 0],
    ['counts requests by the first zone where the count is absent', 0, undefined, [2, 0, 0], 0],
    ['is absent where the count is absent and all zones are 0', 0, undefined, [0, 0, 0], undefined],
    ['is the score where count and zones are unknown', 0.8, undefined, [undefined, undefined, undefined], 0.8],
    ['is the score where the count is absent and the first zone unknown', 0.8, undefined, [undefined, 2, 0], 0.8],
    ['is the score where the count is absent and the middle zone unknown', 0.8, undefined, [8, undefined, 0], 0.8],
    ['is the score where the count is absent and the last zone unknown', 0.8, undefined, [8, 2, undefined], 0.8],
    ['is absent where a score of 0 may come from no requests', 0, undefined, [0, undefined, 1], undefined],
  ] as const)('%s', (_, score, count, [s, t, f], expected) => {
    expect(apdexScore(inColumns('Apdex', { score, count, s, t, f }))).toBe(expected ?? NaN);
  });

  it('is absent where upstream has no such metric', () => {
    expect(apdexScore(undefined)).toBeNaN();
  });
});

describe('memory of all processes', () => {
  it('is the mean times the reports per minute, unless upstream states the total', () => {
    const samples = { count: 120, sum: 60_000 };
    expect(memoryOfAll(samples, { count: 90 }, 1800)).toBe(1_500);
    expect(memoryOfProcess(samples)).toBe(500);
    const stated = inColumns('Memory/Physical', { total_used_mb: 700, used_mb_by_host: 350 });
    expect(memoryOfAll(stated, { count: 90 }, 1800)).toBe(700);
    expect(memoryOfProcess(stated)).toBe(350);
  });

  it('is absent where the value cannot be read', () => {
    expect(memoryOfAll({ count: 1, sum: 2 }, undefined, 1800)).toBeNaN();
    expect(memoryOfProcess({})).toBeNaN();
  });
});
