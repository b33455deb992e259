import { describe, expect, it } from 'vitest';
import { EMPTY, valuesOf } from '../../../simulator/world/timesliceValues.ts';

describe('the values of a timeslice', () => {
  const slice = { count: 99_770, total: 36_316.28, totalExclusive: 0, min: 0.0035, max: 85, sumOfSquares: 373_388 };

  it('are the eleven of HttpDispatcher, times in milliseconds and rates per minute', () => {
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

  // Apdex, processor time and memory: test/e2e/values.test.ts.
  it('are zero, never NaN, without requests', () => {
    for (const kind of ['timing', 'apdex', 'cpu', 'memory', 'end_user'] as const) {
      for (const value of Object.values(valuesOf(kind, EMPTY, 1))) expect(value).toBe(0);
    }
  });
});
