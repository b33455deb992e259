import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { Snapshot } from '../../src/collect/collector.ts';
import { accountConfig, collectionConfig, config } from './support/config.ts';
import { EVERYTHING, NERDGRAPH, World } from './support/world.ts';

/** More applications than a snapshot or a refresh handles in one turn of the event loop. */
const MANY = 2_000;

/** A fleet whose calls carry 20 applications and are answered at once. */
function quickFleet(): World {
  const limits = { requests_per_minute: 100_000, max_concurrent_requests: 10 };
  const account = accountConfig({ api: 'nerdgraph', hosts: false, limits });
  const world = World.create(MANY, 0, [account], collectionConfig(), { ...NERDGRAPH, perCall: 20 });
  world.reader.latency = () => 0;
  return world;
}

/** Runs `act` at every tenth call of a first refresh, and returns all results. */
async function atEveryTenthCall<T>(world: World, act: () => Promise<T>): Promise<readonly T[]> {
  const acts: Promise<T>[] = [];
  let calls = 0;
  world.reader.seen = () => {
    calls += 1;
    if (calls % 10 === 0) acts.push(act());
  };
  await world.clock.run(world.collector.refresh(EVERYTHING, Infinity));
  return world.clock.run(Promise.all(acts));
}

/** Makes each step seem so long that other work gets a turn after it. */
function slowClock() {
  let time = performance.now();
  return vi.spyOn(performance, 'now').mockImplementation(() => (time += 10));
}

function freshAndHeld({ accounts, blocks }: Snapshot): { readonly fresh: number | undefined; readonly held: number } {
  const group = accounts[0]?.groups.find((status) => status.group === 'application_metrics');
  const held = blocks.filter((block) => block.group === 'application_metrics').length;
  return { fresh: group?.tasks.fresh, held };
}

describe('a snapshot that is built in slices', () => {
  it('counts as fresh exactly the values that it holds, while values keep arriving', async () => {
    const world = quickFleet();
    const responses = await atEveryTenthCall(world, () => world.collector.snapshot(EVERYTHING));
    const counts = responses.map(freshAndHeld);
    for (const { fresh, held } of counts) expect(fresh).toBe(held);
    expect(counts.filter(({ held }) => held > 0 && held < MANY).length).toBeGreaterThan(3);
    const last = await world.collector.snapshot(EVERYTHING);
    expect(freshAndHeld(last)).toEqual({ fresh: MANY, held: MANY });
    expect(last.complete).toBe(true);
    const planned = last.accounts[0]?.plan.groups.find(({ group }) => group === 'application_metrics');
    expect(planned?.callsPerRefresh).toBe(MANY / 20);
  });
});

describe('a snapshot during which the labels change', () => {
  it('has all values of an application under the same labels', async () => {
    const world = World.create(20, 2);
    await world.scrape();
    const clock = slowClock();
    const answering = world.collector.snapshot(EVERYTHING);
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    world.collector.reconfigure(config(accountConfig({ labels: { team: 'blue' } })));
    const { blocks } = await answering;
    clock.mockRestore();
    const ofApplications = world.reader.applications.map(({ id }) => {
      const ofApplication = blocks.filter(({ labels }) => labels['app_id'] === String(id));
      return [...new Set(ofApplication.map(({ labels }) => labels['team']))];
    });
    expect(ofApplications.every((found) => found.length === 1)).toBe(true);
    expect(new Set(ofApplications.flat())).toEqual(new Set([undefined, 'blue']));
  });
});

describe('applications that are built in slices', () => {
  it('follow the configuration of a reload that happens meanwhile', async () => {
    const world = World.create(20);
    const [{ inventory } = { inventory: undefined }] = world.collector.collectors();
    const clock = slowClock();
    const making = inventory?.makeRecords(world.reader.applications);
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    world.collector.reconfigure(config(accountConfig({ labels: { team: 'blue' } })));
    clock.mockRestore();
    inventory?.setApplications((await making) ?? []);
    const teams = Array.from(inventory?.applications.values() ?? [], ({ labels }) => labels.labels['team']);
    expect(teams).toEqual(Array(20).fill('blue'));
  });
});

