import { beforeEach, describe, expect, it } from 'vitest';
import type { QuerySubject } from '../../src/api/upstreamReader.ts';
import type { QueryDefinition } from '../../src/metrics/queryFamilies.ts';
import { keyTransaction } from './support/bodies.ts';
import { accountConfig, collectionConfig, config } from './support/config.ts';
import { NERDGRAPH, World } from './support/world.ts';

const MINUTE = 60_000;

function query(over: Partial<QueryDefinition> & { readonly name: string }): QueryDefinition {
  return {
    nrql: `SELECT count(*) FROM Order FACET region -- ${over.name}`,
    metrics: [{ name: 'shop_orders', help: 'Orders', scale: 1 }],
    interval: MINUTE,
    max_series: 5_000,
    ...over,
  };
}

const ORDERS = query({ name: 'orders' });
const QUEUES = query({ name: 'queues', interval: 5 * MINUTE, metrics: [{ name: 'queue', help: 'Jobs', scale: 1 }] });

const only = { groups: new Set(['queries'] as const) };

function worldWith(queries: readonly QueryDefinition[], over: Parameters<typeof accountConfig>[0] = {}): World {
  const world = new World([accountConfig({ queries, account_id: 7, ...over })], collectionConfig(), NERDGRAPH);
  for (const { nrql } of queries) {
    world.reader.rows.set(nrql, [
      { facet: 'eu', region: 'eu', count: 3 },
      { facet: 'us', region: 'us', count: 4 },
    ]);
  }
  return world;
}

/** The names of the queries that upstream saw, in their order. */
const asked = (world: World): string[] =>
  world.reader.callsOfKind('queries').map(({ subjects }) => (subjects[0] as QuerySubject).nrql.split('-- ')[1] ?? '');

