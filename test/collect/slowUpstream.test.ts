import { describe, expect, it } from 'vitest';
import { host } from './support/bodies.ts';
import { accountConfig } from './support/config.ts';
import { World } from './support/world.ts';

/** Thousands of calls on a virtual clock take a while on a busy machine. */
const LONG = 120_000;

describe('an upstream too slow for the calls at once', () => {
  it(
    'slows 75 applications at four seconds a call and two at once evenly, and keeps all of them fresh',
    async () => {
      const limits = { requests_per_minute: 600, max_concurrent_requests: 2 };
      const world = World.create(75, 0, [accountConfig({ hosts: false, limits })]);
      world.reader.latency = () => 4_000;
      await world.scrapeFor(1_800);
      const intervals = new Set<number>();
      let stale = 0;
      let scrapes = 0;
      await world.scrapeFor(1_800, 15, () => {
        const { tasks, effectiveIntervalSeconds } = world.group('application_metrics');
        expect(tasks.missing).toBe(0);
        intervals.add(effectiveIntervalSeconds);
        stale += tasks.stale;
        scrapes += 1;
      });
      // The fleet needs 77 calls a minute and more, and 30 are possible.
      expect(Math.min(...intervals)).toBeGreaterThanOrEqual(60 * 2.5);
      expect(Math.max(...intervals)).toBeLessThan(60 * 3.2);
      expect(intervals.size).toBe(1);
      expect(stale / scrapes / 75).toBeLessThan(0.02);
      expect(world.status.warnings.join()).toContain('max_concurrent_requests');
      expect(world.status.plan.slowdown).toBeGreaterThan(2.5);
    },
    LONG,
  );

  it(
    'leaves no host missing for good',
    async () => {
      const limits = { requests_per_minute: 600, max_concurrent_requests: 8 };
      const world = World.create(40, 3, [accountConfig({ limits })]);
      world.reader.latency = () => 7_500;
      await world.scrapeFor(1_200);
      await world.scrapeFor(600, 15, () => {
        expect(world.group('host_metrics').tasks.missing).toBe(0);
      });
    },
    LONG,
  );

  it(
    'is read at the configured interval again when calls are fast again',
    async () => {
      const limits = { requests_per_minute: 600, max_concurrent_requests: 2 };
      const world = World.create(100, 0, [accountConfig({ hosts: false, limits })]);
      world.reader.latency = () => 3_000;
      await world.scrapeFor(900);
      expect(world.group('application_metrics').effectiveIntervalSeconds).toBeGreaterThan(120);
      world.reader.latency = () => 100;
      await world.scrapeFor(1_200);
      expect(world.group('application_metrics').effectiveIntervalSeconds).toBe(60);
      await world.scrape();
      expect(world.group('application_metrics').tasks).toEqual({ fresh: 100, stale: 0, missing: 0 });
    },
    LONG,
  );
});

describe('a failed read', () => {
  it('uses at most half of the calls at once for its retry', async () => {
    const limits = { requests_per_minute: 3_000, max_concurrent_requests: 8 };
    const world = World.create(30, 0, [accountConfig({ limits, hosts: false, key_transactions: false })]);
    await world.scrapeFor(60);
    world.reader.fault = ({ kind }) => (kind === 'metric_data' ? { reason: 'other', latency: 4_000 } : undefined);
    await world.scrapeFor(60);
    world.reader.mostInFlight = 0;
    await world.scrapeFor(600);
    expect(world.reader.mostInFlight).toBe(5);
  });

  it('uses all calls at once when upstream answers again after it hung', async () => {
    const world = World.create(60, 3, [
      accountConfig({ limits: { requests_per_minute: 3_000, max_concurrent_requests: 8 } }),
    ]);
    world.reader.latency = () => 1_000;
    let hanging = false;
    world.reader.fault = () => (hanging ? { reason: 'timeout', latency: 10_000 } : undefined);
    await world.scrapeFor(120);
    hanging = true;
    await world.scrapeFor(600);
    hanging = false;
    await world.scrapeFor(75);
    expect(world.status.tasks.filter(({ problem }) => problem !== undefined)).toEqual([]);
  });
});

