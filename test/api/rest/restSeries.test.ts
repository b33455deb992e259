import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planChunks } from '../../../src/tools/backfill/planBackfill.ts';
import { LIMITS, mergeTimeslices, summarizeSeries, toSeries } from '../../../src/api/rest/restSeries.ts';
import * as derived from '../../../src/formulas/derivedValues.ts';
import type { Columns } from '../../../src/formulas/metricInputs.ts';
import type { Timeslice } from '../../../src/api/types.ts';
import { inColumns } from '../../support/restColumns.ts';

type Values = Readonly<Record<string, number>>;

/** The minutes of a metric with these values of the REST interface, merged. */
const merged = (metric: string, ...values: readonly Values[]): Columns =>
  mergeTimeslices(
    values.map((found, index) => ({ from: index * 60, to: index * 60 + 60, columns: inColumns(metric, found, 60) })),
  );
const WEB = 'HttpDispatcher';

describe('mergeTimeslices', () => {
  it.each<[string, number, Columns, (columns: Columns) => number]>([
    ['sums counts', 5, merged(WEB, { call_count: 2 }, { call_count: 3 }), ({ count = NaN }) => count],
    ['sums errors', 5, merged('Errors/all', { error_count: 2 }, { error_count: 3 }), ({ count = NaN }) => count],
    [
      'weights averages by calls',
      0.175,
      merged(WEB, { average_response_time: 100, call_count: 1 }, { average_response_time: 200, call_count: 3 }),
      derived.averageTime,
    ],
    [
      'weights the average call time by calls too',
      0.175,
      merged(WEB, { average_call_time: 100, call_count: 1 }, { average_call_time: 200, call_count: 3 }),
      (web) => derived.responseTime(web, undefined),
    ],
    [
      'needs no average of a minute without calls',
      0.2,
      merged(WEB, { call_count: 0 }, { average_response_time: 200, call_count: 3 }),
      derived.averageTime,
    ],
    [
      'gives no average where a minute with calls has none',
      NaN,
      merged(WEB, { call_count: 100 }, { average_response_time: 200, call_count: 3 }),
      derived.averageTime,
    ],
    [
      'weights averages by time where there are no calls to weight with',
      0.15,
      merged('WebTransactionTotalTime', { average_response_time: 100 }, { average_response_time: 200 }),
      ({ mean }) => mean ?? NaN,
    ],
    [
      'takes rates from the calls, which are not rounded',
      0.75,
      merged(WEB, { requests_per_minute: 30, call_count: 30 }, { requests_per_minute: 60, call_count: 60 }),
      (web) => derived.callRate(web, 120),
    ],
    ['sums CPU time', 72, merged('CPU/User Time', { percent: 90 }, { percent: 30 }), ({ sum = NaN }) => sum],
    [
      'averages memory over the minutes that have it',
      200,
      merged('Memory/Physical', { total_used_mb: 100 }, { used_mb_by_host: 1 }, { total_used_mb: 300 }),
      (memory) => derived.memoryOfAll(memory, undefined, 180),
    ],
    [
      'averages the memory of a host alike',
      200,
      merged('Memory/Physical', { used_mb_by_host: 100 }, { total_used_mb: 1 }, { used_mb_by_host: 300 }),
      derived.memoryOfProcess,
    ],
    [
      'takes the highest threshold',
      1.2,
      merged('Apdex', { threshold: 0.5 }, { threshold: 1.2 }, { threshold: 0.7 }),
      ({ max = NaN }) => max,
    ],
    [
      'calculates the Apdex score anew',
      0.9,
      merged('Apdex', { score: 1, s: 100, t: 0, f: 0 }, { score: 0.8, s: 70, t: 20, f: 10 }),
      derived.apdexScore,
    ],
    ['gives no score without requests', NaN, merged('Apdex', { score: 0, s: 0, t: 0, f: 0 }), derived.apdexScore],
    [
      'leaves out values that are not finite',
      NaN,
      merged(WEB, { call_count: 1e308 }, { call_count: 1e308 }),
      ({ count = NaN }) => count,
    ],
  ])('%s', (_, expected, columns, read) => {
    if (Number.isNaN(expected)) expect(read(columns)).toBeNaN();
    else expect(read(columns)).toBeCloseTo(expected, 12);
  });

  it('weights coarser timeslices by their length', () => {
    const slices = [
      { from: 0, to: 59, columns: inColumns('Memory/Physical', { used_mb_by_host: 10 }) },
      { from: 60, to: 239, columns: inColumns('Memory/Physical', { used_mb_by_host: 50 }) },
    ];
    expect(derived.memoryOfProcess(mergeTimeslices(slices))).toBe(40);
  });

  it('gives the same result for any division of the run', () => {
    const minute = fc.record({
      call_count: fc.integer({ min: 0, max: 1000 }),
      average_response_time: fc.integer({ min: 0, max: 1000 }),
      average_call_time: fc.integer({ min: 1, max: 1000 }),
    });
    fc.assert(
      fc.property(fc.array(minute, { minLength: 2, maxLength: 30 }), fc.nat(), (values, position) => {
        const slices = values.map((found, index) => ({
          ...{ from: index * 60, to: index * 60 + 60 },
          columns: inColumns(WEB, found, 60),
        }));
        const cut = 1 + (position % (slices.length - 1));
        const halves = [slices.slice(0, cut), slices.slice(cut)].map((half) => ({
          from: half[0]!.from,
          to: half.at(-1)!.to,
          columns: mergeTimeslices(half),
        }));
        const [whole, again] = [mergeTimeslices(slices), mergeTimeslices(halves)];
        for (const derive of [derived.averageTime, (web: Columns) => derived.responseTime(web, undefined)]) {
          // A run without a call has no time, whole or divided.
          if (whole.count === 0) expect([derive(again), derive(whole)]).toEqual([NaN, NaN]);
          else expect(derive(again)).toBeCloseTo(derive(whole), 9);
        }
        expect(again.count).toBe(whole.count);
      }),
    );
  });
});

