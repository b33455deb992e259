import { describe, expect, it } from 'vitest';
import { application, host, instance, keyTransaction, TRAFFIC } from './support/bodies.ts';
import type { Snapshot } from '../../src/collect/collector.ts';
import { accountConfig, collectionConfig, config, customMetric } from './support/config.ts';
import { EVERYTHING, NERDGRAPH, World } from './support/world.ts';

const QUEUE = customMetric({ name: 'newrelic_custom_queue_depth', match: 'Custom/Queue/{queue}/depth' });

function queues(world: World): void {
  world.reader.names.set(1, [
    'Custom/Queue/a/depth',
    'Custom/Queue/b/depth',
    'Custom/Queue/\ud800/depth',
    'Datastore/MySQL/allWeb',
  ]);
  const custom = { average_value: 7, max_value: 9, unused: 1 };
  world.reader.values = () => ({ ...TRAFFIC, 'Custom/Queue/a/depth': custom, 'Custom/Queue/b/depth': custom });
}

describe('a reload', () => {
  it('keeps held values without new calls', async () => {
    const world = World.create(3, 2);
    await world.scrape();
    const before = world.reader.calls.length;
    world.collector.reconfigure(config());
    expect(await world.scrape()).toMatchObject({ complete: true });
    expect(world.reader.calls).toHaveLength(before);
  });

  it('that shortens the delay causes a read of the newer window at once', async () => {
    const world = World.create(2, 1);
    await world.scrape();
    const before = world.reader.callsOfKind('metric_data').length;
    const { delay } = collectionConfig();
    world.collector.reconfigure(config(accountConfig(), collectionConfig({ delay: delay - 60_000 })));
    await world.clock.advance(2_000);
    expect(await world.scrape()).toMatchObject({ complete: true });
    expect(world.reader.callsOfKind('metric_data')).toHaveLength(2 * before);
  });

  it('that narrows the applications takes effect at once, and one that widens them with the next list', async () => {
    const only = (...ids: number[]) => accountConfig({ applications: { include: ids.map((id) => ({ id })) } });
    const world = World.create(4, 0, [only(1, 2)]);
    await world.scrape();
    expect(world.reader.callsOfKind('applications')[0]?.query).toEqual({ ids: [1, 2] });
    world.collector.reconfigure(config(only(2)));
    expect(new Set((await world.collector.snapshot(EVERYTHING)).blocks.map(({ labels }) => labels.app_id))).toEqual(
      new Set(['2']),
    );
    world.collector.reconfigure(config());
    const response = await world.scrape();
    expect(new Set(response.blocks.map(({ labels }) => labels.app_id))).toEqual(new Set(['1', '2', '3', '4']));
  });

  it('that widens the applications during a read of the narrow list causes another read of the list', async () => {
    const world = World.create(3, 0, [accountConfig({ applications: { include: [{ id: 1 }] } })]);
    void world.collector.refresh(EVERYTHING, 9_500);
    await world.clock.advance(50);
    world.collector.reconfigure(config());
    await world.clock.advance(100);
    const response = await world.scrape();
    expect(response.blocks.filter(({ group }) => group === 'applications')).toHaveLength(3);
  });

  it('that switches applications off forgets them, so they are unknown until their list is read again', async () => {
    const world = World.create(2, 0, [accountConfig({ hosts: false })]);
    world.reader.keyTransactions = [keyTransaction(9, 1)];
    await world.scrape();
    world.collector.reconfigure(config(accountConfig({ hosts: false, applications: { read: false } })));
    world.collector.reconfigure(config(accountConfig({ hosts: false })));
    expect(world.collector.applicationLists()).toEqual([
      { account: 'main', isOptional: false, listed: undefined, applications: undefined },
    ]);
    expect(world.status).toMatchObject({ up: false, applicationCounts: undefined });
    const { blocks } = await world.scrape();
    expect(world.status).toMatchObject({ up: true, applicationCounts: { listed: 2 } });
    expect(new Set(blocks.map(({ group }) => group))).toContain('key_transactions');
  });

  it('that changes the budget changes the effective interval at once, before any read', async () => {
    const account = (requests_per_minute: number) => accountConfig({ hosts: false, limits: { requests_per_minute } });
    const world = World.create(100, 0, [account(50)]);
    await world.scrapeFor(300);
    const interval = async () => {
      const { accounts } = await world.collector.snapshot({ groups: new Set() });
      return accounts[0]?.groups.find(({ group }) => group === 'application_metrics')?.effectiveIntervalSeconds;
    };
    expect(await interval()).toBeGreaterThan(100);
    world.collector.reconfigure(config(account(600)));
    expect(await interval()).toBe(60);
  });

  it('that switches key transactions off removes their series, and switched on again they are listed', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    world.reader.keyTransactions = [keyTransaction(9, 1), keyTransaction(10, 1)];
    const shown = ({ blocks }: Pick<Snapshot, 'blocks'>) =>
      blocks.filter(({ group }) => group === 'key_transactions').length;
    expect(shown(await world.scrape())).toBe(2);
    world.collector.reconfigure(config(accountConfig({ hosts: false, key_transactions: false })));
    expect(shown(await world.collector.snapshot(EVERYTHING))).toBe(0);
    expect(world.status.visible.keyTransactions).toBe(0);
    expect(shown(await world.nextScrape())).toBe(0);
    expect(world.reader.callsOfKind('key_transactions')).toHaveLength(1);
    world.collector.reconfigure(config(accountConfig({ hosts: false })));
    expect(shown(await world.scrape())).toBe(2);
  });

  it('that widens the key transactions causes a read of their list, and a narrower one acts at once', async () => {
    const only = (...ids: number[]) =>
      accountConfig({ hosts: false, key_transactions: { include: ids.map((id) => ({ id })), exclude: [] } });
    const world = World.create(1, 0, [only(9)]);
    world.reader.keyTransactions = [keyTransaction(9, 1), keyTransaction(10, 1)];
    const shown = ({ blocks }: Pick<Snapshot, 'blocks'>) =>
      blocks.flatMap(({ labels }) => labels.key_transaction_id ?? []);
    expect(shown(await world.scrape())).toEqual(['9']);
    world.collector.reconfigure(config(only(9, 10)));
    expect(shown(await world.scrape())).toEqual(['9', '10']);
    expect(world.reader.callsOfKind('key_transactions')).toHaveLength(2);
    world.collector.reconfigure(config(only(10)));
    expect(shown(await world.collector.snapshot(EVERYTHING))).toEqual(['10']);
  });

  it('that lists the applications by id keeps the names of the owners of selected key transactions', async () => {
    const chosen = { hosts: false, key_transactions: { include: [{ id: 9 }], exclude: [] } };
    const world = World.create(2, 0, [accountConfig(chosen)]);
    world.reader.keyTransactions = [keyTransaction(9, 2)];
    await world.scrape();
    world.collector.reconfigure(config(accountConfig({ ...chosen, applications: { include: [{ id: 1 }] } })));
    const { blocks } = await world.scrape();
    expect(blocks.find(({ group }) => group === 'key_transactions')?.labels).toMatchObject({ app: 'app-2' });
    await world.nextMinute(1);
    world.reader.calls.length = 0;
    const later = await world.scrape();
    expect(later.blocks.find(({ group }) => group === 'key_transactions')?.labels).toMatchObject({ app: 'app-2' });
    expect(world.reader.callsOfKind('applications')).toHaveLength(2);
  });

  it('relabels key transactions while the applications cannot be listed', async () => {
    const world = new World();
    world.reader.keyTransactions = [keyTransaction(9, 1)];
    world.reader.fault = ({ kind }) => (kind === 'applications' ? { reason: 'timeout' } : undefined);
    await world.scrape();
    world.collector.reconfigure(config(accountConfig({ labels: { team: 'blue' } })));
    const labels = (await world.collector.snapshot(EVERYTHING)).blocks.map((block) => block.labels);
    expect(labels).toEqual([expect.objectContaining({ key_transaction_id: '9', team: 'blue' })]);
  });

  it('that allows more calls at once applies to the next call', async () => {
    const account = (most: number) => accountConfig({ hosts: false, limits: { max_concurrent_requests: most } });
    const world = World.create(20, 0, [account(2)]);
    await world.scrape();
    expect(world.reader.mostInFlight).toBe(2);
    world.collector.reconfigure(config(account(5)));
    await world.nextScrape();
    expect(world.reader.mostInFlight).toBe(5);
  });

  it('that changes static labels changes them on every series', async () => {
    const world = World.create(1, 1, [accountConfig({ instances: true })]);
    world.reader.instancesOf.set(1, [instance(5)]);
    await world.scrape();
    world.collector.reconfigure(config(accountConfig({ instances: true, labels: { team: 'blue' } })));
    const { blocks } = await world.collector.snapshot(EVERYTHING);
    expect(blocks).toHaveLength(5);
    for (const { labels } of blocks) expect(labels).toMatchObject({ team: 'blue' });
  });

  it('that overrides the database kind recalculates held values', async () => {
    const world = World.create(1, 1);
    await world.scrape();
    const settings = [{ match: { id: 1 }, database_component: 'database' as const, hosts: undefined }];
    world.collector.reconfigure(config(accountConfig({ applications: { settings } })));
    const response = await world.collector.snapshot(EVERYTHING);
    expect(world.value(response, 'newrelic_application_total_time_seconds')).toBeCloseTo(0.08);
    expect(world.value(response, 'newrelic_host_total_time_seconds')).toBeCloseTo(0.08);
  });

  it('that changes the window applies to the next call', async () => {
    const world = World.create(1);
    await world.scrape();
    world.collector.reconfigure(config(accountConfig(), collectionConfig({ window: 60_000, delay: 180_000 })));
    world.reader.calls.length = 0;
    await world.clock.advance(125_000);
    await world.scrape();
    const { from, to } = world.reader.callsOfKind('metric_data')[0]?.query as { from: number; to: number };
    expect(to - from).toBe(60);
    expect(world.clock.now() / 1000 - to).toBeGreaterThanOrEqual(180);
  });

  it('does not retry failed reads, unless the key changes', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    world.reader.fault = ({ kind }) => (kind === 'metric_data' ? { reason: 'server', status: 500 } : undefined);
    await world.scrapeFor(45, 5);
    const before = world.reader.callsOfKind('metric_data').length;
    world.collector.reconfigure(config(accountConfig({ hosts: false, labels: { team: 'blue' } })));
    await world.scrape();
    expect(world.reader.callsOfKind('metric_data')).toHaveLength(before);
    world.keyOf = () => 'another key';
    world.collector.reconfigure(config(accountConfig({ hosts: false, labels: { team: 'blue' } })));
    await world.scrape();
    expect(world.reader.callsOfKind('metric_data')).toHaveLength(before + 1);
  });

  it('wakes scrapes that wait for removed work', async () => {
    const world = World.create(2, 1);
    world.reader.latency = ({ applicationId }) => (applicationId === 2 ? 60_000 : 100);
    const asked = world.clock.monotonic();
    const scrape = world.collector.refresh(EVERYTHING, 9_500);
    await world.clock.advance(1_000);
    world.collector.reconfigure(config(accountConfig({ applications: { exclude: [{ id: 2 }] } })));
    await world.clock.run(scrape);
    expect(world.clock.monotonic() - asked).toBe(1_000);
  });

  it('that fails changes nothing', async () => {
    const world = World.create(1);
    await world.scrape();
    world.readers.clear();
    const bad = { ...QUEUE, match: '{a}/{b}' };
    expect(() =>
      world.collector.reconfigure(config(accountConfig({ hosts: false, custom_metrics: [bad], labels: { a: 'b' } }))),
    ).toThrow();
    const { blocks } = await world.collector.snapshot(EVERYTHING);
    expect(blocks[0]?.labels).not.toHaveProperty('a');
    expect(world.opened.map(({ closed }) => closed)).toEqual([false, true]);
    expect(await world.nextScrape()).toMatchObject({ complete: true });
  });

  it('that fails for its second account closes the readers that it opened', () => {
    const world = new World();
    const [before] = world.opened;
    world.readers.clear();
    const bad = accountConfig({ name: 'other', custom_metrics: [{ ...QUEUE, match: '{a}/{b}' }] });
    expect(() => world.collector.reconfigure({ ...config(), accounts: [accountConfig(), bad] })).toThrow();
    expect(before?.closed).toBe(false);
    expect(world.opened.map(({ closed }) => closed)).toEqual([false, true, true]);
  });

  it.each([
    ['interface', { api: 'nerdgraph' as const }],
    ['account id', { account_id: 42 }],
    ['address', { base_url: 'https://api.eu.newrelic.com/v2' }],
  ])('that names another %s discards the old data and starts again', async (_, over) => {
    const world = World.create(1);
    await world.scrape();
    const [old] = world.opened;
    world.readers.delete('main');
    world.collector.reconfigure(config(accountConfig(over)));
    expect(old?.closed).toBe(true);
    expect((await world.collector.snapshot(EVERYTHING)).blocks).toEqual([]);
  });
});

