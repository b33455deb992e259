import { describe, expect, it } from 'vitest';
import { toMetricWindow, toWindowValues } from '../../src/metrics/windowTable.ts';

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

describe('toWindowValues', () => {
  it('has no entry for a metric without a timeslice: that one was not answered', () => {
    const values = toWindowValues([
      ['Datastore/MySQL/allWeb', []],
      ['Apdex', [{ from: 0, to: 60, values: {} }]],
    ]);
    expect([...values]).toEqual([['Apdex', { seconds: 60, values: {} }]]);
  });
});