const CHUNK = { from: 600, to: 780, readFrom: 600, granule: 60 };
const slice = (from: number, columns: Columns, seconds = 60): Timeslice => ({ from, to: from + seconds, columns });

describe('a series', () => {
  it('keeps the values from which a summary is made', () => {
    const data = new Map([['HttpDispatcher', [slice(600, { count: 1 })]]]);
    expect(toSeries(data, ['HttpDispatcher', 'Apdex'], CHUNK)).toEqual({
      granule: 60,
      metrics: [['HttpDispatcher', [slice(600, { count: 1 })]]],
    });
  });

  it.each([
    ['Errors/all', { error_count: 0, errors_per_minute: 0 }],
    ['Apdex', { s: 0, t: 0, f: 0, count: 0, score: 0, threshold: 0 }],
    ['Memory/Physical', { total_used_mb: 0, used_mb_by_host: 0 }],
  ])('takes zeros of %s as filling, which a summary would not have', (name, zeros) => {
    expect(toSeries(new Map([[name, [slice(600, inColumns(name, zeros))]]]), [name], CHUNK).metrics).toEqual([]);
  });

  it('keeps a timeslice with a value other than 0', () => {
    const data = new Map([['Apdex', [slice(600, { count: 3, sum: 0, exclusive: 0, max: 0.5, score: 1 })]]]);
    expect(toSeries(data, ['Apdex'], CHUNK).metrics).toEqual([...data]);
  });

  it('keeps the zeros of a metric that may be zero', () => {
    const data = new Map([['Memcache/allWeb', [slice(600, { count: 0 })]]]);
    expect(toSeries(data, ['Memcache/allWeb'], CHUNK).metrics).toEqual([...data]);
  });

  it('drops timeslices before and after the chunk, which belong to the neighbouring chunks', () => {
    const hours = [0, 3600, 7200].map((from) => slice(from, { count: 1 }, 3600));
    const chunk = { from: 3600, to: 7200, readFrom: 0, granule: 3600 };
    expect(toSeries(new Map([['HttpDispatcher', hours]]), ['HttpDispatcher'], chunk).metrics).toEqual([
      ['HttpDispatcher', [hours[1]]],
    ]);
  });

  it('marks each minute as answered but unknown where the whole range is', () => {
    const { granule, metrics } = toSeries(new Map([['Errors/all', [slice(600, {}, 180)]]]), ['Errors/all'], CHUNK);
    expect([granule, metrics]).toEqual([60, [['Errors/all', [600, 660, 720].map((from) => slice(from, {}))]]]);
  });

  it('has no minute outside its range, whatever time the response names', () => {
    const data = new Map([['Errors/all', [slice(0, {}, 1e12)]]]);
    expect(toSeries(data, ['Errors/all'], CHUNK).metrics).toEqual([
      ['Errors/all', [600, 660, 720].map((from) => slice(from, {}))],
    ]);
  });

  it('names the answered granularity, also where timeslices end inclusively', () => {
    const two = { from: 600, to: 719, columns: { count: 1 } };
    expect(toSeries(new Map([['HttpDispatcher', [two]]]), ['HttpDispatcher'], CHUNK).granule).toBe(120);
  });
});

describe('the summary of a window', () => {
  const range = { from: 600, to: 780 };

  it('joins the timeslices in the window', () => {
    const web = [600, 660, 720].map((from) => slice(from, { count: 2 }));
    expect(summarizeSeries(new Map([['HttpDispatcher', web]]), range, 60).metrics.get('HttpDispatcher')?.count).toBe(6);
  });

  it('is unknown where one of its timeslices is unknown', () => {
    const web = [slice(600, { count: 2 }), slice(660, {})];
    const other = [slice(600, { count: 1 })];
    const { metrics } = summarizeSeries(
      new Map([
        ['HttpDispatcher', web],
        ['Errors/all', other],
      ]),
      range,
      60,
    );
    expect(metrics.get('HttpDispatcher')).toEqual({});
  });

  it('is empty where it has only filling, because the application did not report', () => {
    const web = [600, 660].map((from) => slice(from, { count: 0, sum: 0 }));
    expect(summarizeSeries(new Map([['HttpDispatcher', web]]), range, 60).metrics.size).toBe(0);
  });

  it('is the timeslice itself where that is as long as the window', () => {
    const web = [slice(600, { count: 2, rate: 7 }, 180)];
    expect(summarizeSeries(new Map([['HttpDispatcher', web]]), range, 180).metrics.get('HttpDispatcher')).toEqual({
      count: 2,
      rate: 7,
    });
  });
});

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
const NOW = 1_791_979_230;
const minute = Math.floor(NOW / MINUTE) * MINUTE;

