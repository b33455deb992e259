import { describe, expect, it } from 'vitest';
import type { Scope } from '../../src/collect/schedule/demand.ts';
import { accountConfig, collectionConfig } from './support/config.ts';
import { EVERYTHING, World } from './support/world.ts';

const TIGHT = accountConfig({ hosts: false, limits: { requests_per_minute: 20 } });

/** Probes some applications every 30 seconds for a number of seconds. */
async function probeFor(world: World, ids: readonly number[], seconds: number): Promise<void> {
  const from = world.clock.now();
  for (let second = 0; second < seconds; second += 30) {
    await world.clock.until(from + second * 1000);
    for (const id of ids) await world.probe(id);
  }
  await world.clock.until(from + seconds * 1000);
}

describe('an exporter probed for 5 of 40 applications', () => {
  it('paces and judges only the probed applications', async () => {
    const world = World.create(40, 0, [TIGHT]);
    await probeFor(world, [1, 2, 3, 4, 5], 600);
    await world.probe(5);
    const { tasks, effectiveIntervalSeconds, success } = world.group('application_metrics');
    expect(tasks.missing).toBe(0);
    expect(tasks.fresh + tasks.stale).toBe(5);
    expect(effectiveIntervalSeconds).toBe(60);
    expect(success).toBe(true);
    expect(world.status.plan.groups.find(({ group }) => group === 'application_metrics')?.callsPerRefresh).toBe(5);
    const read = new Set(world.reader.callsOfKind('metric_data').map(({ applicationId }) => applicationId));
    expect(read).toEqual(new Set([1, 2, 3, 4, 5]));
    expect(world.status.warnings).toEqual([]);
  });

  it('judges all applications after a whole scrape, and only the probed ones again some minutes later', async () => {
    const world = World.create(40, 0, [TIGHT]);
    await probeFor(world, [1], 60);
    await world.scrape();
    expect(world.group('application_metrics').tasks.missing).toBeGreaterThan(30);
    expect(world.group('application_metrics').effectiveIntervalSeconds).toBeGreaterThan(120);
    await probeFor(world, [1], 900);
    expect(world.group('application_metrics').tasks).toMatchObject({ missing: 0 });
    expect(world.group('application_metrics').effectiveIntervalSeconds).toBe(60);
  });

  it('does not count failures of other applications', async () => {
    const world = World.create(3, 0, [TIGHT]);
    world.reader.fault = ({ applicationId }) => (applicationId === 2 ? { reason: 'server', status: 500 } : undefined);
    await world.scrape();
    expect(world.group('application_metrics').success).toBe(false);
    await probeFor(world, [1], 720);
    expect(world.group('application_metrics').success).toBe(true);
    expect(await world.probe()).toMatchObject({ success: true });
  });
});

describe('a scrape of some groups', () => {
  it('counts only these groups and their lists', async () => {
    const world = World.create(10, 2);
    const scope: Scope = { groups: new Set(['application_metrics']) };
    await world.scrape(scope);
    expect(world.group('host_metrics').tasks).toEqual({ fresh: 0, stale: 0, missing: 0 });
    expect(world.group('application_metrics').tasks).toEqual({ fresh: 10, stale: 0, missing: 0 });
    expect(world.status.plan.groups.map(({ group }) => group)).toEqual([
      'applications',
      'metric_names',
      'application_metrics',
    ]);
  });

  it('of lists only, as for service discovery, counts only the lists', async () => {
    const world = World.create(4, 1);
    await world.scrape({ groups: new Set(['applications']), listsOnly: true });
    expect(world.group('applications').tasks).toEqual({ fresh: 4, stale: 0, missing: 0 });
    expect(world.group('application_metrics').tasks).toEqual({ fresh: 0, stale: 0, missing: 0 });
    expect(world.collector.applicationLists()).toMatchObject([{ account: 'main', applications: { length: 4 } }]);
    await world.scrape(EVERYTHING);
    expect(world.group('application_metrics').tasks.fresh).toBe(4);
  });
});

describe('a request that comes once', () => {
  it.each([
    ['five minutes, where its interval is shorter', 60_000, 600, 300],
    ['twice its interval, where that is longer', 300_000, 600, 600],
    ['twice the interval that the budget allows', 60_000, 2, 600],
  ])('counts for %s', async (_, interval, perMinute, seconds) => {
    const limits = { requests_per_minute: perMinute };
    const account = accountConfig({ hosts: false, key_transactions: false, limits });
    const intervals = { applications: interval, application_metrics: interval, metric_names: 86_400_000 };
    const world = World.create(9, 0, [account], collectionConfig({ intervals }));
    // Nine applications and their list take ten calls, five times the budget of a minute.
    await world.scrape();
    const counted = (): number => {
      const { fresh, stale, missing } = world.group('application_metrics').tasks;
      return fresh + stale + missing;
    };
    await world.clock.advance(seconds * 1000 - 1_000);
    expect(counted()).toBe(9);
    await world.clock.advance(2_000);
    expect(counted()).toBe(0);
  });
});
