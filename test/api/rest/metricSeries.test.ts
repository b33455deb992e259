import { describe, expect, it } from 'vitest';
import { summarizeSeries, toSeries } from '../../../src/api/rest/restSeries.ts';
import type { Timeslice } from '../../../src/api/types.ts';

const CHUNK = { from: 600, to: 780, readFrom: 600, granule: 60 };
const slice = (from: number, values: Timeslice['values'], seconds = 60): Timeslice => ({
  from,
  to: from + seconds,
  values,
});

describe('a series', () => {
  it('keeps what a summary is made of', () => {
    const data = new Map([['HttpDispatcher', [slice(600, { call_count: 1, min_response_time: 2 })]]]);
    expect(toSeries(data, ['HttpDispatcher', 'Apdex'], CHUNK)).toEqual({
      granule: 60,
      metrics: [['HttpDispatcher', [slice(600, { call_count: 1 })]]],
    });
  });

  it.each([
    ['Errors/all', { error_count: 0 }],
    ['Apdex', { s: 0, t: 0, f: 0, count: 0, score: 0, threshold: 0 }],
    ['Memory/Physical', { total_used_mb: 0, used_mb_by_host: 0 }],
  ])('takes zeros of %s for filling, which a summarized answer would not have', (name, zeros) => {
    expect(toSeries(new Map([[name, [slice(600, zeros)]]]), [name], CHUNK).metrics).toEqual([]);
  });

  it('keeps a timeslice of which only some values are 0', () => {
    const data = new Map([['Apdex', [slice(600, { s: 3, t: 0, f: 0, count: 3, score: 1, threshold: 0.5 })]]]);
    expect(toSeries(data, ['Apdex'], CHUNK).metrics).toEqual([...data]);
  });

  it('keeps the zeros of a metric that may be zero', () => {
    const data = new Map([['Memcache/allWeb', [slice(600, { call_count: 0 })]]]);
    expect(toSeries(data, ['Memcache/allWeb'], CHUNK).metrics).toEqual([...data]);
  });

  it('drops what a longer range brought from before the chunk', () => {
    const hours = [slice(0, { call_count: 1 }, 3600), slice(3600, { call_count: 2 }, 3600)];
    const chunk = { from: 3600, to: 7200, readFrom: 0, granule: 3600 };
    expect(toSeries(new Map([['HttpDispatcher', hours]]), ['HttpDispatcher'], chunk).metrics).toEqual([
      ['HttpDispatcher', [hours[1]]],
    ]);
  });

  it('holds for each minute what the reader says of the whole range: answered, and not known', () => {
    const { granule, metrics } = toSeries(new Map([['Errors/all', [slice(600, {}, 180)]]]), ['Errors/all'], CHUNK);
    expect([granule, metrics]).toEqual([60, [['Errors/all', [600, 660, 720].map((from) => slice(from, {}))]]]);
  });

  it('says which granule was answered, also where timeslices end inclusively', () => {
    const two = { from: 600, to: 719, values: { call_count: 1 } };
    expect(toSeries(new Map([['HttpDispatcher', [two]]]), ['HttpDispatcher'], CHUNK).granule).toBe(120);
  });
});

describe('the summary of a window', () => {
  const range = { from: 600, to: 780 };

  it('joins the timeslices that lie in it', () => {
    const web = [600, 660, 720].map((from) => slice(from, { call_count: 2 }));
    expect(summarizeSeries(new Map([['HttpDispatcher', web]]), range, 60).metrics).toEqual(
      new Map([['HttpDispatcher', { call_count: 6 }]]),
    );
  });

  it('is not known where one of its timeslices is not known', () => {
    const web = [slice(600, { call_count: 2 }), slice(660, {})];
    const other = [slice(600, { call_count: 1 })];
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

  it('is empty where nothing but filling is in it: the application did not report', () => {
    const web = [600, 660].map((from) => slice(from, { call_count: 0, average_response_time: 0 }));
    expect(summarizeSeries(new Map([['HttpDispatcher', web]]), range, 60).metrics.size).toBe(0);
  });

  it('is the timeslice itself where that is as long as the window', () => {
    const web = [slice(600, { call_count: 2, average_response_time: 7 }, 180)];
    expect(summarizeSeries(new Map([['HttpDispatcher', web]]), range, 180).metrics.get('HttpDispatcher')).toEqual({
      call_count: 2,
      average_response_time: 7,
    });
  });
});
