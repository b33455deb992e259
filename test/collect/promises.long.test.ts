import { describe, expect, it } from 'vitest';
import type { Scope } from '../../src/collect/schedule/demand.ts';
import { application } from './support/bodies.ts';
import { accountConfig, collectionConfig } from './support/config.ts';
import type { Call } from './support/fakeReader.ts';
import { EVERYTHING, NERDGRAPH, World } from './support/world.ts';

/** Thousands of calls on a virtual clock take a while on a busy machine. */
const LONG = 120_000;

type Over = Parameters<typeof accountConfig>[0];

/** Applications without hosts over NerdGraph, ten of which go into a call. */
function nerdgraphWorld(applications: number, over: Over = {}): World {
  const account = accountConfig({ api: 'nerdgraph', hosts: false, ...over });
  return World.create(applications, 0, [account], collectionConfig(), NERDGRAPH);
}

/** Calls per minute, over the minutes between these times. */
function perMinute(calls: readonly Call[], from: number, to: number): number {
  return (calls.filter(({ startedAt }) => startedAt >= from && startedAt < to).length * 60_000) / (to - from);
}

/** The longest time, in seconds, between two calls for the data of an application, the second of them after `since`. */
function longestGap(calls: readonly Call[], since: number): number {
  const last = new Map<number | undefined, number>();
  let longest = 0;
  for (const { kind, applicationId, startedAt } of calls) {
    if (kind !== 'metric_data') continue;
    if (startedAt > since) longest = Math.max(longest, (startedAt - (last.get(applicationId) ?? startedAt)) / 1000);
    last.set(applicationId, startedAt);
  }
  return longest;
}

/** The most calls that upstream saw in any 60 seconds. */
function mostPerMinute(calls: readonly Call[]): number {
  return Math.max(
    ...calls.map(
      ({ startedAt }) =>
        calls.filter((other) => other.startedAt >= startedAt && other.startedAt < startedAt + 60_000).length,
    ),
  );
}

describe('an interval that the plan promises', () => {
  it.each([
    ['a little too small for the fleet', 36],
    ['much too small for it', 15],
  ])(
    'is kept to a quarter over an interface with batches, with a budget that is %s',
    async (_, requests_per_minute) => {
      const world = nerdgraphWorld(200, { limits: { requests_per_minute } });
      await world.scrapeFor(1_800);
      world.reader.calls.length = 0;
      let stale = 0;
      await world.scrapeFor(1_800, 15, () => (stale += world.group('application_metrics').tasks.stale));
      const promised = world.group('application_metrics').effectiveIntervalSeconds;
      expect(promised).toBeGreaterThan(65);
      const calls = world.reader.callsOfKind('metric_data');
      const reads = new Map<number, number>();
      for (const { subjects, startedAt } of calls) {
        for (const subject of subjects) {
          const id = (subject as { applicationId: number }).applicationId;
          // A scrape may come up to one scrape interval after the due time.
          expect((startedAt - (reads.get(id) ?? startedAt)) / 1000).toBeLessThanOrEqual(promised * 1.25 + 15);
          reads.set(id, startedAt);
        }
      }
      expect(reads.size).toBe(200);
      expect(calls.filter(({ subjects }) => subjects.length < 10).length / calls.length).toBeLessThan(0.1);
      expect(stale / (1_800 / 15) / 200).toBeLessThan(0.2);
    },
    LONG,
  );
});

describe('an exporter that is only probed', () => {
  it('plans full batches, keeps its interval, and makes no more calls than full scrapes', async () => {
    const world = nerdgraphWorld(100, { limits: { requests_per_minute: 100 } });
    const ids = world.reader.applications.map(({ id }) => id);
    const from = world.clock.now();
    for (let minute = 0; minute < 10; minute += 1) {
      for (const [index, id] of ids.entries()) {
        await world.clock.until(from + minute * 60_000 + index * 600);
        await world.probe(id);
      }
    }
    const planned = world.status.plan.groups.find(({ group }) => group === 'application_metrics');
    expect(planned?.callsPerRefresh).toBe(10);
    expect(world.group('application_metrics').effectiveIntervalSeconds).toBe(60);
    // Two lists, ten calls of data and ten of rolling values; a probe's call carries others that are due.
    expect(perMinute(world.reader.calls, from + 300_000, from + 600_000)).toBeLessThan(35);
    const lists = world.reader.callsOfKind('applications').filter(({ startedAt }) => startedAt >= from + 300_000);
    expect(lists.length).toBeGreaterThanOrEqual(5);
    // The plan covers only the probes, also before a page asks for it.
    const unseen = nerdgraphWorld(100);
    for (const id of ids) await unseen.probe(id);
    await unseen.clock.advance(6_000);
    await unseen.probe();
    const { accounts } = await unseen.collector.snapshot({ groups: new Set() });
    const calls = accounts[0]?.plan.groups.find(({ group }) => group === 'application_metrics')?.callsPerRefresh;
    expect(calls).toBe(10);
  });
});

