import { describe, expect, it } from 'vitest';
import { METRICS, RANGE } from './nerdGraphReading.ts';
import { say, startBetween, where } from './proxy.ts';
import { readAll } from '../support/reading.ts';

const HOSTS = Array.from({ length: 40 }, (_, index) => `host-${index}`);
const UNMATCHED = say('No application was matched (did you specify appId, appName or entity.guid?)', 'INVALID_INPUT');
const IDS = Array.from({ length: 8 }, (_, index) => 1_000_001 + index);

const hostsOf = (ids: readonly number[], hosts = HOSTS) =>
  ids.flatMap((applicationId) => hosts.map((hostKey) => ({ applicationId, hostKey, metrics: METRICS })));

describe('"No application was matched"', () => {
  it('of the hosts of one application says in one call that they have no rows', async () => {
    const between = await startBetween({ applications: 1, hostsPerApplication: 1 });
    between.fault = where(() => true, UNMATCHED);
    const outcomes = await readAll(between.reader.metricData, hostsOf(IDS.slice(0, 1)), RANGE, between.call);
    expect(outcomes.every((outcome) => 'value' in outcome && outcome.value.metrics.size === 0)).toBe(true);
    expect(between.asked.length).toBe(1);
    expect(between.notes.failures).toEqual([]);
  });

  it('of the hosts of several is halved by applications, and costs nothing more until names are read again', async () => {
    let now = 0;
    const between = await startBetween({ applications: 8, hostsPerApplication: 5 }, { monotonic: () => now });
    const [unmatched = 0] = IDS.slice(5, 6);
    between.fault = where((nrql) => nrql.includes(String(unmatched)), UNMATCHED);
    const read = async () => {
      const before = between.asked.length;
      const rolling = hostsOf(IDS, HOSTS.slice(0, 5)).map(
        ({ applicationId, hostKey }) => ({ kind: 'host', applicationId, hostKey }) as const,
      );
      await readAll(between.reader.metricData, hostsOf(IDS, HOSTS.slice(0, 5)), RANGE, between.call);
      await readAll(between.reader.rolling!, rolling, RANGE, between.call);
      return between.asked.length - before;
    };
    await read();
    const steady: number[] = [];
    for (let minute = 0; minute < 10; minute += 1) {
      now += 60_000;
      steady.push(await read());
    }
    between.fault = undefined;
    const fresh = await startBetween({ applications: 8, hostsPerApplication: 5 });
    const before = fresh.asked.length;
    await readAll(fresh.reader.metricData, hostsOf(IDS, HOSTS.slice(0, 5)), RANGE, fresh.call);
    const healthy = 2 * (fresh.asked.length - before);
    expect(Math.max(...steady)).toBeLessThanOrEqual(healthy + 3);
  });
});