const ranges = fc
  .record({
    ago: fc.integer({ min: 3, max: 100 * 24 * 60 }),
    length: fc.integer({ min: 1, max: 30 * 24 * 60 }),
    window: fc.integer({ min: 1, max: 2_880 }),
  })
  .map(({ ago, length, window }) => {
    const from = minute - ago * MINUTE;
    return { range: { from, to: Math.min(minute - 2 * MINUTE, from + length * MINUTE) }, window: window * MINUTE };
  });

describe('planChunks, over REST,', () => {
  it('reads the last hours by the minute, from one window before the range', () => {
    const range = { from: minute - 4 * HOUR, to: minute - 2 * MINUTE };
    expect(planChunks(range, 1800, NOW, LIMITS)).toEqual([
      { from: range.from - 1800, readFrom: range.from - 1800, to: range.from - 1800 + 3 * HOUR, granule: 60 },
      { from: range.from - 1800 + 3 * HOUR, readFrom: range.from - 1800 + 3 * HOUR, to: range.to, granule: 60 },
    ]);
  });

  it('reads by the minute from the first whole minute within 8 days less an hour', () => {
    const oldest = Math.ceil((NOW - 8 * DAY + HOUR) / MINUTE) * MINUTE;
    const granules = (from: number) =>
      planChunks({ from, to: from + DAY }, MINUTE, NOW, LIMITS).map(({ granule }) => granule);
    expect(new Set(granules(oldest + MINUTE))).toEqual(new Set([MINUTE]));
    expect(new Set(granules(oldest))).toEqual(new Set([HOUR, MINUTE]));
  });

  it('reads an old day by the hour, in a range long enough for hourly answers', () => {
    const from = Math.floor((minute - 20 * DAY) / HOUR) * HOUR;
    const [chunk, ...others] = planChunks({ from, to: from + DAY }, 1800, NOW, LIMITS);
    expect(others).toEqual([]);
    expect(chunk).toEqual({ from, to: from + DAY, readFrom: from + DAY - 97 * HOUR, granule: HOUR });
  });

  it('reads the hours before the range that a window of several hours needs', () => {
    const from = Math.floor((minute - 20 * DAY) / HOUR) * HOUR;
    expect(planChunks({ from, to: from + DAY }, 6 * HOUR, NOW, LIMITS)[0]!.from).toBe(from - 5 * HOUR);
  });

  it('reads nothing where no whole hour ends in an old range', () => {
    const from = Math.floor((minute - 20 * DAY) / HOUR) * HOUR + 600;
    expect(planChunks({ from, to: from + 1200 }, 1800, NOW, LIMITS)).toEqual([]);
  });

  it('requests only ranges that are answered with the expected granularity', () => {
    fc.assert(
      fc.property(ranges, ({ range, window }) => {
        for (const { from, readFrom, to, granule } of planChunks(range, window, NOW, LIMITS)) {
          expect(readFrom <= from && from < to).toBe(true);
          expect([readFrom % granule, to % granule]).toEqual([0, 0]);
          if (granule === MINUTE) {
            expect(to - readFrom).toBeLessThanOrEqual(3 * HOUR);
            expect(NOW - readFrom).toBeLessThanOrEqual(8 * DAY - HOUR);
          } else {
            expect(granule).toBe(HOUR);
            expect(to - readFrom).toBeGreaterThan(4 * DAY);
            expect(to - readFrom).toBeLessThanOrEqual(7 * DAY);
          }
        }
      }),
    );
  });

  it('leaves no gap: every sample has its whole window in one resolution', () => {
    fc.assert(
      fc.property(ranges, ({ range, window }) => {
        const chunks = planChunks(range, window, NOW, LIMITS);
        const minutes = chunks.filter(({ granule }) => granule === MINUTE);
        const hours = chunks.filter(({ granule }) => granule === HOUR);
        for (const run of [minutes, hours]) {
          for (const [index, chunk] of run.slice(1).entries()) expect(chunk.from).toBe(run[index]!.to);
        }
        const firstMinute = minutes[0];
        const lastHour = hours.at(-1);
        if (firstMinute !== undefined) expect(minutes.at(-1)!.to).toBe(range.to);
        if (firstMinute !== undefined && lastHour !== undefined) expect(firstMinute.from).toBe(lastHour.to - window);
        if (firstMinute !== undefined && lastHour === undefined) expect(firstMinute.from).toBe(range.from - window);
        if (hours[0] !== undefined) expect(hours[0].from).toBeLessThanOrEqual(range.from);
        if (lastHour !== undefined && firstMinute === undefined) expect(range.to - lastHour.to).toBeLessThan(HOUR);
      }),
    );
  });
});