describe('accounts of one key', () => {
  it(
    'take turns, promise what their share of the places carries, and keep the promise',
    async () => {
      const limits = { max_concurrent_requests: 5 };
      const accounts = Array.from({ length: 5 }, (_, index) =>
        accountConfig({ name: `account-${index}`, api: 'nerdgraph', hosts: false, limits }),
      );
      const world = new World(accounts, collectionConfig(), { api: 'nerdgraph', perCall: 1 });
      const readers = [...world.readers.values()];
      for (const reader of readers) {
        reader.applications = Array.from({ length: 30 }, (_, index) => application(index + 1));
        reader.latency = () => 8_000;
      }
      const from = world.clock.now();
      await world.scrapeFor(2_400);
      const ofData = world.collector
        .status()
        .map(({ groups }) => groups.find(({ group }) => group === 'application_metrics'));
      for (const status of ofData) {
        // 62 calls a minute each, of 188 that 25 places carry for all five.
        expect(status?.effectiveIntervalSeconds).toBeGreaterThan(60 * 1.6);
        expect(status?.effectiveIntervalSeconds).toBeLessThan(60 * 2.2);
        expect(status?.tasks.missing).toBe(0);
      }
      // At most a quarter longer, or until the next scrape: the slices of the work decide who comes first.
      const promised = Math.max(...ofData.map((status) => status?.effectiveIntervalSeconds ?? Infinity));
      const gaps = readers.map((reader) => longestGap(reader.calls, from + 600_000));
      expect(Math.max(...gaps)).toBeLessThanOrEqual(Math.max(promised * 1.25, promised + 15));
      const calls = readers.map((reader) => perMinute(reader.calls, from + 1_200_000, from + 2_400_000));
      expect(Math.min(...calls)).toBeGreaterThan(0.85 * Math.max(...calls));
    },
    LONG,
  );
});

describe('work that has not started when the window moves on', () => {
  it('is done for the window of its start, also without requests in between', async () => {
    const world = World.create(200, 0, [accountConfig({ hosts: false, limits: { requests_per_minute: 60 } })]);
    await world.scrape();
    await world.clock.advance(600_000);
    const calls = world.reader.callsOfKind('metric_data');
    expect(calls.length).toBe(200);
    for (const { query, startedAt } of calls) {
      const { to } = query as { to: number };
      expect(startedAt - to * 1000).toBeLessThan(180_000);
      expect(startedAt - to * 1000).toBeGreaterThanOrEqual(120_000);
    }
  });
});

