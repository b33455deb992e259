import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeTimeslices } from '../../../src/api/rest/restSeries.ts';
import { queryNames, usedValues } from '../../../src/metrics/windowFamilies.ts';

const minutes = (...values: readonly Readonly<Record<string, number>>[]) =>
  values.map((found, index) => ({ from: index * 60, to: index * 60 + 60, values: found }));

describe('mergeTimeslices', () => {
  it.each([
    ['sums counts', [{ call_count: 2 }, {}, { call_count: 3 }], { call_count: 5 }],
    ['sums errors', [{ error_count: 2 }, { error_count: 3 }], { error_count: 5 }],
    [
      'weights averages by calls',
      [
        { average_response_time: 100, call_count: 1 },
        { average_response_time: 200, call_count: 3 },
      ],
      { average_response_time: 175, call_count: 4 },
    ],
    [
      'weights the average call time by calls too',
      [
        { average_call_time: 100, call_count: 1 },
        { average_call_time: 200, call_count: 3 },
      ],
      { average_call_time: 175, call_count: 4 },
    ],
    [
      'leaves out of an average the minutes that do not have it',
      [{ call_count: 100 }, { average_response_time: 200, call_count: 3 }],
      { average_response_time: 200, call_count: 103 },
    ],
    [
      'gives 0 for an average over nothing',
      [
        { average_response_time: 0, call_count: 0 },
        { average_response_time: 0, call_count: 0 },
      ],
      { average_response_time: 0, call_count: 0 },
    ],
    [
      'weights averages by time where there are no calls to weight with',
      [{ average_response_time: 100 }, { average_response_time: 200 }],
      { average_response_time: 150 },
    ],
    [
      'averages per-minute rates over all minutes',
      [{ requests_per_minute: 30 }, {}, { requests_per_minute: 60 }],
      { requests_per_minute: 30 },
    ],
    ['averages CPU time over all minutes', [{ percent: 90 }, {}, { percent: 30 }], { percent: 40 }],
    [
      'averages memory over the minutes that have it',
      [{ total_used_mb: 100 }, {}, { total_used_mb: 300 }],
      { total_used_mb: 200 },
    ],
    [
      'averages the memory of a host alike',
      [{ used_mb_by_host: 100 }, {}, { used_mb_by_host: 300 }],
      { used_mb_by_host: 200 },
    ],
    ['takes the highest threshold', [{ threshold: 0.5 }, { threshold: 1.2 }, { threshold: 0.7 }], { threshold: 1.2 }],
    [
      'calculates the Apdex score anew',
      [
        { score: 1, s: 100, t: 0, f: 0, count: 100 },
        { score: 0.8, s: 70, t: 20, f: 10, count: 100 },
      ],
      { score: 0.9, s: 170, t: 20, f: 10, count: 200 },
    ],
    [
      'counts the zones where the Apdex count is absent',
      [{ score: 0.75, s: 1, t: 1, f: 0 }],
      { score: 0.75, s: 1, t: 1, f: 0 },
    ],
    [
      'gives a score of 0 over nothing',
      [{ score: 0, s: 0, t: 0, f: 0, count: 0 }],
      { score: 0, s: 0, t: 0, f: 0, count: 0 },
    ],
    [
      'leaves out what cannot be merged or is not read',
      [{ standard_deviation: 3, min_response_time: 1, constructor: 1 }],
      {},
    ],
    ['leaves out what is no finite number', [{ call_count: 1e308 }, { call_count: 1e308 }], {}],
  ] as const)('%s', (_, values, expected) => {
    const merged = mergeTimeslices(minutes(...values), values.length * 60);
    expect(Object.keys(merged).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, value] of Object.entries(expected)) expect(merged[name], name).toBeCloseTo(value, 12);
  });

  it('weights coarser timeslices by their length', () => {
    const slices = [
      { from: 0, to: 59, values: { percent: 10, used_mb_by_host: 10, requests_per_minute: 10 } },
      { from: 60, to: 239, values: { percent: 50, used_mb_by_host: 50, requests_per_minute: 50 } },
    ];
    expect(mergeTimeslices(slices, 240)).toEqual({ percent: 40, used_mb_by_host: 40, requests_per_minute: 40 });
  });

  it('takes the timeslices in any order', () => {
    const [first, , third] = minutes({ s: 1 }, { s: 2 }, { s: 3 });
    expect(mergeTimeslices([third!, first!], 180)).toEqual({ s: 4 });
  });

  it.each([
    [
      'weights a score by its count where the zones are absent',
      [
        { score: 1, count: 1 },
        { score: 0.5, count: 3 },
      ],
      0.625,
    ],
    ['gives no score where neither zones nor a count say what it is made of', [{ count: 2, s: 2 }], undefined],
  ] as const)('%s', (_, values, score) => {
    expect(mergeTimeslices(minutes(...values), 120)['score'] ?? undefined).toBe(score);
  });

  it('covers the window it is told', () => {
    expect(mergeTimeslices(minutes({ requests_per_minute: 30 }), 1800)).toEqual({ requests_per_minute: 1 });
  });

  it('knows every value that the calculations read', () => {
    for (const name of queryNames(['Datastore/MySQL/allWeb'])) {
      const values = Object.fromEntries(usedValues(name).map((value) => [value, 1]));
      const merged = mergeTimeslices(minutes(values), 60);
      expect(Object.keys(merged).sort()).toEqual(Object.keys(values).sort());
    }
  });

  it('does not depend on how the run is cut', () => {
    const minute = fc.record({
      call_count: fc.integer({ min: 0, max: 1000 }),
      average_response_time: fc.integer({ min: 0, max: 1000 }),
      requests_per_minute: fc.integer({ min: 0, max: 1000 }),
    });
    fc.assert(
      fc.property(fc.array(minute, { minLength: 2, maxLength: 30 }), fc.nat(), (values, at) => {
        const slices = minutes(...values);
        const cut = 1 + (at % (slices.length - 1));
        const whole = mergeTimeslices(slices, slices.length * 60);
        const halves = [slices.slice(0, cut), slices.slice(cut)].map((half) => ({
          from: half[0]!.from,
          to: half.at(-1)!.to,
          values: mergeTimeslices(half, half.length * 60),
        }));
        const again = mergeTimeslices(halves, slices.length * 60);
        for (const [name, value] of Object.entries(whole)) expect(again[name], name).toBeCloseTo(value, 6);
      }),
    );
  });
});