describe('queries', () => {
  let world: World;

  beforeEach(() => {
    world = worldWith([ORDERS, QUEUES], { applications: { read: false } });
  });

  it('are read with a scrape, one call each, and published with the labels of the account', async () => {
    const response = await world.scrape();
    expect(asked(world)).toEqual(['orders', 'queues']);
    expect(world.value(response, 'shop_orders', { account: 'main', region: 'eu' })).toBe(3);
    expect(response.complete).toBe(true);
    expect(world.group('queries')).toMatchObject({ success: true, intervalSeconds: 60, tasks: { fresh: 2 } });
    expect(world.status.queries).toMatchObject([
      { name: 'orders', success: true, rows: 2, series: 2, dropped: { not_a_number: 0, repeated: 0 } },
      { name: 'queues', success: true },
    ]);
  });

  it('with a delay of their own have an earlier window that counts as current', async () => {
    world = worldWith([ORDERS, { ...QUEUES, delay: 240 * MINUTE }], { applications: { read: false } });
    await world.scrape();
    const ends = world.reader.callsOfKind('queries').map(({ subjects }) => (subjects[0] as QuerySubject).endsBefore);
    expect(ends).toEqual([0, 238 * 60]);
    const common = Math.floor(world.clock.now() / MINUTE) * 60 - 120;
    expect(world.group('queries').oldestWindowEnd).toBe(common);
    expect(world.status.queries).toMatchObject([{ windowEnd: common }, { windowEnd: common - 238 * 60 }]);
  });

  it('have a group with the shortest of their intervals, also beyond a day', async () => {
    world = worldWith([{ ...ORDERS, interval: 2_880 * MINUTE }], { applications: { read: false } });
    await world.scrape();
    expect(world.group('queries')).toMatchObject({ intervalSeconds: 172_800, effectiveIntervalSeconds: 172_800 });
  });

  it('of an account without applications report an outage once all of them fail', async () => {
    const entities = [{ type: 'EXT-SERVICE', exclude: [], tags: [], interval: MINUTE, max_entities: 10 }];
    world = worldWith([ORDERS, QUEUES], { applications: { read: false }, entities });
    await world.scrape(only);
    let unread = [ORDERS];
    world.reader.fault = ({ subjects: [subject] }) =>
      unread.some(({ nrql }) => nrql === (subject as QuerySubject).nrql)
        ? { reason: 'network', latency: 0 }
        : undefined;
    await world.nextMinute(5);
    await world.scrape(only);
    expect(world.status).toMatchObject({ up: true, outage: undefined });
    unread = [ORDERS, QUEUES];
    await world.clock.advance(5 * MINUTE);
    const since = world.clock.now() / 1000;
    await world.scrape(only);
    expect(world.status).toMatchObject({ up: false, outage: { since, reason: 'network' } });
  });

  it('are read at their own intervals', async () => {
    await world.scrapeFor(10 * 60, 60);
    expect(asked(world).filter((name) => name === 'orders')).toHaveLength(10);
    expect(asked(world).filter((name) => name === 'queues')).toHaveLength(2);
    // One query each minute, and one every five minutes.
    expect(world.status.plan.callsPerMinute).toBeCloseTo(1.2);
  });

  it('of an account without applications need no list: the account is up while they are answered', async () => {
    await world.scrape();
    expect(world.reader.callsOfKind('applications')).toEqual([]);
    expect(world.status).toMatchObject({ up: true, windowEnd: world.group('queries').oldestWindowEnd });
    expect(world.status.groups.map(({ group }) => group)).toEqual(['queries']);
  });

  it('fail alone: their rows are published up to max_age, and other queries go on', async () => {
    await world.scrape();
    world.reader.subjectFault = (_kind, subject) =>
      (subject as QuerySubject).nrql === ORDERS.nrql ? { reason: 'too_large' } : undefined;
    const later = await world.nextScrape(5);
    expect(world.value(later, 'shop_orders', { region: 'eu' })).toBe(3);
    expect(world.status.queries).toMatchObject([
      { success: false, problem: expect.stringContaining('too_large') as string },
      { success: true },
    ]);
    expect(world.group('queries').success).toBe(false);
    await world.scrapeFor(7 * 60, 60);
    const last = await world.scrape();
    expect(world.value(last, 'shop_orders')).toBeUndefined();
    expect(world.value(last, 'queue', { region: 'us' })).toBe(4);
  });

  it('with rows cut by New Relic are read again after their whole interval', async () => {
    world.reader.subjectFault = (_kind, subject) =>
      (subject as QuerySubject).nrql === QUEUES.nrql ? { reason: 'too_large' } : undefined;
    await world.scrapeFor(10 * 60, 15);
    expect(asked(world).filter((name) => name === 'queues')).toHaveLength(2);
  });

  it('that are refused are each retried, because no list tells when they are accepted', async () => {
    world.reader.fault = () => ({ reason: 'auth', status: 401 });
    await world.scrape();
    world.reader.fault = () => undefined;
    const response = await world.nextScrape(5);
    expect(world.value(response, 'shop_orders', { region: 'eu' })).toBe(3);
  });

  it('are added, removed and changed by a reload without calls for other queries', async () => {
    await world.scrape();
    const changed = { ...QUEUES, metrics: [{ name: 'queue', help: 'Jobs', scale: 10 }] };
    const added = query({ name: 'added', metrics: [{ name: 'more', help: 'More', scale: 1 }] });
    world.reader.rows.set(added.nrql, [{ facet: 'eu', count: 1 }]);
    const before = asked(world).length;
    const account = accountConfig({ queries: [added, ORDERS, changed], account_id: 7, applications: { read: false } });
    world.collector.reconfigure(config(account));
    const response = await world.scrape();
    expect(asked(world).slice(before)).toEqual(['added', 'queues']);
    expect(world.value(response, 'queue', { region: 'us' })).toBe(40);
    expect(world.value(response, 'shop_orders', { region: 'us' })).toBe(4);
    world.collector.reconfigure(
      config(accountConfig({ queries: [ORDERS], account_id: 7, applications: { read: false } })),
    );
    const last = await world.scrape();
    expect(world.value(last, 'more')).toBeUndefined();
    expect(world.value(last, 'shop_orders', { region: 'us' })).toBe(4);
    expect(asked(world)).toHaveLength(before + 2);
  });
});

