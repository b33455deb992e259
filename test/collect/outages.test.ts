import { afterEach, describe, expect, it, vi } from 'vitest';
import { application } from './support/bodies.ts';
import { accountConfig, collectionConfig, config, query } from './support/config.ts';
import { EVERYTHING, NERDGRAPH, World } from './support/world.ts';

const QUARTER_HOUR = 900_000;

describe('while New Relic refuses every connection', () => {
  it('no scrape waits for retries that are not due yet', async () => {
    const world = World.create(3, 1);
    await world.scrapeFor(120);
    world.reader.fault = () => ({ reason: 'network', latency: 10 });
    const took: number[] = [];
    for (let scrape = 0; scrape < 60; scrape += 1) {
      took.push((await world.scrape()).took);
      await world.clock.advance(15_000);
    }
    expect(Math.max(...took)).toBeLessThan(1_000);
  });

  it('the collector makes progress and retries, with or without scrapes', async () => {
    const world = World.create(3, 1);
    await world.scrapeFor(120);
    world.reader.fault = () => ({ reason: 'network', latency: 10 });
    await world.scrapeFor(45);
    const calls = world.reader.calls.length;
    const progress: boolean[] = [];
    for (let second = 0; second < QUARTER_HOUR / 1000; second += 10) {
      await world.clock.advance(10_000);
      progress.push(world.collector.progressing());
    }
    expect(progress).not.toContain(false);
    expect(world.reader.calls.length).toBeGreaterThan(calls);
  });
});

describe('while New Relic fails for most applications', () => {
  it('every scrape waits for the healthy applications, although the failed ones are not due for a retry', async () => {
    const world = World.create(10, 0, [accountConfig({ hosts: false, key_transactions: false })]);
    world.reader.latency = () => 300;
    await world.scrapeFor(120);
    world.reader.fault = ({ kind, applicationId = 0 }) =>
      kind === 'metric_data' && applicationId > 2 ? { reason: 'server', latency: 300 } : undefined;
    const fresh: number[] = [];
    await world.nextMinute(1);
    await world.scrapeFor(600, 7, () => fresh.push(world.group('application_metrics').tasks.fresh));
    expect(Math.min(...fresh)).toBe(2);
  });
});

describe('an application that fails', () => {
  it.each([
    ['is retried after 5 seconds, and later each time', false, 3],
    ['and is set apart waits for its interval', true, 1],
  ])('%s', async (_, isSetApart, calls) => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    world.reader.fault = ({ kind }) => (kind === 'metric_data' ? { reason: 'other', isSetApart } : undefined);
    await world.scrapeFor(50, 5);
    expect(world.reader.callsOfKind('metric_data')).toHaveLength(calls);
  });
});

describe('an account that was idle for an hour', () => {
  it('makes progress while its first work waits for a place that another account of its key holds', async () => {
    const accounts = ['one', 'two'].map((name) =>
      accountConfig({ name, api: 'nerdgraph', hosts: false, limits: { max_concurrent_requests: 25 } }),
    );
    const world = new World(accounts, collectionConfig(), { api: 'nerdgraph', perCall: 1 });
    for (const reader of world.readers.values()) {
      reader.applications = Array.from({ length: 30 }, (_, index) => application(index + 1));
    }
    await world.scrape({ ...EVERYTHING, account: 'two' });
    await world.clock.advance(4 * QUARTER_HOUR);
    world.reader.latency = () => 30_000;
    void world.collector.refresh({ ...EVERYTHING, account: 'one' }, 0);
    await world.clock.advance(31_000);
    void world.collector.refresh({ ...EVERYTHING, account: 'two' }, 0);
    await world.clock.advance(1_000);
    expect(world.reader.inFlight).toBe(25);
    expect(world.collector.progressing()).toBe(true);
  });

  it('makes progress while its first work is prepared', async () => {
    const world = World.create(3);
    await world.scrape();
    await world.clock.advance(4 * QUARTER_HOUR);
    void world.collector.refresh(EVERYTHING, 0);
    for (let turn = 0; turn < 30; turn += 1) {
      expect(world.collector.progressing()).toBe(true);
      await Promise.resolve();
    }
  });
});

describe('in background mode', () => {
  it('the exporter is ready after one attempt for everything, although a part of the fleet never answers', async () => {
    const world = World.create(100, 0, [accountConfig({ hosts: false })], collectionConfig({ background: true }));
    world.reader.fault = ({ kind, applicationId = 0 }) =>
      kind === 'metric_data' && applicationId <= 40 ? { reason: 'timeout', latency: 30_000 } : undefined;
    const stop = world.collector.refreshInBackground();
    let readyAfter = 0;
    for (; readyAfter < 7_200 && !world.collector.isReady; readyAfter += 10) await world.clock.advance(10_000);
    stop();
    expect(new Set(world.reader.callsOfKind('metric_data').map(({ applicationId }) => applicationId)).size).toBe(100);
    // While only hanging applications are read, the account makes one call at a time.
    expect(readyAfter).toBeLessThan(1_000);
  });

  it('the exporter is not ready before the first attempt for the last application', async () => {
    const world = World.create(20, 0, [accountConfig({ hosts: false })], collectionConfig({ background: true }));
    world.reader.latency = ({ kind }) => (kind === 'metric_data' ? 10_000 : 100);
    const stop = world.collector.refreshInBackground();
    const tried = () => world.reader.callsOfKind('metric_data').filter(({ endedAt }) => endedAt !== undefined).length;
    while (tried() < 20) {
      expect(world.collector.isReady).toBe(false);
      await world.clock.advance(1_000);
    }
    await world.clock.advance(1);
    expect(world.collector.isReady).toBe(true);
    stop();
  });
});