describe('refreshes with nothing due', () => {
  it('hold nothing up, however many come', async () => {
    const world = World.create(50, 0, [accountConfig({ hosts: false })]);
    await world.scrape();
    await world.nextMinute(1);
    await world.scrape({ groups: new Set(['applications', 'key_transactions']) });
    world.reader.calls.length = 0;
    const lists: Scope = { groups: new Set(['applications']), listsOnly: true };
    const asked = { times: 0 };
    const startedAfter: number[] = [];
    world.reader.seen = () => startedAfter.push(asked.times);
    const ask = async (): Promise<void> => {
      for (let time = 0; time < 1_000; time += 1) {
        await world.collector.refresh(lists, 1_000);
        asked.times += 1;
        // Refreshes come as from a server that answers one request after the other.
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const asking = [ask(), ask(), ask()];
    void world.collector.refresh(EVERYTHING, 9_500);
    await Promise.all(asking);
    expect(startedAfter.length).toBeGreaterThanOrEqual(5);
    expect(Math.max(...startedAfter)).toBeLessThan(300);
  });
});

describe('an upstream where everything fails', () => {
  it.each([
    ['every call', () => true, 12],
    // Each failed task is retried at most once in its interval.
    ['every query of data', ({ kind }: Call) => kind === 'metric_data' || kind === 'rolling', 3 * 34],
  ])('%s: gets few calls, and all of them again once it answers', async (_, fails, most) => {
    const world = nerdgraphWorld(160);
    await world.scrapeFor(600);
    world.reader.fault = (call) => (fails(call) ? { reason: 'timeout', latency: 2_000 } : undefined);
    await world.nextMinute(0);
    // These calls were in flight and fail for the first time.
    await world.scrapeFor(120);
    world.reader.calls.length = 0;
    await world.scrapeFor(900);
    expect(mostPerMinute(world.reader.calls)).toBeLessThanOrEqual(most);
    world.reader.fault = () => undefined;
    await world.scrapeFor(120);
    expect(await world.scrape()).toMatchObject({ complete: true });
  });

  it('gets at most one call in five seconds from the first call on', async () => {
    const world = new World([accountConfig()]);
    world.reader.fault = () => ({ reason: 'network', latency: 10 });
    for (let second = 0; second < 300; second += 1) {
      await world.scrape();
      await world.clock.advance(1_000);
    }
    expect(mostPerMinute(world.reader.calls)).toBeLessThanOrEqual(12);
    // Two lists are tried once a minute each.
    expect(world.reader.calls.length).toBeGreaterThanOrEqual(10);
  });
});

describe('a window that moves on by more than the monotonic clock does', () => {
  it.each([
    ['a minute', 61_000],
    ['a day', 86_400_000],
  ])('makes everything due at once: %s', async (_, ms) => {
    const world = World.create(3, 2);
    await world.scrape();
    await world.clock.advance(10_000);
    expect((await world.scrape()).complete).toBe(true);
    world.clock.step(ms);
    // Without another request, the old values stay.
    const before = await world.collector.snapshot(EVERYTHING);
    expect(before.complete).toBe(false);
    expect(world.group('host_metrics').tasks).toEqual({ fresh: 0, stale: 6, missing: 0 });
    world.reader.calls.length = 0;
    expect(await world.scrape()).toMatchObject({ complete: true });
    // The lists of hosts and of names are due too.
    expect(world.reader.calls).toHaveLength(2 + 3 * (1 + 1 + 1 + 2));
    world.reader.calls.length = 0;
    await world.scrape();
    expect(world.reader.calls).toEqual([]);
  });
});

describe('a client that disconnects', () => {
  it('leaves nothing behind except its refresh', async () => {
    const world = World.create(20, 0, [accountConfig({ hosts: false })]);
    world.reader.fault = ({ kind }) =>
      kind === 'applications' ? undefined : { reason: 'rate_limited', status: 429, retryAfter: 100 };
    await world.scrape();
    const timers = world.clock.timers;
    const ended = { times: 0 };
    for (let client = 0; client < 500; client += 1) {
      const gone = new AbortController();
      void world.collector.refresh(EVERYTHING, 110_000 + client, gone.signal).then(() => (ended.times += 1));
      gone.abort();
    }
    await world.clock.advance(1);
    expect(ended.times).toBe(500);
    expect(world.clock.timers).toBe(timers);
    world.reader.fault = () => undefined;
    await world.clock.advance(200_000);
    expect(new Set(world.reader.callsOfKind('metric_data').map(({ applicationId }) => applicationId)).size).toBe(20);
  });

  it('is released at once while it waits, and gets the held values', async () => {
    const world = World.create(2, 0, [accountConfig({ hosts: false })]);
    await world.scrape();
    await world.nextMinute(1);
    world.reader.latency = () => 30_000;
    const giveWay = new AbortController();
    const asked = world.clock.monotonic();
    const refresh = world.collector.refresh(EVERYTHING, 60_000, giveWay.signal);
    const other = world.collector.refresh(EVERYTHING, 60_000);
    await world.clock.advance(5_000);
    giveWay.abort();
    await refresh;
    expect(world.clock.monotonic() - asked).toBe(5_000);
    const response = await world.collector.snapshot(EVERYTHING, asked);
    expect(response.blocks.filter(({ group }) => group === 'application_metrics')).toHaveLength(2);
    // Other clients that wait for the same data continue to wait.
    await world.clock.run(other);
    expect(world.clock.monotonic() - asked).toBeGreaterThanOrEqual(30_000);
    expect((await world.collector.snapshot(EVERYTHING, asked)).complete).toBe(true);
  });
});