describe('custom metrics', () => {
  it('are read in the same call, without names that cannot be requested', async () => {
    const world = World.create(1, 0, [accountConfig({ custom_metrics: [QUEUE], hosts: false })]);
    queues(world);
    const response = await world.scrape();
    expect(world.reader.callsOfKind('metric_data')).toHaveLength(1);
    expect(world.value(response, QUEUE.name, { queue: 'a' })).toBe(7);
    expect(world.value(response, QUEUE.name, { queue: 'b' })).toBe(7);
    expect(response.complete).toBe(true);
  });

  it('count in the plan with their calls', async () => {
    const world = World.create(1, 0, [accountConfig({ custom_metrics: [QUEUE], hosts: false })]);
    world.reader.names.set(
      1,
      Array.from({ length: 80 }, (_, index) => `Custom/Queue/${index}/depth`),
    );
    await world.scrape();
    expect(world.reader.callsOfKind('metric_data')).toHaveLength(4);
    expect(world.status.plan.groups.find(({ group }) => group === 'application_metrics')?.callsPerRefresh).toBe(4);
  });

  it('that a reload adds appear after the next refresh, and removed ones disappear at once', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    queues(world);
    await world.scrape();
    world.collector.reconfigure(config(accountConfig({ custom_metrics: [QUEUE], hosts: false })));
    await world.scrape();
    expect(world.value(await world.nextScrape(), QUEUE.name, { queue: 'a' })).toBe(7);
    const other = { ...QUEUE, name: 'newrelic_custom_other', value: 'max_value' };
    world.collector.reconfigure(config(accountConfig({ custom_metrics: [other], hosts: false })));
    expect(world.value(await world.collector.snapshot(EVERYTHING), QUEUE.name)).toBeUndefined();
    expect(world.value(await world.nextScrape(), other.name, { queue: 'a' })).toBe(9);
  });

  it('with other names after a reload cause a new read of the names', async () => {
    const world = World.create(1, 0, [accountConfig({ custom_metrics: [QUEUE], hosts: false })]);
    world.reader.names.set(1, ['Custom/Queue/a/depth', 'Custom/Pool/p/size']);
    world.reader.values = () => ({ ...TRAFFIC, 'Custom/Pool/p/size': { average_value: 3 } });
    await world.scrape();
    const pool = { ...QUEUE, name: 'newrelic_custom_pool_size', match: 'Custom/Pool/{pool}/size' };
    world.collector.reconfigure(config(accountConfig({ custom_metrics: [pool], hosts: false })));
    await world.scrape();
    expect(world.value(await world.nextScrape(), pool.name, { pool: 'p' })).toBe(3);
  });

  it('beyond their cap count as cut with each read, also where the exposition has none of them', async () => {
    const world = World.create(1, 0, [accountConfig({ custom_metrics: [{ ...QUEUE, max_series: 1 }], hosts: false })]);
    world.reader.names.set(1, ['Custom/Queue/a/depth', 'Custom/Queue/b/depth']);
    world.reader.values = () => TRAFFIC;
    const [first] = (await world.scrape()).cut;
    const [next] = (await world.nextScrape()).cut;
    expect([first?.series, next?.series]).toEqual([1, 1]);
    expect(next?.reading).not.toBe(first?.reading);
  });

  it('of hosts have as many series as the cap allows for the current hosts', async () => {
    const account = accountConfig({ custom_metrics: [{ ...QUEUE, scope: 'host', max_series: 2 }] });
    const world = World.create(1, 1, [account], collectionConfig({ intervals: { hosts: 60_000 } }));
    queues(world);
    world.reader.names.set(1, ['Custom/Queue/a/depth']);
    const served = async () => {
      const { blocks, cut } = await world.nextScrape();
      const series = blocks.filter(({ group }) => group === 'custom_metrics').length;
      return { series, cut: cut.map((each) => each.series) };
    };
    expect(await served()).toEqual({ series: 1, cut: [] });
    world.reader.hostsOf.set(
      1,
      [1, 2, 3].map((id) => host(id)),
    );
    await served();
    expect(await served()).toEqual({ series: 2, cut: [1] });
  });

  it('keep their families over a reload that does not change them', async () => {
    const account = accountConfig({ custom_metrics: [QUEUE], hosts: false });
    const world = World.create(1, 0, [account]);
    queues(world);
    const familyOf = async () =>
      (await world.collector.snapshot(EVERYTHING)).blocks
        .flatMap(({ samples }) => samples.columns)
        .find(({ family }) => family.name === QUEUE.name)?.family;
    await world.scrape();
    const before = await familyOf();
    world.collector.reconfigure(config(account));
    await world.nextScrape();
    expect(await familyOf()).toBe(before);
  });
});

