import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { databaseKind } from '../../../src/formulas/derivedValues.ts';
import type { Timeslice } from '../../../src/api/types.ts';
import { addCalls, createRollingWindows, type ReadChunk } from '../../../src/tools/backfill/rollingWindows.ts';
import { summarizeSeries } from '../../../src/api/rest/restSeries.ts';

const rolling = (window: number, after: number) => createRollingWindows(window, after, { summarize: summarizeSeries });

const calls = (from: number, count: number, seconds = 60): Timeslice => ({
  from,
  to: from + seconds,
  columns: { count },
});

/** A chunk of minutes in which minute i has i + 1 calls, but for those left out. */
function minutes(from: number, to: number, leftOut: readonly number[] = []): ReadChunk {
  const starts = Array.from({ length: (to - from) / 60 }, (_, index) => from + index * 60);
  const slices = starts.filter((start) => !leftOut.includes(start)).map((start) => calls(start, start / 60 + 1));
  return { from, to, granule: 60, metrics: [['HttpDispatcher', slices]] };
}

function countsOf(windows: ReturnType<ReturnType<typeof rolling>>): [number, number | undefined][] {
  return [...windows].map(({ time, values }) => [time, values.metrics.get('HttpDispatcher')?.count]);
}

describe('createRollingWindows', () => {
  it('sums the minutes of each window, with one window ending at each minute', () => {
    expect(countsOf(rolling(180, 180)(minutes(60, 420)))).toEqual([
      [240, 2 + 3 + 4],
      [300, 3 + 4 + 5],
      [360, 4 + 5 + 6],
      [420, 5 + 6 + 7],
    ]);
  });

  it('gives no window that begins before the data', () => {
    expect(countsOf(rolling(180, 0)(minutes(60, 300)))[0]).toEqual([240, 9]);
  });

  it('gives the same however the minutes are split into chunks', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 29 })), fc.integer({ min: 1, max: 8 }), (cuts, window) => {
        const edges = [0, ...cuts.sort((a, b) => a - b), 30].map((edge) => edge * 60);
        const whole = countsOf(rolling(window * 60, 0)(minutes(0, 1800)));
        const windows = rolling(window * 60, 0);
        const cut = edges.slice(1).flatMap((edge, index) => countsOf(windows(minutes(edges[index]!, edge))));
        expect(cut).toEqual(whole);
      }),
    );
  });

  it('keeps the length of the window where minutes are missing', () => {
    const [last] = [...rolling(180, 240)(minutes(120, 300, [180]))];
    expect(last!.values).toEqual({
      seconds: 180,
      metrics: new Map([['HttpDispatcher', expect.objectContaining({ count: 3 + 5 })]]),
    });
  });

  it('has no metric without a timeslice in the window', () => {
    const [last] = [...rolling(60, 120)(minutes(60, 180, [120]))];
    expect(last).toBeUndefined();
    const windows = countsOf(rolling(120, 0)(minutes(0, 240, [60, 120])));
    expect(windows).toEqual([
      [120, 1],
      [180, undefined],
      [240, 4],
    ]);
  });

  it('gives each timeslice unchanged where it is as long as the window or longer', () => {
    const columns = { count: 4, score: 0.9, rate: 0.333 };
    const hour = { from: 0, to: 3599, columns };
    const chunk: ReadChunk = { from: 0, to: 3600, granule: 3600, metrics: [['Apdex', [hour]]] };
    for (const window of [60, 1800, 3600, 5400]) {
      const [only] = [...rolling(window, 0)(chunk)];
      expect(only).toEqual({ time: 3600, values: { seconds: 3600, metrics: new Map([['Apdex', columns]]) } });
    }
  });

  it('merges several hours where the window is several hours', () => {
    const slices = [calls(0, 1, 3600), calls(3600, 2, 3600), calls(7200, 3, 3600)];
    const chunk: ReadChunk = { from: 0, to: 10_800, granule: 3600, metrics: [['HttpDispatcher', slices]] };
    expect(countsOf(rolling(7200, 0)(chunk))).toEqual([
      [7200, 3],
      [10_800, 5],
    ]);
  });

  it('gives no window that spans two resolutions, and no window twice', () => {
    const windows = rolling(180, 0);
    const hours: ReadChunk = { from: 0, to: 3600, granule: 3600, metrics: [['HttpDispatcher', [calls(0, 100, 3600)]]] };
    expect(countsOf(windows(hours))).toEqual([[3600, 100]]);
    expect(countsOf(windows(minutes(3540, 3900))).map(([time]) => time)).toEqual([3720, 3780, 3840, 3900]);
    const overlapping = rolling(180, 0);
    expect(countsOf(overlapping(hours))).toEqual([[3600, 100]]);
    expect(countsOf(overlapping(minutes(3420, 3720))).map(([time]) => time)).toEqual([3660, 3720]);
  });
});

describe('the kind of the database metrics of a whole range', () => {
  const calls = new Map<string, { readonly count: number | undefined }>();
  const choose = (name: string, count?: number) => {
    addCalls(calls, { seconds: 60, metrics: new Map([[name, { count }]]) });
    return databaseKind({ seconds: 60, metrics: calls }, 'java', 'auto');
  };
  beforeEach(() => calls.clear());

  it('is decided over all minutes: one minute with calls is enough', () => {
    choose('Datastore/MySQL/allWeb', 0);
    expect(choose('Database/allWeb', 9)).toBe('database');
    expect(choose('Datastore/MySQL/allWeb', 1)).toBe('datastore');
  });

  it('is not decided where the calls of a metric could never be read', () => {
    expect(choose('Datastore/MySQL/allWeb')).toBeUndefined();
    expect(choose('Datastore/MySQL/allWeb', 2)).toBe('datastore');
  });
});
