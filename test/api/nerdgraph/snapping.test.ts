import { describe, expect, it } from 'vitest';
import { planChunks } from '../../../src/tools/backfill/planBackfill.ts';
import { metricDataOf, METRICS, NOW, RANGE, startBoth } from './nerdGraphReading.ts';
import { edit, startBetween } from './proxy.ts';
import { readAll, readOne, valueOf } from '../support/reading.ts';

const IDS = [1_000_001, 1_000_002];
const WORLD = { applications: 2, hostsPerApplication: 2, nrqlSnapping: true };
/** An end that is not on a step of the service. */
const TO = RANGE.to - 120;

const times = (nrql: string): readonly number[] =>
  [...nrql.matchAll(/(?:SINCE|UNTIL) (\d+)/g)].map(([, ms]) => Number(ms));

describe('a service that snaps long ranges to its steps', () => {
  it('gives hosts and names at every minute, because the queries end on the steps', async () => {
    const between = await startBetween(WORLD);
    const { reader, call, asked } = between;
    for (let to = TO; to < TO + 600; to += 120) {
      const range = { from: to - 1_800, to };
      expect(await readOne(reader.hosts, { applicationId: IDS[0]! }, call, range)).toHaveLength(2);
      const query = { applicationId: IDS[0]!, name: 'HttpDispatcher', to };
      expect((await reader.listMetricNames(query, call)).names.map(({ name }) => name)).toContain('HttpDispatcher');
      const custom = { applicationId: IDS[0]!, filters: ['Custom/'] };
      expect((await readOne(reader.customNames, custom, call, range)).names.length).toBeGreaterThan(0);
    }
    for (const { nrql } of asked) {
      const [from = 0, to = 0] = times(nrql);
      const step = to - from >= 86_400_000 ? 600_000 : 300_000;
      expect([from % step, to % step]).toEqual([0, 0]);
    }
  });

  it('gives values of the answered window, which the result names', async () => {
    const { nerdGraph } = await startBoth(WORLD);
    const { reader, call } = nerdGraph;
    const subject = { applicationId: IDS[0]!, hostKey: undefined, metrics: METRICS };
    const asked = { from: TO - 7_200, to: TO };
    const snapped = await readOne(reader.metricData, subject, call, asked);
    const end = Math.floor(TO / 300) * 300;
    expect(end).toBeLessThan(TO);
    expect(snapped.window).toEqual({ from: end - 7_200, to: end });
    const exact = await readOne(reader.metricData, subject, call, { from: end - 7_200, to: end });
    expect(snapped.metrics).toEqual(exact.metrics);
  });

  it('gets one more query for the minutes that a series of several applications lacks', async () => {
    const between = await startBetween({ applications: 3 });
    const { reader, call, asked } = between;
    const [chunk] = planChunks({ from: RANGE.to - 1_740, to: RANGE.to }, 60, NOW / 1000, reader.metricSeries.limits);
    const read = async () => {
      asked.length = 0;
      const series = await readAll(reader.metricSeries, metricDataOf([...IDS, 1_000_003]), chunk!, call);
      return series.map((outcome) => new Map(valueOf(outcome).metrics));
    };
    const whole = await read();
    between.fault = edit((response) => {
      const { timeWindow } = response.metadata;
      if (timeWindow.end - timeWindow.begin <= 600_000) return;
      timeWindow.begin += 300_000;
      response.results = response.results.filter(
        ({ beginTimeSeconds: from }) => Number(from) * 1000 >= timeWindow.begin,
      );
    });
    expect(await read()).toEqual(whole);
    expect(asked).toHaveLength(2);
  });

  it('loses no minute of a series and gives no wrong minute, for any begin and end of the range', async () => {
    const world = { ...WORLD, applications: 1 };
    const { nerdGraph: snapping } = await startBoth(world);
    const { nerdGraph: exact } = await startBoth({ ...world, nrqlSnapping: false });
    const subjects = metricDataOf(IDS.slice(0, 1));
    for (const [before, length] of [
      [60, 3_660],
      [120, 22_800],
      [240, 5_940],
    ] as const) {
      const range = { from: TO - before - length, to: TO - before };
      const read = async ({ reader, call }: typeof exact): Promise<Map<string, unknown>> => {
        const minutes = new Map<string, unknown>();
        for (const chunk of planChunks(range, 1_800, NOW / 1000, reader.metricSeries.limits)) {
          const series = (await readAll(reader.metricSeries, subjects, chunk, call)).map(valueOf);
          for (const [index, { metrics }] of series.entries()) {
            for (const [name, slices] of metrics) {
              for (const slice of slices) {
                if (slice.from >= chunk.from) minutes.set(`${index} ${name} ${slice.from}`, slice.columns);
              }
            }
          }
        }
        return minutes;
      };
      const [found, expected] = [await read(snapping), await read(exact)];
      expect(found.size).toBeGreaterThan(length / 60);
      expect(found).toEqual(expected);
    }
  });
});