describe('the status for the pages', () => {
  it('lets other work run between two tasks', async () => {
    const world = World.create(20, 2);
    await world.scrape();
    const clock = slowClock();
    let turns = 0;
    let counting = setImmediate(function count() {
      turns += 1;
      counting = setImmediate(count);
    });
    const { accounts } = await world.collector.overview({ groups: new Set() });
    clearImmediate(counting);
    clock.mockRestore();
    expect(turns).toBeGreaterThan(accounts[0]?.tasks.length ?? Infinity);
  });
});

describe('a refresh that queues its entities in slices', () => {
  it('waits for all entities, whenever it begins during another refresh, and reads none of them twice', async () => {
    const world = quickFleet();
    const missing = await atEveryTenthCall(world, async () => {
      await world.collector.refresh(EVERYTHING, Infinity);
      return MANY - freshOf(world);
    });
    expect(missing.length).toBeGreaterThan(10);
    expect(missing).toEqual(missing.map(() => 0));
    const asked = world.reader.callsOfKind('metric_data').flatMap(({ subjects }) => subjects);
    expect(asked).toHaveLength(MANY);
  });

  it('starts no call before all entities are queued, so that batches are full', async () => {
    const world = quickFleet();
    await world.scrape();
    await world.nextMinute(1);
    // The calls of a probe end while the refresh queues its entities.
    world.reader.calls.length = 0;
    const { collector } = world;
    await world.clock.run(Promise.all([collector.probe('main', 1, 9_500), collector.refresh(EVERYTHING, Infinity)]));
    const sizes = world.reader.callsOfKind('metric_data').map(({ subjects }) => subjects.length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(MANY);
    expect(sizes.filter((size) => size < 20).length).toBeLessThanOrEqual(1);
  });
});

function freshOf({ collector }: World): number {
  const group = collector.status()[0]?.groups.find((status) => status.group === 'application_metrics');
  return group?.tasks.fresh ?? 0;
}

describe('the plan of a large fleet', () => {
  it('is calculated once for all concurrent requests', async () => {
    const world = World.create(50);
    await world.scrape();
    await world.clock.advance(10_000);
    const counted = vi.spyOn(world.reader.metricData, 'take');
    // Nearly every step lets other work run, so the plan takes many turns.
    let milliseconds = 0;
    const time = vi.spyOn(performance, 'now').mockImplementation(() => (milliseconds += 2));
    const probes = world.reader.applications.map(({ id }) => ({ ...EVERYTHING, applicationId: id }));
    try {
      await world.clock.run(Promise.all(probes.map((scope) => world.collector.refresh(scope, 5_000))));
    } finally {
      time.mockRestore();
    }
    // The plan counts each application once.
    expect(counted.mock.calls.length).toBe(50);
  });

  it('lets other work run while it counts the calls of one kind', async () => {
    const world = World.create(200, 0, [accountConfig({ hosts: false })]);
    await world.scrape();
    await world.clock.advance(10_000);
    let milliseconds = 0;
    const time = vi.spyOn(performance, 'now').mockImplementation(() => (milliseconds += 2));
    const counted = { all: 0, inThisTurn: 0, most: 0 };
    const take = world.reader.metricData.take.bind(world.reader.metricData);
    vi.spyOn(world.reader.metricData, 'take').mockImplementation((...input) => {
      if (counted.inThisTurn === 0) setImmediate(() => (counted.inThisTurn = 0));
      counted.all += 1;
      counted.inThisTurn += 1;
      counted.most = Math.max(counted.most, counted.inThisTurn);
      return take(...input);
    });
    await world.clock.run(world.collector.refresh(EVERYTHING, 5_000)).finally(() => time.mockRestore());
    expect(counted.all).toBe(200);
    expect(counted.most).toBeLessThan(10);
  });
});
