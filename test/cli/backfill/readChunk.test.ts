import { describe, expect, it } from 'vitest';
import { UpstreamError } from '../../../src/api/errors.ts';
import type { MetricDataQuery, UpstreamReader } from '../../../src/api/oldReader.ts';
import type { MetricData, Timeslice } from '../../../src/api/types.ts';
import { readChunk } from '../../../src/cli/backfill/readChunk.ts';
import { BatchSize } from '../../../src/collect/metricData.ts';
import { FakeReader } from '../../collect/support/fakeReader.ts';
import { VirtualClock } from '../../collect/support/virtualClock.ts';

const CHUNK = { from: 600, to: 780, readFrom: 600, granule: 60 };
const CALL = { signal: new AbortController().signal, gate: { enter: () => Promise.resolve(() => undefined) } };

/** A reader that answers every query with these metrics, as far as they are asked for. */
function readerOf(answer: (query: MetricDataQuery) => MetricData): {
  reader: UpstreamReader;
  asked: MetricDataQuery[];
} {
  const asked: MetricDataQuery[] = [];
  const reader = new FakeReader(new VirtualClock());
  const readMetricData = (query: MetricDataQuery): Promise<MetricData> => {
    asked.push(query);
    return Promise.resolve().then(() => answer(query));
  };
  return { reader: Object.assign(reader, { readMetricData }), asked };
}

const slice = (from: number, values: Timeslice['values'], seconds = 60): Timeslice => ({
  from,
  to: from + seconds,
  values,
});
const read = (reader: UpstreamReader, names: readonly string[], chunk = CHUNK, size = new BatchSize()) =>
  readChunk(reader, { applicationId: 1 }, names, chunk, size, CALL);

describe('readChunk', () => {
  it('asks for the timeslices of the chunk, not for their summary, and keeps what a calculation reads', async () => {
    const found = slice(600, { call_count: 1, min_response_time: 2 });
    const { reader, asked } = readerOf(() => new Map([['HttpDispatcher', [found]]]));
    expect(await read(reader, ['HttpDispatcher', 'Apdex'])).toEqual({
      from: 600,
      to: 780,
      granule: 60,
      metrics: [['HttpDispatcher', [slice(600, { call_count: 1 })]]],
    });
    expect(asked).toEqual([
      { applicationId: 1, names: ['HttpDispatcher', 'Apdex'], from: 600, to: 780, summarize: false },
    ]);
  });

  it.each([
    ['Errors/all', { error_count: 0 }],
    ['Apdex', { s: 0, t: 0, f: 0, count: 0, score: 0, threshold: 0 }],
    ['Memory/Physical', { total_used_mb: 0, used_mb_by_host: 0 }],
  ])('takes zeros of %s for filling, which a summarized answer would not have', async (name, zeros) => {
    const { reader } = readerOf(() => new Map([[name, [slice(600, zeros)]]]));
    expect((await read(reader, [name])).metrics).toEqual([]);
  });

  it('keeps the zeros of a metric that may be zero', async () => {
    const { reader } = readerOf(() => new Map([['Memcache/allWeb', [slice(600, { call_count: 0 })]]]));
    expect((await read(reader, ['Memcache/allWeb'])).metrics).toEqual([
      ['Memcache/allWeb', [slice(600, { call_count: 0 })]],
    ]);
  });

  it('drops what a longer range brought from before the chunk', async () => {
    const hours = [slice(0, { call_count: 1 }, 3600), slice(3600, { call_count: 2 }, 3600)];
    const { reader, asked } = readerOf(() => new Map([['HttpDispatcher', hours]]));
    const chunk = { from: 3600, to: 7200, readFrom: 0, granule: 3600 };
    expect((await read(reader, ['HttpDispatcher'], chunk)).metrics).toEqual([['HttpDispatcher', [hours[1]]]]);
    expect(asked[0]).toMatchObject({ from: 0, to: 7200 });
  });

  it('holds for each minute what the reader says of the whole range: answered, and not known', async () => {
    const { reader } = readerOf(() => new Map([['Errors/all', [slice(600, {}, 180)]]]));
    const { granule, metrics } = await read(reader, ['Errors/all']);
    expect([granule, metrics]).toEqual([60, [['Errors/all', [600, 660, 720].map((from) => slice(from, {}))]]]);
  });

  it('says which granule was answered, also where timeslices end inclusively', async () => {
    const two = { from: 600, to: 719, values: { call_count: 1 } };
    const { reader } = readerOf(() => new Map([['HttpDispatcher', [two]]]));
    expect((await read(reader, ['HttpDispatcher'])).granule).toBe(120);
  });

  const many = Array.from({ length: 25 }, (_, index) => `Datastore/Type${index}/allWeb`);
  const refusal = new UpstreamError('too long', { reason: 'other', endpoint: '/data.json', status: 414 });

  it('asks for ten names at a time once a longer list was refused, from then on too', async () => {
    const { reader, asked } = readerOf(({ names }) => {
      if (names.length > 10) throw refusal;
      return new Map(names.map((name) => [name, [slice(600, { call_count: 1 })]]));
    });
    const size = new BatchSize();
    expect((await read(reader, many, CHUNK, size)).metrics.map(([name]) => name)).toEqual(many);
    await read(reader, many, CHUNK, size);
    expect(asked.map(({ names }) => names.length)).toEqual([25, 10, 10, 5, 10, 10, 5]);
  });

  it('rejects when ten names are refused as well, and asks for longer lists again next time', async () => {
    const { reader, asked } = readerOf(() => {
      throw refusal;
    });
    const size = new BatchSize();
    await expect(read(reader, many, CHUNK, size)).rejects.toBe(refusal);
    expect([asked.length, size.names]).toEqual([2, new BatchSize().names]);
  });
});