it('a label that becomes static with a reload is on no series twice', async () => {
  const tags = { account: { applications: { tags: ['team'] }, custom_metrics: [QUEUE] }, label: 'tag_team' };
  const captured = { account: { custom_metrics: [QUEUE] }, label: 'queue' };
  for (const { account, label } of [tags, captured]) {
    const world = World.create(1, 1, [accountConfig(account)], collectionConfig(), NERDGRAPH);
    world.reader.applications = [{ ...application(1), tags: [{ key: 'team', values: ['web'] }] }];
    queues(world);
    const added = async () => {
      const { blocks } = await world.collector.snapshot(EVERYTHING);
      return blocks.flatMap(({ labels, samples }) =>
        samples.columns.map((column) => [Object.keys(labels), Object.keys(column.labels)] as const),
      );
    };
    await world.scrape();
    expect((await added()).some(([, names]) => names.includes(label))).toBe(true);
    const custom_metrics = [{ ...QUEUE, match: 'Custom/Queue/{name}/depth' }];
    world.collector.reconfigure(config(accountConfig({ custom_metrics, labels: { [label]: 'static' } })));
    const after = await added();
    expect(after.length).toBeGreaterThan(0);
    expect(after.every(([ofTask]) => ofTask.includes(label))).toBe(true);
    expect(after.some(([, names]) => names.includes(label))).toBe(false);
  }
});

