import { describe, expect, it } from 'vitest';
import { responseTime } from '../../src/formulas/responseTime.ts';

const NO_QUEUE = { calls: undefined, averageResponseTime: undefined };

describe('responseTime', () => {
  it.each([
    ['adds the queue per web request', [1000, 100, 90], [500, 20], 0.11],
    ['counts an absent queue as 0', [1000, 100, 90], [undefined, undefined], 0.1],
    ['counts a queue of 0 calls as 0', [1000, 100, 90], [0, 0], 0.1],
    ['counts a queue of 0 calls without an average as 0', [1000, 100, 90], [0, undefined], 0.1],
    ['counts a queue of 0 milliseconds as 0', [1000, 100, 90], [500, 0], 0.1],
    ['takes the average response time where the average call time is absent', [1000, undefined, 90], [500, 20], 0.1],
    ['takes the average response time where the average call time is 0', [1000, 0, 90], [500, 20], 0.1],
    ['is 0 where both averages are 0', [1000, 0, 0], [undefined, undefined], 0],
    ['is absent where both averages are absent', [1000, undefined, undefined], [500, 20], undefined],
    ['is absent where the call time is 0 and nothing stands in for it', [1000, 0, undefined], [500, 20], undefined],
    ['is absent without web requests', [0, 100, 90], [0, 0], undefined],
    ['is absent where the number of web requests is absent', [undefined, 100, 90], [500, 20], undefined],
    ['is absent where the queue has calls and no average', [1000, 100, 90], [500, undefined], undefined],
    ['is absent where the queue has an average and no calls', [1000, 100, 90], [undefined, 20], undefined],
  ] as const)('%s', (_, [calls, averageCallTime, averageResponseTime], [queueCalls, queueAverage], expected) => {
    const web = { calls, averageCallTime, averageResponseTime };
    const result = responseTime(web, { calls: queueCalls, averageResponseTime: queueAverage });
    if (expected === undefined) expect(result).toBeUndefined();
    else expect(result).toBeCloseTo(expected, 12);
  });

  it('is absent where the sum is no finite number', () => {
    const queue = { calls: Number.MAX_VALUE, averageResponseTime: Number.MAX_VALUE };
    expect(responseTime({ calls: 1, averageCallTime: 1, averageResponseTime: 1 }, queue)).toBeUndefined();
    const largest = { calls: 1, averageCallTime: Number.MAX_VALUE, averageResponseTime: 1 };
    expect(responseTime(largest, NO_QUEUE)).toBe(Number.MAX_VALUE / 1000);
  });
});