/** Eight calls at once, three hosts per application, but many for the first one, whose metric data time out. */
function hangingWorld(shape: { applications: number; hanging: number; listLatency: number }): World {
  const world = new World([accountConfig({ limits: { max_concurrent_requests: 8 } })]);
  const { reader } = world;
  world.populate(shape.applications, 3);
  const hosts = Array.from({ length: shape.hanging }, (_, index) => host(1_000 + index));
  reader.hostsOf.set(1, hosts);
  reader.latency = ({ kind }) => (kind === 'metric_data' ? 150 : shape.listLatency);
  reader.fault = ({ kind, applicationId }) =>
    kind === 'metric_data' && applicationId === 1 ? { reason: 'timeout', latency: 10_000 } : undefined;
  return world;
}

describe('a hanging application', () => {
  it('does not hide values of its hosts that do not depend on it', async () => {
    const world = World.create(2, 2);
    world.reader.latency = ({ kind, applicationId, hostKey }) =>
      kind === 'metric_data' && applicationId === 1 && hostKey === undefined ? 60_000 : 100;
    const response = await world.scrape();
    const ofHost = { app_id: '1', host_id: '1000' };
    expect(world.value(response, 'newrelic_host_response_time_seconds', ofHost)).toBe(0.1);
    expect(world.value(response, 'newrelic_host_total_time_seconds', ofHost)).toBeUndefined();
    world.reader.latency = () => 100;
    await world.clock.advance(60_000);
    const later = await world.scrape();
    expect(world.value(later, 'newrelic_host_total_time_seconds', ofHost)).toBeCloseTo(0.05);
  });

  // At any time of the minute: the next window begins while the first calls hang, or between two attempts.
  it.each([0, 45])(
    'makes no host of other applications missing, from the second scrape on, %d seconds into the minute',
    async (second) => {
      for (const shape of [
        { applications: 30, hanging: 8, listLatency: 150 },
        { applications: 30, hanging: 30, listLatency: 150 },
        // Host lists arrive before the data of their applications.
        { applications: 6, hanging: 30, listLatency: 50 },
      ]) {
        const world = hangingWorld(shape);
        await world.clock.advance(second * 1000);
        const healthy = (shape.applications - 1) * 3;
        const unlike: string[] = [];
        const from = world.clock.now();
        for (let after = 0; after < 240; after += 15) {
          await world.clock.until(from + after * 1000);
          const { accounts } = await world.scrape();
          const entities = accounts[0]?.groups.find(({ group }) => group === 'host_metrics')?.tasks;
          const { fresh, stale, missing } = entities ?? { fresh: 0, stale: 0, missing: 0 };
          if (after > 0 && (fresh + stale !== healthy || missing !== shape.hanging))
            unlike.push(`${after} s: ${fresh}/${stale}/${missing}`);
        }
        expect(unlike).toEqual([]);
      }
    },
    LONG,
  );

  it('with an unreadable response leaves the database kind of its hosts unknown', async () => {
    const world = World.create(1, 1);
    const { values } = world.reader;
    world.reader.values = (query) =>
      query.hostKey === undefined
        ? { HttpDispatcher: {}, 'Datastore/MySQL/allWeb': {}, 'Database/allWeb': {} }
        : values(query);
    const response = await world.scrape();
    expect(world.value(response, 'newrelic_host_response_time_seconds')).toBe(0.1);
    expect(world.value(response, 'newrelic_host_total_time_seconds')).toBeUndefined();
    world.reader.values = values;
    expect(world.value(await world.nextScrape(), 'newrelic_host_total_time_seconds')).toBeCloseTo(0.05);
  });
});