describe('background mode', () => {
  const BACKGROUND = collectionConfig({ background: true });

  function start(world: World): () => void {
    return world.collector.refreshInBackground();
  }

  it('refreshes at the start and with each window, and scrapes neither wait nor make calls', async () => {
    const world = World.create(3, 1, [accountConfig()], BACKGROUND);
    const stop = start(world);
    expect(world.collector.isReady).toBe(false);
    await world.clock.advance(1_000);
    expect(world.collector.isReady).toBe(true);
    expect(await world.scrape()).toMatchObject({ took: 0, complete: true });
    await world.clock.advance(600_000);
    expect(world.reader.callsOfKind('metric_data', 1).length).toBe(2 * 11);
    stop();
    const calls = world.reader.calls.length;
    await world.clock.advance(600_000);
    expect(world.reader.calls).toHaveLength(calls);
    expect(world.clock.timers).toBe(0);
  });

  it('serves nothing beyond max_age although a refresh takes very long', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })], BACKGROUND);
    const stop = start(world);
    await world.clock.advance(10_000);
    world.reader.latency = () => 3_600_000;
    await world.clock.advance(400_000);
    expect(await world.scrape()).toMatchObject({ took: 0, blocks: [] });
    stop();
  });
});

describe('stopping', () => {
  it('answers waiting scrapes, aborts calls in flight, and logs no failures', async () => {
    const world = World.create(2);
    world.reader.latency = () => 60_000;
    const scrape = world.collector.refresh(EVERYTHING, 9_500);
    await world.clock.advance(10);
    await world.collector.stop();
    await scrape;
    await world.clock.advance(0);
    expect(world.reader.inFlight).toBe(0);
    expect(world.reader.closed).toBe(true);
    expect(world.lines.filter(({ level }) => level > 30)).toEqual([]);
  });
});

describe('a large fleet', () => {
  it('of 1,000 applications with 5 hosts each is refreshed with bounded work', async () => {
    const world = World.create(1_000, 5, [
      accountConfig({ limits: { requests_per_minute: 100_000, max_concurrent_requests: 100 } }),
    ]);
    world.reader.recording = false;
    const response = await world.scrape(EVERYTHING, 60_000);
    expect(response.complete).toBe(true);
    expect(response.blocks).toHaveLength(1_000 * (2 + 10));
    // Only needed values of a response stay in memory.
    world.reader.applications = [application(1)];
    expect((await world.nextScrape()).blocks).toHaveLength(12);
  });
});
