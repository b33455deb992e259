import { describe, expect, it } from 'vitest';
import { queueTime } from '../../src/formulas/queueTime.ts';

describe('queueTime', () => {
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
  ])('%s', (_, calls, averageResponseTime, requests, expected) => {
    expect(queueTime({ calls, averageResponseTime }, requests)).toBe(expected);
  });
});
