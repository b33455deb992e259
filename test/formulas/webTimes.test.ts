import { describe, expect, it } from 'vitest';
import { componentCalls } from '../../src/formulas/componentCalls.ts';
import { componentTime } from '../../src/formulas/componentTime.ts';
import { queueTime } from '../../src/formulas/queueTime.ts';
import { totalTime } from '../../src/formulas/totalTime.ts';
import { webTransactionTime } from '../../src/formulas/webTransactionTime.ts';

describe('webTransactionTime', () => {
  it.each([
    ['is the average response time in seconds', 364, 99_770, 0.364],
    ['is 0 where upstream says 0', 0, 5, 0],
    ['is absent without web requests', 0, 0, undefined],
    ['is absent where the number of web requests is absent', 364, undefined, undefined],
    ['is absent where the average is', undefined, 5, undefined],
  ])('%s', (_, average, requests, expected) => {
    expect(webTransactionTime(average, requests)).toBe(expected);
  });
});

describe.each([
  ['queueTime', queueTime],
  ['componentTime', componentTime],
])('%s', (_, time) => {
  it.each([
    ['is the time per web request in seconds', 4000, 5, 1000, 0.02],
    ['may be shorter than one call', 500, 20, 1000, 0.01],
    ['is 0 without calls', 0, 0, 1000, 0],
    ['needs no average of no calls', 0, undefined, 1000, 0],
    ['is absent where the calls are', undefined, 5, 1000, undefined],
    ['is absent where the average is', 4000, undefined, 1000, undefined],
    ['is absent without web requests', 4000, 5, 0, undefined],
    ['is absent where the number of web requests is absent', 4000, 5, undefined, undefined],
    ['is absent where the product is no finite number', Number.MAX_VALUE, 5, 1, undefined],
  ])('%s', (__, calls, averageResponseTime, requests, expected) => {
    expect(time({ calls, averageResponseTime }, requests)).toBe(expected);
  });
});

describe('componentCalls', () => {
  it.each([
    ['is the calls over the length of the timeslice', 5400, 1800, 3],
    ['is 0 without calls', 0, 1800, 0],
    ['is absent where the calls are', undefined, 1800, undefined],
  ])('%s', (_, calls, seconds, expected) => {
    expect(componentCalls(calls, seconds)).toBe(expected);
  });
});

describe('totalTime', () => {
  const datastore = { calls: 4000, averageResponseTime: 5 };
  const external = { calls: 300, averageResponseTime: 100 };
  const absent = { calls: undefined, averageResponseTime: undefined };

  it.each([
    ['subtracts the component times', [1000, 120, 110], [datastore, external], 0.07],
    ['ignores absent components', [1000, 120, 110], [datastore, absent], 0.1],
    ['is the whole without components', [1000, 120, 110], [], 0.12],
    ['starts from the web average where the total time is absent', [1000, undefined, 110], [datastore], 0.09],
    ['starts from the web average where the total time is 0', [1000, 0, 110], [datastore], 0.09],
    ['is published below zero', [1000, 40, 110], [datastore, external], -0.01],
    ['is absent where both averages are', [1000, undefined, undefined], [datastore], undefined],
    ['is absent where the total time is 0 and nothing stands in for it', [1000, 0, undefined], [], undefined],
    ['is absent without web requests', [0, 120, 110], [datastore], undefined],
    ['is absent where the number of web requests is absent', [undefined, 120, 110], [datastore], undefined],
    ['is absent where a component overflows', [1, 120, 110], [{ calls: 1e308, averageResponseTime: 1e9 }], undefined],
  ] as const)('%s', (_, [webRequests, totalAverage, webAverage], components, expected) => {
    const result = totalTime({ webRequests, totalAverage, webAverage }, components);
    if (expected === undefined) expect(result).toBeUndefined();
    else expect(result).toBeCloseTo(expected, 12);
  });
});
