import { describe, expect, it } from 'vitest';
import type { MetricDataSubject, UpstreamReader } from '../../src/api/upstreamReader.ts';
import { countedMinutes, countedValues, COUNTED, COUNTER_METRICS } from '../../src/metrics/counterFamilies.ts';
import { NOW, startBoth } from './nerdgraph/nerdGraphReading.ts';
import { readOne } from './support/reading.ts';

const END = Math.floor(NOW / 60_000) * 60 - 120;
const RANGE = { from: END - 660, to: END };
const SHOP = 1_000_001;

const subjectOf = ({ select }: UpstreamReader, applicationId: number): MetricDataSubject => {
  return { applicationId, hostKey: undefined, metrics: select(COUNTER_METRICS, countedValues) };
};

describe('the minutes that counters are made of', () => {
  it('are the same over both interfaces, unrounded, and a metric that an application never had is 0', async () => {
    const { rest, nerdGraph } = await startBoth({ applications: 11 });
    for (const id of [SHOP, SHOP + 9, SHOP + 10]) {
      const [ofRest, ofNerdGraph] = await Promise.all(
        [rest, nerdGraph].map(async ({ reader, call }) => {
          const series = await readOne(reader.counters, subjectOf(reader, id), call, RANGE);
          expect(series.window).toEqual(RANGE);
          return countedMinutes(series);
        }),
      );
      for (let minute = RANGE.from; minute < RANGE.to; minute += 60) {
        const none = COUNTED.map(() => 0);
        const [a, b] = [ofRest?.get(minute) ?? none, ofNerdGraph?.get(minute) ?? none];
        if (a === 'broken' || b === 'broken') throw new Error('broken');
        for (const [index, value] of a.entries()) expect(b[index]).toBeCloseTo(value, 6);
      }
    }
  });

  it('are broken where a value cannot be read, and fail no other minute', async () => {
    const { simulator, rest, nerdGraph } = await startBoth({ applications: 1 });
    simulator.faults.add({ effect: 'nulls' });
    for (const { reader, call } of [rest, nerdGraph]) {
      const series = await readOne(reader.counters, subjectOf(reader, SHOP), call, RANGE);
      expect(new Set(countedMinutes(series).values())).toEqual(new Set(['broken']));
    }
  });

  it('come in queries of at most 4,500 rows, which carry fewer applications the longer their range is', async () => {
    const { nerdGraph } = await startBoth({ applications: 1 });
    const subjects = Array.from({ length: 1_000 }, (_, index) => subjectOf(nerdGraph.reader, SHOP + index));
    const counts = [10, 11, 40, 50].map((minutes) => {
      const { subjects: carried } = nerdGraph.reader.counters.plan(subjects, { from: END - 60 * minutes, to: END });
      expect(carried.length * COUNTER_METRICS.length * minutes).toBeLessThanOrEqual(4_500);
      return carried.length;
    });
    expect(counts).toEqual([112, 102, 28, 22]);
  });
});
