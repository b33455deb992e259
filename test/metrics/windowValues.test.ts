import { describe, expect, it } from 'vitest';
import { secondsOf, toMetricWindow } from '../../src/metrics/windowValues.ts';

describe('secondsOf', () => {
  it.each([
    ['an exclusive end', 0, 1800, 1800],
    ['an inclusive end', 0, 1799, 1800],
    ['one minute with an inclusive end', 60, 119, 60],
    ['a timeslice that is too short', 0, 20, 60],
    ['a timeslice that ends before it begins', 120, 0, 60],
    ['a day', 0, 86_400, 86_400],
  ])('gives whole minutes of %s', (_, from, to, expected) => {
    expect(secondsOf({ from, to })).toBe(expected);
  });
});

describe('toMetricWindow', () => {
  it.each([
    [
      'the one timeslice',
      [{ from: 0, to: 1799, values: { call_count: 724 } }],
      { seconds: 1800, values: { call_count: 724 } },
    ],
    [
      'of several the last',
      [
        { from: 0, to: 60, values: { s: 1 } },
        { from: 60, to: 180, values: { s: 2 } },
      ],
      { seconds: 120, values: { s: 2 } },
    ],
    ['one without values', [{ from: 0, to: 1800, values: {} }], { seconds: 1800, values: {} }],
    ['nothing of none', [], undefined],
    ['nothing of what was not answered', undefined, undefined],
  ])('takes %s', (_, timeslices, expected) => {
    expect(toMetricWindow(timeslices)).toEqual(expected);
  });
});