describe('rows of a query', () => {
  it('without a number are counted, and one warning names the existing columns', async () => {
    const world = worldWith([query({ name: 'orders', metrics: [{ name: 'm', help: 'M', value: 'order', scale: 1 }] })]);
    await world.scrape(only);
    await world.nextMinute(5);
    await world.scrape(only);
    expect(world.status.queries[0]).toMatchObject({ series: 0, rows: 2, dropped: { not_a_number: 4 } });
    expect(world.status.warnings).toEqual([
      'queries: "orders" has rows without a number in "order": the columns are "count"',
    ]);
  });

  it('with only null in a column cause one warning where other columns have numbers', async () => {
    const nrql = 'SELECT getField(percentile(x, 99.5), 99.5) AS a FROM Order FACET region';
    const world = worldWith([query({ name: 'slow', nrql, metrics: [{ name: 'm', help: 'M', value: 'a', scale: 1 }] })]);
    world.reader.rows.set(nrql, [{ facet: 'eu', region: 'eu', a: null, 'percentile[99.5]': 3 }]);
    await world.scrape(only);
    expect(world.status.warnings).toEqual([
      'queries: "slow" has only null in "a", but numbers in "percentile[99.5]": check the name in "value", and the spelling of the attribute',
    ]);
    world.reader.rows.set(nrql, [{ facet: 'eu', region: 'eu', a: 3 }]);
    await world.nextMinute(5);
    await world.scrape(only);
    expect(world.status.warnings).toEqual([]);
  });

  it('with an object give percentiles only where the query calls them, at any depth', async () => {
    const ofColumn = (name: string, column: string) =>
      query({
        name,
        nrql: `SELECT ${column} FROM Order -- ${name}`,
        metrics: [{ name, help: 'M', scale: 1 }],
      });
    const queries = [
      ofColumn('sizes', 'histogram(d, 1000, 10)'),
      ofColumn('shares', 'cdfPercentage(d, 50, 100)'),
      ofColumn('took', 'filter(percentile(d, 50, 100), WHERE e = 1)'),
      ofColumn('buckets', 'bucketPercentile(b, 50, 100)'),
    ];
    const world = worldWith(queries);
    for (const { nrql } of queries) world.reader.rows.set(nrql, [{ column: { '50': 2, '100': 3 } }]);
    const response = await world.scrape(only);
    const published = queries.map(({ name }) => world.value(response, name, { percentile: '100' }));
    expect(published).toEqual([undefined, undefined, 3, 3]);
    expect(world.status.queries.map(({ dropped }) => dropped.not_a_number)).toEqual([1, 1, 0, 0]);
    expect(world.status.warnings).toEqual([
      'queries: "sizes" has rows without a number in "column": the columns are "column"',
      'queries: "shares" has rows without a number in "column": the columns are "column"',
    ]);
  });

  it.each(['PERCENTILE(d, 50, 95)', 'Percentile(d, 50, 95)', 'percentile(d, 50, 95)'])(
    'with the percentiles of %s are published in any case of their key',
    async (column) => {
      for (const [value, key] of ['PERCENTILE.d', 'Percentile.d', 'percentile.d'].flatMap((each) => [
        [each, 'percentile.d'],
        ['percentile.d', each],
        [undefined, each],
      ])) {
        const nrql = `SELECT ${column}${value === undefined ? '' : ', AVERAGE(d)'} FROM Order`;
        const more = value === undefined ? {} : { value };
        const world = worldWith([
          query({ name: 'took', nrql, metrics: [{ name: 'm', help: 'M', scale: 1, ...more }] }),
        ]);
        const average = value === undefined ? {} : { 'average.d': 9 };
        world.reader.rows.set(nrql, [{ [String(key)]: { '50': 2, '95': 3 }, ...average }]);
        const response = await world.scrape(only);
        expect(world.value(response, 'm', { percentile: '95' }), `${String(value)} ${String(key)}`).toBe(3);
        expect(world.status.warnings).toEqual([]);
      }
    },
  );

  it('with a list as a facet are all published', async () => {
    const world = worldWith([ORDERS]);
    const lists = [['a', 'b'], ['b'], ['a', 'b', 'c']];
    world.reader.rows.set(
      ORDERS.nrql,
      lists.map((region, index) => ({ facet: region, region, count: index })),
    );
    const response = await world.scrape(only);
    const values = lists.map((region) => world.value(response, 'shop_orders', { region: JSON.stringify(region) }));
    expect(values).toEqual([0, 1, 2]);
  });

  it('beyond max_series are cut and counted', async () => {
    const world = worldWith([query({ name: 'orders', max_series: 1 })]);
    const response = await world.scrape(only);
    expect(response.cut).toMatchObject([{ family: 'shop_orders', series: 1 }]);
    expect(world.status.queries[0]?.series).toBe(1);
  });
});

describe('a probe of an application', () => {
  it('leaves queries out, and a note says so', async () => {
    const world = worldWith([ORDERS]);
    world.populate(1);
    const result = await world.probe();
    expect(result).toMatchObject({
      kind: 'result',
      notes: expect.arrayContaining(['/probe leaves out queries: /metrics has them']) as string[],
    });
    expect(asked(world)).toEqual([]);
  });

  it('leaves queries out, and a note says so, also where the account reads no applications', async () => {
    const world = worldWith([ORDERS], { applications: { read: false } });
    const result = await world.probe();
    const notes = ['applications are not read (applications: false)', '/probe leaves out queries: /metrics has them'];
    expect(result).toEqual({ kind: 'unreadable', notes });
  });
});

describe('a probe', () => {
  it('answers with the data of its application alone, although everything else is held', async () => {
    const world = worldWith([ORDERS]);
    world.populate(3, 1);
    world.reader.keyTransactions = [keyTransaction(7, 2), keyTransaction(8, 3)];
    await world.scrape();
    const probed = await world.probe(2);
    const blocks = probed.kind === 'result' ? probed.blocks : [];
    expect(blocks.filter(({ labels }) => labels['app_id'] !== '2')).toEqual([]);
    expect(new Set(blocks.map(({ group }) => group))).toEqual(
      new Set(['applications', 'application_metrics', 'hosts', 'host_metrics', 'key_transactions']),
    );
    expect(blocks.flatMap(({ labels }) => labels['key_transaction_id'] ?? [])).toEqual(['7']);
  });
});
