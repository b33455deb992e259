import { describe, expect, it } from 'vitest';
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
