import { describe, expect, it } from 'vitest';
import { retryDelay } from '../../../src/api/http/client.ts';

describe('retryDelay', () => {
  it.each([
    [0, 500],
    [1, 1_000],
    [2, 2_000],
    [4, 8_000],
    [10, 8_000],
    [2_000, 8_000],
  ])('after failure %i gives a delay from 0 to below %i ms', (attempt, ceiling) => {
    expect(retryDelay(attempt, () => 0)).toBe(0);
    expect(retryDelay(attempt, () => 0.5)).toBe(ceiling / 2);
    expect(retryDelay(attempt, () => 0.9999)).toBeLessThan(ceiling);
  });
});
