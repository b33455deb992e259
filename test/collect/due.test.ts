import { describe, expect, it } from 'vitest';
import { dueAt, effectiveInterval, nextTurn, retryAt, retryDelay, stateOf } from '../../src/collect/due.ts';

/** When a window could first be read, by the monotonic clock. */
const START = 1_000_000;
const held = (after: number) => ({ windowStart: START, readAt: START + after });
const pace = (interval: number, stretch = 1) => ({ interval, stretch });

describe('when a held value is due', () => {
  it.each([
    ['an interval of a minute: with the next window, however late it was read', 60_000, 1, 50_000, 60_000],
    ['five minutes: with the fifth window', 300_000, 1, 50_000, 300_000],
    ['90 seconds: by the clock', 90_000, 1, 10_000, 100_000],
    ['10 seconds: not before the window has moved on', 10_000, 1, 10_000, 60_000],
    ['10 seconds, read late: by the clock after the window has moved on', 10_000, 1, 55_000, 65_000],
    ['a minute slowed three times: by the clock', 60_000, 3, 10_000, 190_000],
    ['10 seconds slowed twice: twice the minute that windows are apart', 10_000, 2, 5_000, 125_000],
  ])('%s', (_, interval, stretch, readAfter, dueAfter) => {
    expect(dueAt(held(readAfter), pace(interval, stretch)) - START).toBe(dueAfter);
  });

  it('is not stretched where the budget carries the interval', () => {
    expect(effectiveInterval(10_000, 1)).toBe(10_000);
    expect(effectiveInterval(10_000, 1.5)).toBe(90_000);
    expect(effectiveInterval(300_000, 1.5)).toBe(450_000);
  });
});

describe('the state of a held value', () => {
  const state = (asOf: number, now = asOf) =>
    stateOf(held(0), pace(60_000), 300_000, { asOf: START + asOf, now: START + now });

  it('is fresh until it is due, then stale for max_age, then missing', () => {
    expect(state(59_999)).toBe('fresh');
    expect(state(60_000)).toBe('stale');
    expect(state(360_000)).toBe('stale');
    expect(state(360_001)).toBe('missing');
  });

  it('is judged fresh by the start of the scrape, and too old by its end', () => {
    expect(state(59_999, 65_000)).toBe('fresh');
    expect(state(359_000, 361_000)).toBe('missing');
  });

  it('is missing when nothing is held', () => {
    expect(stateOf(undefined, pace(60_000), 300_000, { asOf: START, now: START })).toBe('missing');
  });
});

describe('what failed', () => {
  it.each([
    [1, 60_000, 5_000],
    [2, 60_000, 10_000],
    [4, 60_000, 40_000],
    [5, 60_000, 60_000],
    [400, 60_000, 60_000],
    [1, 2_000, 2_000],
    [6, 21_600_000, 160_000],
    [9, 21_600_000, 300_000],
  ])('after %i failures with an interval of %i ms is left alone for %i ms', (failures, interval, delay) => {
    expect(retryDelay(failures, interval)).toBe(delay);
  });

  it('is tried once per window when it fails for long, so that a scrape every minute does not skip every other', () => {
    expect(retryAt(9, held(100), 60_000)).toBe(START + 60_000);
    expect(retryAt(1, held(100), 60_000)).toBe(START + 5_100);
    expect(retryAt(9, held(100), 7_000)).toBe(START + 7_100);
  });

  it('is tried again after five minutes at most, whatever its interval', () => {
    expect(retryAt(40, held(100), 21_600_000)).toBe(START + 300_000);
  });

  it('has its next turn no later than an interval after the attempt', () => {
    expect(nextTurn(held(30_000), 60_000)).toBe(START + 60_000);
    expect(nextTurn(held(-30_000), 60_000)).toBe(START + 30_000);
  });
});
