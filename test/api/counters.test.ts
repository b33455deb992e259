import { describe, expect, it } from 'vitest';
import type { MetricDataSubject } from '../../src/api/upstreamReader.ts';
import { readCountedMinutes, COUNTER_METRICS } from '../../src/metrics/counterFamilies.ts';
import { NOW, startBoth } from './nerdgraph/nerdGraphReading.ts';
import { inColumns } from '../support/restColumns.ts';
import { readOne, serve } from './support/reading.ts';
import { json } from './support/testServer.ts';

const END = Math.floor(NOW / 60_000) * 60 - 120;
const RANGE = { from: END - 660, to: END };
const SHOP = 1_000_001;

const metrics = { names: COUNTER_METRICS };
const subjectOf = (applicationId: number): MetricDataSubject => ({ applicationId, hostKey: undefined, metrics });

describe('the minutes of counters', () => {
  it('are broken where a value cannot be read, without effect on other minutes', async () => {
    const { simulator, rest, nerdGraph } = await startBoth({ applications: 1 });
    simulator.faults.add({ effect: 'nulls' });
    for (const { reader, call } of [rest, nerdGraph]) {
      const series = await readOne(reader.counters, subjectOf(SHOP), call, RANGE);
      expect(new Set(readCountedMinutes(series).values())).toEqual(new Set(['broken']));
    }
  });

  it.each([
    ['newest-missing', []],
    ['newest-broken', [END - 60]],
    ['from-1970', []],
  ] as const)('cover the range in the response, with %s timeslices', async (fault, broken) => {
    const { simulator, rest, nerdGraph } = await startBoth({ applications: 1 });
    for (const { reader, call } of [rest, nerdGraph]) {
      const whole = readCountedMinutes(await readOne(reader.counters, subjectOf(SHOP), call, RANGE));
      simulator.faults.add({ effect: 'series', fault });
      const series = await readOne(reader.counters, subjectOf(SHOP), call, RANGE);
      simulator.faults.clear();
      expect(series.window).toEqual(RANGE);
      if (fault !== 'from-1970') whole.delete(END - 60);
      for (const minute of broken) whole.set(minute, 'broken');
      expect(readCountedMinutes(series)).toEqual(whole);
    }
  });

  it.each([
    ['a part of the range', RANGE.from + 60, RANGE.to - 60, { from: RANGE.from + 60, to: RANGE.to - 60 }],
    ['more than the range', RANGE.from - 3_600, RANGE.to + 3_600, RANGE],
    ['an end on the last second', RANGE.from - 59, RANGE.to - 61, { from: RANGE.from, to: RANGE.to - 60 }],
    ['parts of minutes', RANGE.from + 1, RANGE.to - 2, { from: RANGE.from + 60, to: RANGE.to - 60 }],
    ['no time', undefined, undefined, 'invalid_response'],
    ['no end', RANGE.from, undefined, 'invalid_response'],
    ['an end before its beginning', RANGE.to, RANGE.from, 'invalid_response'],
  ])('are read from a REST response for %s', async (_, from, to, expected) => {
    const { reader, call, notes } = await serve((response) => {
      const [begin, end] = [from, to].map((time) => time && new Date(time * 1000).toISOString());
      json(response, { metric_data: { from: begin, to: end, metrics: [] } });
    });
    const read = readOne(reader.counters, subjectOf(SHOP), call, RANGE);
    if (expected !== 'invalid_response') expect((await read).window).toEqual(expected);
    else await expect(read).rejects.toMatchObject({ failure: { reason: expected } });
    expect(notes.failures.map(({ reason }) => reason)).toEqual(expected === 'invalid_response' ? [expected] : []);
  });

  it('make the call fail over both interfaces where they cannot be used', async () => {
    const { rest, nerdGraph } = await startBoth({ applications: 1 });
    for (const { reader, notes } of [rest, nerdGraph]) {
      expect(reader.refuseCounters('why').failure.reason).toBe('invalid_response');
      expect(notes.failures).toEqual([
        { reason: 'invalid_response', message: expect.stringContaining('why') as string },
      ]);
    }
  });

  const web = (from: number, seconds: number, values: Readonly<Record<string, number>>) =>
    readCountedMinutes({
      window: RANGE,
      metrics: new Map([
        ['HttpDispatcher', [{ from, to: from + seconds, columns: inColumns('HttpDispatcher', values, seconds) }]],
      ]),
    });

  it.each([
    [1e12, 1_000, 1],
    [1.01e12, 1_000, 'broken'],
    [1e18, 1, 'broken'],
    [1e6, 1e12, 'broken'],
    [-1, 1, 'broken'],
  ])('with %d calls of %d ms are %s', (calls, milliseconds, expected) => {
    const minute = web(END - 60, 60, { call_count: calls, average_response_time: milliseconds }).get(END - 60);
    expect(minute === 'broken' ? minute : minute?.[0] === calls && 1).toBe(expected);
  });

  it.each([
    ['begins long before it', 0, 1e12, []],
    ['ends before it', RANGE.from - 600, 600, []],
    ['begins after it', RANGE.to, 60, []],
    ['reaches into it', RANGE.from - 600, 690, [RANGE.from, RANGE.from + 60]],
    ['never ends', RANGE.to - 90, 1e12, [RANGE.to - 120, RANGE.to - 60]],
  ])(
    'ignore a timeslice outside the window, and are broken by a longer timeslice: it %s',
    (_, from, seconds, broken) => {
      expect([...web(from, seconds, {})]).toEqual(broken.map((minute) => [minute, 'broken']));
    },
  );

  it('are broken where another of their metrics is unknown, also where the first minute is broken already', () => {
    const [begin, end] = [RANGE.from, RANGE.from + 180];
    const metrics = new Map([
      ['HttpDispatcher', [{ from: begin, to: begin + 60, columns: {} }]],
      ['Errors/all', [{ from: begin, to: end, columns: {} }]],
    ]);
    const minutes = readCountedMinutes({ window: { from: begin, to: end }, metrics });
    expect([...minutes]).toEqual([0, 60, 120].map((seconds) => [begin + seconds, 'broken']));
  });

  it('come in queries of at most 4,500 rows, with fewer applications for a longer range', async () => {
    const { nerdGraph } = await startBoth({ applications: 1 });
    const subjects = Array.from({ length: 1_000 }, (_, index) => subjectOf(SHOP + index));
    const counts = [10, 11, 40, 50].map((minutes) => {
      const { subjects: carried } = nerdGraph.reader.counters.take(subjects, { from: END - 60 * minutes, to: END });
      expect(carried.length * COUNTER_METRICS.length * minutes).toBeLessThanOrEqual(4_500);
      return carried.length;
    });
    expect(counts).toEqual([112, 102, 28, 22]);
  });
});