describe('a reload while work is under way', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('that removes a query fails no scrape and holds up no scrape, at any moment', async () => {
    const settings = { hosts: false, account_id: 7 };
    const before = accountConfig({ ...settings, queries: [query('one'), query('two'), query('three')] });
    const after = accountConfig({ ...settings, queries: [query('one')] });
    // Each step seems so long that other work gets a turn after it.
    let time = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (time += 2.1));
    const held: string[] = [];
    for (let turn = 0; turn < 60; turn += 1) {
      const world = World.create(3, 0, [before], collectionConfig(), NERDGRAPH);
      const scrape = world.collector.refresh(EVERYTHING, 5_000).catch((error: unknown) => held.push(String(error)));
      for (let each = 0; each < turn; each += 1) await new Promise((resolve) => setImmediate(resolve));
      world.collector.reconfigure(config(after));
      await world.clock.run(scrape);
      const { took, complete } = await world.scrape();
      if (took > 1_000 || !complete) held.push(`turn ${turn}: the next scrape took ${took} ms`);
    }
    expect(held).toEqual([]);
  });

  it('that stops reading applications discards the lists in flight', async () => {
    const queries = [query('one')];
    const world = World.create(2, 1, [accountConfig({ account_id: 7, queries })], collectionConfig(), NERDGRAPH);
    const scrape = world.collector.refresh(EVERYTHING, 5_000);
    await world.clock.advance(50);
    expect(world.reader.inFlight).toBeGreaterThan(0);
    world.collector.reconfigure(config(accountConfig({ account_id: 7, queries, applications: { read: false } })));
    await world.clock.run(scrape);
    const { blocks, complete } = await world.scrape();
    expect(complete).toBe(true);
    expect(blocks.filter(({ labels }) => labels['app_id'] !== undefined)).toEqual([]);
    expect(world.reader.callsOfKind('metric_data')).toEqual([]);
  });

  it('that changes the request of a list causes an early read of the list, also after a failed attempt', async () => {
    const world = new World([accountConfig()], collectionConfig({ intervals: { key_transactions: QUARTER_HOUR } }));
    await world.scrape();
    const account = accountConfig({ key_transactions: { include: [{ id: 7 }], exclude: [] } });
    world.collector.reconfigure(config(account, collectionConfig({ intervals: { key_transactions: QUARTER_HOUR } })));
    world.reader.fault = ({ kind }) => (kind === 'key_transactions' ? { reason: 'network' } : undefined);
    await world.scrape();
    world.reader.fault = () => undefined;
    await world.clock.advance(10_000);
    await world.scrape();
    expect(world.reader.callsOfKind('key_transactions').map(({ outcome }) => outcome)).toEqual(['ok', 'network', 'ok']);
  });

  it.each([
    ['both accounts', (name: string) => `key of ${name}`],
    ['the account that holds the places', (name: string) => (name === 'one' ? 'another key' : 'key')],
  ])('to another key of %s leaves no call waiting for a place of the old key', async (_, keyOf) => {
    const accounts = ['one', 'two'].map((name) =>
      accountConfig({ name, api: 'nerdgraph', hosts: false, limits: { max_concurrent_requests: 25 } }),
    );
    const world = new World(accounts, collectionConfig(), { api: 'nerdgraph', perCall: 1 });
    const [first, second] = [...world.readers.values()];
    if (first === undefined || second === undefined) throw new Error('two accounts have two readers');
    first.applications = Array.from({ length: 30 }, (_, index) => application(index + 1));
    second.applications = [application(1)];
    first.latency = ({ kind }) => (kind === 'applications' ? 10 : 3_600_000);
    void world.collector.refresh({ ...EVERYTHING, account: 'one' }, 0);
    await world.clock.advance(1_000);
    expect(first.inFlight).toBe(25);
    void world.collector.refresh({ ...EVERYTHING, account: 'two' }, 0);
    await world.clock.advance(1_000);
    expect(second.calls).toEqual([]);
    world.keyOf = keyOf;
    world.collector.reconfigure({ accounts, collection: collectionConfig() });
    await world.clock.advance(1_000);
    expect(second.callsOfKind('metric_data')).toHaveLength(1);
  });
});
