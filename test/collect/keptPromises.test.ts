import { describe, expect, it } from 'vitest';
import type { AccountConfig, CollectionConfig } from '../../src/config/config.ts';
import type { Group } from '../../src/reads/reads.ts';
import { accountConfig, collectionConfig, config } from './support/config.ts';
import { EVERYTHING, World } from './support/world.ts';

const FLEET = { applications: 20, hosts: 4 };

function fleet(account: AccountConfig, collection: CollectionConfig = collectionConfig()): World {
  return World.create(FLEET.applications, FLEET.hosts, [account], collection);
}

/** How many entities of a group have series. */
async function served(world: World, group: Group): Promise<number> {
  return (await world.collector.snapshot(EVERYTHING)).blocks.filter((block) => block.group === group).length;
}

/** The fewest entities of a group with series at any scrape within these seconds. */
async function fewest(world: World, group: Group, seconds: number): Promise<number> {
  let least = await served(world, group);
  const from = world.clock.now();
  for (let second = 0; second < seconds; second += 15) {
    await world.clock.until(from + second * 1000);
    await world.scrape();
    least = Math.min(least, await served(world, group));
  }
  return least;
}

const limited = (requests_per_minute: number, over: Parameters<typeof accountConfig>[0] = {}) =>
  accountConfig({ ...over, limits: { requests_per_minute } });

describe('values that were good before a reload or a new plan stay good', () => {
  it('when hosts are switched off, for the applications', async () => {
    const world = fleet(limited(10));
    await world.scrapeFor(2_600);
    world.collector.reconfigure(config(limited(10, { hosts: false })));
    expect(await fewest(world, 'application_metrics', 600)).toBe(FLEET.applications);
  });

  it('when the budget is raised, for the hosts', async () => {
    const world = fleet(limited(10));
    await world.scrapeFor(2_600);
    world.collector.reconfigure(config(limited(30)));
    expect(await fewest(world, 'host_metrics', 900)).toBe(FLEET.applications * FLEET.hosts);
  });

  it('when the interval of a list is shortened', async () => {
    const every = (hosts: number) => collectionConfig({ intervals: { hosts } });
    const world = fleet(limited(600), every(1_800_000));
    await world.scrapeFor(1_500);
    world.collector.reconfigure(config(limited(600), every(300_000)));
    expect(await fewest(world, 'hosts', 120)).toBe(FLEET.applications * FLEET.hosts);
  });

  it('when calls that took long become fast', async () => {
    const world = World.create(100, 0, [accountConfig({ hosts: false })]);
    world.reader.latency = () => 40_000;
    await world.scrapeFor(3_600);
    expect(await served(world, 'application_metrics')).toBe(100);
    world.reader.latency = () => 200;
    expect(await fewest(world, 'application_metrics', 900)).toBe(100);
  });
});

describe('a missing value stays absent until it is read again', () => {
  it('when the plan gets slower', async () => {
    const world = World.create(60, 0, [limited(600, { hosts: false })]);
    await world.scrape();
    world.reader.fault = ({ kind, applicationId }) =>
      kind === 'metric_data' && applicationId === 7 ? { reason: 'server', status: 500 } : undefined;
    const isServed = async () =>
      (await world.collector.snapshot(EVERYTHING)).blocks.some(
        ({ group, labels }) => group === 'application_metrics' && labels.app_id === '7',
      );
    await world.scrapeFor(420);
    expect(await isServed()).toBe(false);
    world.collector.reconfigure(config(limited(10, { hosts: false })));
    const seen: boolean[] = [];
    for (let scrape = 0; scrape < 40; scrape += 1) {
      await world.scrape();
      seen.push(await isServed());
      await world.clock.advance(15_000);
    }
    expect(seen).not.toContain(true);
  });
});
