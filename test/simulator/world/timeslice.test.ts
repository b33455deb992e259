import { describe, expect, it } from 'vitest';
import { apdex, EMPTY, timing, TimesliceSum, valuesOf } from '../../../src/simulator/world/timesliceValues.ts';

describe('the values of a timeslice', () => {
  const slice = { count: 99_770, total: 36_316.28, totalExclusive: 0, min: 0.0035, max: 85, sumOfSquares: 373_388 };

  it('has the eleven of HttpDispatcher, times in milliseconds and rates per minute', () => {
    const values = valuesOf('dispatcher', slice, 1);
    expect(Object.keys(values)).toHaveLength(11);
    expect(values).toMatchObject({
      call_count: 99_770,
      calls_per_minute: 99_770,
      max_response_time: 85_000,
      min_response_time: 3.5,
      average_exclusive_time: 0,
    });
    expect(values['average_call_time']).toBeCloseTo(364, 9);
    expect(values['average_value']).toBeCloseTo(0.364, 12);
    expect(values['standard_deviation']).toBeCloseTo(1000 * Math.sqrt(373_388 / 99_770 - 0.364 ** 2), 6);
  });

  it('scores Apdex as satisfied plus half the tolerating', () => {
    expect(valuesOf('apdex', apdex(170, 20, 10, 1.2), 1)).toEqual({
      s: 170,
      t: 20,
      f: 10,
      count: 200,
      score: 0.9,
      value: 0.9,
      threshold: 1.2,
      threshold_min: 1.2,
    });
  });

  it('gives processor time over wall clock', () => {
    const used = { ...EMPTY, count: 30, total: 15.7 };
    expect(valuesOf('cpu', used, 30)['percent']).toBeCloseTo(0.8722, 4);
  });

  it('gives memory per report, and in all per minute', () => {
    const sum = new TimesliceSum();
    for (const megabytes of [100, 300, 110, 290]) sum.add(timing(1, megabytes, 0, 1));
    expect(valuesOf('memory', sum, 2)).toEqual({
      used_bytes_by_host: 200 * 1024 * 1024,
      used_mb_by_host: 200,
      total_used_mb: 400,
    });
  });

  it('is zero, never a non-number, over nothing', () => {
    for (const kind of ['timing', 'apdex', 'cpu', 'memory', 'end_user'] as const) {
      for (const value of Object.values(valuesOf(kind, EMPTY, 1))) expect(value).toBe(0);
    }
  });
});
