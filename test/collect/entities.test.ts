import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UpstreamError } from '../../src/api/upstreamError.ts';
import type { GoldenMetric, GoldenSubject, MonitoredEntity } from '../../src/api/upstreamReader.ts';
import { chooseEntities } from '../../src/collect/inventory/selection.ts';
import type { AccountConfig } from '../../src/config/config.ts';
import type { Family } from '../../src/metrics/family.ts';
import { goldenFamilies } from '../../src/metrics/monitoredFamilies.ts';
import { accountConfig, collectionConfig, config } from './support/config.ts';
import { NERDGRAPH, World } from './support/world.ts';
import { expectedSeries } from '../../src/tools/plan.ts';

type Selection = AccountConfig['entities'][number];

const SERVICE = 'EXT-SERVICE';
const THROUGHPUT = 'newrelic_ext_service_throughput';

function metric(name: string, over: Partial<GoldenMetric> = {}): GoldenMetric {
  const definition = { select: `count(${name})`, from: 'Metric', where: null, eventId: 'entity.guid' };
  return {
    ...{ name, title: `Title of ${name}`, unit: 'COUNT' },
    definition: { ...definition, eventObjectId: 'ENTITY_GUIDS' },
    ...over,
  };
}

const seriesNow = (world: World) => world.collector.collectors().map(expectedSeries)[0];

const METRICS = [metric('throughput'), metric('errorRate')];

function entity(name: string, over: Partial<MonitoredEntity> = {}): MonitoredEntity {
  const guid = `guid-${name}`;
  return { guid, name, reporting: true, healthStatus: 'green', tags: [], metrics: METRICS, ...over };
}

function selection(over: Partial<Selection> = {}): Selection {
  return {
    ...{ type: SERVICE, include: undefined, exclude: [], metrics: undefined, tags: [] },
    ...{ window: undefined, delay: undefined, interval: 60_000, max_entities: 1_000, ...over },
  };
}

function accountWith(...entities: readonly Selection[]): AccountConfig {
  return accountConfig({ entities, account_id: 7, applications: { read: false } });
}

function worldWith(entities: readonly Selection[], listed: readonly MonitoredEntity[]): World {
  const world = new World([accountWith(...entities)], collectionConfig(), NERDGRAPH);
  world.reader.monitored.set(SERVICE, listed);
  world.reader.golden = () => ({ throughput: 5, errorRate: 2 });
  return world;
}

/** The entities that upstream was asked for, sorted. */
const asked = (world: World): string[] =>
  world.reader
    .callsOfKind('golden_metrics')
    .flatMap(({ subjects }) => subjects.map((subject) => (subject as GoldenSubject).guid))
    .sort();

const warnings = (world: World): string[] => world.lines.filter(({ level }) => level === 40).map(({ msg }) => msg);

describe('entities', () => {
  it('are listed and read with a scrape, and published under the names and titles of New Relic', async () => {
    const tags = [{ key: 'team', values: ['web'] }];
    const world = worldWith([selection({ tags: ['team'] })], [entity('a', { tags }), entity('b')]);
    const response = await world.scrape();
    const labels = { account: 'main', entity: 'a', entity_guid: 'guid-a' };
    expect(world.value(response, THROUGHPUT, labels)).toBe(5);
    expect(world.value(response, 'newrelic_ext_service_error_rate', labels)).toBe(2);
    expect(world.value(response, 'newrelic_entity_info', { ...labels, entity_type: SERVICE, tag_team: 'web' })).toBe(1);
    expect(world.value(response, 'newrelic_entity_health_status', { ...labels, status: 'green' })).toBe(1);
    expect(world.group('golden_metrics')).toMatchObject({ success: true, intervalSeconds: 60, tasks: { fresh: 2 } });
    expect(world.group('entities')).toMatchObject({ success: true, tasks: { fresh: 1 } });
    expect(world.status.windowEnd).toBe(world.group('golden_metrics').oldestWindowEnd);
    expect(warnings(world)).toEqual([]);
  });

  it('of a type with its own delay are read over an earlier window, which counts as current', async () => {
    const world = worldWith([selection({ delay: 600_000 })], [entity('a')]);
    await world.scrape();
    const common = Math.floor(world.clock.now() / 60_000) * 60 - 120;
    expect(world.group('golden_metrics').oldestWindowEnd).toBe(common);
    expect(world.status.windowEnd).toBe(common);
    expect(world.status.entities).toMatchObject([{ windowEnd: common - 480 }]);
    expect(world.status.tasks.find(({ entity: name }) => name === 'a')).toMatchObject({ windowEnd: common - 480 });
  });

  it('that do not report are not read, and newrelic_entity_reporting shows it', async () => {
    const world = worldWith([selection()], [entity('a'), entity('silent', { reporting: false })]);
    const response = await world.scrape();
    expect(world.value(response, 'newrelic_entity_reporting', { entity: 'a' })).toBe(1);
    expect(world.value(response, 'newrelic_entity_reporting', { entity: 'silent' })).toBe(0);
    expect(world.value(response, THROUGHPUT, { entity: 'silent' })).toBeUndefined();
    expect(asked(world)).toEqual(['guid-a']);
  });

  it('beyond max_entities, by name and guid, are dropped, counted and logged once', async () => {
    const others = [
      entity('c', { reporting: false }),
      entity('b', { guid: 'guid-2' }),
      entity('b', { guid: 'guid-1' }),
    ];
    const world = worldWith(
      [selection({ max_entities: 2, exclude: [{ name: 'x*' }] })],
      [...others, entity('a'), entity('x1')],
    );
    await world.scrapeFor(12 * 60, 60);
    expect(new Set(asked(world))).toEqual(new Set(['guid-a', 'guid-1']));
    expect(world.status.entities).toMatchObject([{ type: SERVICE, listed: 5, exported: 2, leftOut: 2 }]);
    expect(world.reader.callsOfKind('entities').length).toBeGreaterThan(1);
    world.reader.monitored.set(SERVICE, [...others, entity('a'), entity('d')]);
    await world.scrapeFor(6 * 60, 60);
    expect(world.status.entities).toMatchObject([{ leftOut: 3 }]);
    expect(warnings(world)).toEqual(['entities: EXT-SERVICE has 4 entities and max_entities is 2: 2 are left out']);
  });

  it('keep their values over a reload of their selection, and are read at once for another window', async () => {
    const world = worldWith([selection()], [entity('a'), entity('b')]);
    await world.scrape();
    const calls = world.reader.calls.length;
    world.collector.reconfigure(config(accountWith(selection({ exclude: [{ name: 'b' }], metrics: ['throughput'] }))));
    const narrowed = await world.scrape();
    expect(world.value(narrowed, THROUGHPUT, { entity: 'a' })).toBe(5);
    expect(world.value(narrowed, THROUGHPUT, { entity: 'b' })).toBeUndefined();
    expect(world.value(narrowed, 'newrelic_ext_service_error_rate')).toBeUndefined();
    expect(world.value(narrowed, 'newrelic_entity_info', { entity: 'b' })).toBeUndefined();
    expect(world.reader.calls).toHaveLength(calls);
    world.reader.golden = ({ window, endsBefore }) => ({ throughput: window ?? endsBefore });
    world.collector.reconfigure(config(accountWith(selection({ window: 120_000 }))));
    expect(world.value(await world.scrape(), THROUGHPUT, { entity: 'a' })).toBe(120);
    world.collector.reconfigure(config(accountWith(selection({ delay: 600_000 }))));
    expect(world.value(await world.scrape(), THROUGHPUT, { entity: 'a' })).toBe(480);
    world.collector.reconfigure(config(accountConfig({ account_id: 7 })));
    const without = await world.scrape();
    expect(world.value(without, THROUGHPUT)).toBeUndefined();
    expect(world.value(without, 'newrelic_entity_info')).toBeUndefined();
  });

  it.each([
    ['few entities with many definitions each minute, many with one seldom', 1, 15, 10 + 5 / 15],
    ['few entities with many definitions seldom, many with one each minute', 15, 1, 5 + 10 / 15],
  ])('of different intervals are planned and paced by their own calls: %s', async (_, few, many, calls) => {
    const FEW = 'EXT-FEW';
    const account = accountWith(
      selection({ interval: many * 60_000 }),
      selection({ type: FEW, interval: few * 60_000 }),
    );
    const limits = { ...account.limits, requests_per_minute: 4 };
    const world = new World([{ ...account, limits }], collectionConfig(), { api: 'nerdgraph', perCall: 120 });
    const named = (count: number, prefix: string): MonitoredEntity[] =>
      Array.from({ length: count }, (_, index) => entity(`${prefix}${index}`));
    world.reader.monitored.set(SERVICE, named(600, 'many')).set(FEW, named(2, 'few'));
    // Each of the ten definitions of EXT-FEW takes its own call.
    const { goldenMetrics } = world.reader.entities;
    const take = goldenMetrics.take.bind(goldenMetrics);
    goldenMetrics.take = (subjects, range) => {
      const batch = take(subjects, range);
      const isFew = batch.subjects.some(({ guid }) => guid.startsWith('guid-few'));
      return { ...batch, calls: isFew ? 10 : batch.calls };
    };
    await world.scrapeFor(10 * 60, 60);
    const { groups, callsPerMinute, slowdown } = world.status.plan;
    expect(groups.find(({ group }) => group === 'golden_metrics')?.callsPerMinute).toBeCloseTo(calls);
    expect(slowdown).toBeCloseTo(callsPerMinute / 4);
    expect(world.group('golden_metrics').effectiveIntervalSeconds).toBeCloseTo(60 * slowdown);
  });

  it('are planned with a series for each percentile of a golden metric', async () => {
    const seriesOf = async (select: string): Promise<number> => {
      const metrics = [metric('took', { definition: { ...metric('took').definition, select } })];
      const world = worldWith([selection()], [entity('a', { metrics }), entity('b', { metrics })]);
      await world.scrape();
      return seriesNow(world) ?? NaN;
    };
    expect((await seriesOf('percentile(d, 50, 95, 99)')) - (await seriesOf('average(d)'))).toBe(2 * 2);
  });

  it('have a status with counts, golden metrics and their problems, age and failures', async () => {
    const types = [selection({ exclude: [{ name: 'x-*' }], max_entities: 3, metrics: ['throughput', 'bad', 'nope'] })];
    const bad = { ...metric('bad'), definition: { ...metric('bad').definition, from: 'Metric LIMIT 5' } };
    const metrics = [metric('throughput'), bad];
    const names = ['a', 'b', 'c', 'd', 'x-1', 'x-2'];
    const world = worldWith(
      types,
      names.map((name) => entity(name, { metrics, reporting: name !== 'c' })),
    );
    await world.scrape();
    const readAt = world.clock.now() / 1000;
    await world.nextMinute(5);
    world.reader.fault = ({ kind }) => (kind === 'golden_metrics' ? { reason: 'server' } : undefined);
    await world.scrape();
    const [status] = world.status.entities;
    expect(status).toMatchObject({
      ...{ type: SERVICE, state: 'fresh', success: true, problem: undefined },
      ...{ listed: 6, exported: 3, reporting: 2, excluded: 2, leftOut: 1, metrics: ['throughput'] },
      metricProblems: [
        { metric: 'nope', problem: 'no entity has it: they have bad, throughput' },
        { metric: 'bad', problem: expect.stringMatching(/^never requested: its definition its from/) as unknown },
      ],
      ...{ values: { fresh: 0, stale: 2, missing: 0 }, failing: 2, series: 2 },
    });
    expect(status?.oldestRead).toBeCloseTo(readAt, 0);
    expect(status?.lastSuccess).toBeCloseTo(readAt, 0);
  });

  it('without golden metrics are missing, and their list is retried as after a failure', async () => {
    const unread = new UpstreamError('the golden metrics failed', {
      ...{ endpoint: 'graphql:entities', status: 200, reason: 'forbidden' },
    });
    const failing = [
      entity('a'),
      entity('b', { metrics: [], unread }),
      entity('silent', { metrics: [], unread, reporting: false }),
    ];
    const world = worldWith([selection()], failing);
    world.reader.golden = ({ columns }) => Object.fromEntries(columns.map(({ name }) => [name, 7]));
    world.reader.subjectFault = (_, subject) =>
      (subject as Partial<GoldenSubject>).unread === undefined ? undefined : { reason: 'forbidden' };
    const response = await world.scrape();
    expect(world.value(response, THROUGHPUT, { entity: 'a' })).toBe(7);
    expect(world.value(response, 'newrelic_entity_info', { entity: 'b' })).toBe(1);
    expect(world.group('golden_metrics')).toMatchObject({ success: false, tasks: { fresh: 1, missing: 1 } });
    expect(world.group('entities')).toMatchObject({ success: false, tasks: { fresh: 1 } });
    expect(world.status.entities).toMatchObject([
      { problem: expect.stringContaining('golden metrics failed') as unknown },
    ]);
    const lists: number[] = [];
    await world.scrapeFor(200, 1, () => lists.push(world.reader.callsOfKind('entities').length));
    // Retries come with the first scrape after 5, 10, 20, 40 and 80 seconds.
    const readAt = lists.flatMap((count, second) => (count > (lists[second - 1] ?? 1) ? [second] : []));
    expect(readAt.map((second, index) => second - (readAt[index - 1] ?? 0))).toEqual([5, 11, 21, 41, 81]);
    world.reader.monitored.set(SERVICE, [entity('a'), entity('b'), entity('silent', { reporting: false })]);
    // The scrape that reads the list reads the entities too, however often they failed.
    let last = response;
    for (
      const before = world.reader.callsOfKind('entities').length;
      world.reader.callsOfKind('entities').length === before;
    ) {
      await world.clock.until(world.clock.now() + 1_000);
      last = await world.scrape();
    }
    expect(world.value(last, THROUGHPUT, { entity: 'b' })).toBe(7);
    for (const group of ['golden_metrics', 'entities'] as const) expect(world.group(group).success).toBe(true);
    expect(world.group('golden_metrics').tasks).toMatchObject({ fresh: 2, missing: 0 });
  });

  it('are chosen by name and guid in code points, in any order of the list', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\uffff', '\u{10000}'), maxLength: 3 });
    const names = fc.uniqueArray(fc.record({ name: text, guid: text }), {
      selector: ({ guid }) => guid,
      maxLength: 30,
    });
    const bytes = ({ name, guid }: MonitoredEntity): Buffer => Buffer.from(`${name}\u0000${guid}`);
    fc.assert(
      fc.property(names, fc.integer({ min: 1, max: 10 }), (listed, max_entities) => {
        const all = listed.map(({ name, guid }) => entity(name, { guid }));
        const { entities, leftOut } = chooseEntities(selection({ max_entities, exclude: [{ name: 'a*' }] }), all);
        const sorted = all
          .filter(({ name }) => !name.startsWith('a'))
          .sort((a, b) => Buffer.compare(bytes(a), bytes(b)));
        expect({ entities, leftOut }).toEqual({
          entities: sorted.slice(0, max_entities),
          leftOut: Math.max(0, sorted.length - max_entities),
        });
      }),
    );
  });

  it('keep their values while their list fails, and their golden metrics are still read', async () => {
    const world = worldWith([selection()], [entity('a')]);
    await world.scrape();
    world.reader.fault = ({ kind }) => (kind === 'entities' ? { reason: 'server' } : undefined);
    await world.scrapeFor(6 * 60, 60);
    expect(world.group('entities').success).toBe(false);
    expect(world.group('golden_metrics').success).toBe(true);
    expect(asked(world).length).toBeGreaterThan(5);
    expect(world.value(await world.scrape(), THROUGHPUT, { entity: 'a' })).toBe(5);
  });

  it('disappear with their values when they leave the list', async () => {
    const world = worldWith([selection()], [entity('a'), entity('b')]);
    await world.scrape();
    world.reader.monitored.set(SERVICE, [entity('a')]);
    await world.scrapeFor(6 * 60, 60);
    const response = await world.scrape();
    expect(world.value(response, THROUGHPUT, { entity: 'b' })).toBeUndefined();
    expect(world.value(response, THROUGHPUT, { entity: 'a' })).toBe(5);
  });
});

describe('golden metrics', () => {
  it('that the configuration names and no entity has cause one warning', async () => {
    const world = worldWith([selection({ metrics: ['throughput', 'nope'] })], [entity('a')]);
    await world.scrape();
    await world.nextScrape(5);
    expect(warnings(world)).toEqual([
      'entities: golden metric "nope" of EXT-SERVICE: no entity has it: they have errorRate, throughput',
    ]);
    expect(world.status.entities).toMatchObject([{ missingMetrics: warnings(world) }]);
  });

  it('with the same family name publish the first by name, with one warning', async () => {
    const metrics = [metric('error_rate'), metric('errorRate')];
    const world = worldWith([selection()], [entity('a', { metrics })]);
    world.reader.golden = () => ({ error_rate: 1, errorRate: 2 });
    const response = await world.scrape();
    await world.nextScrape(5);
    expect(world.value(response, 'newrelic_ext_service_error_rate')).toBe(2);
    expect(warnings(world)).toEqual([
      'entities: golden metric "error_rate" of EXT-SERVICE: left out: newrelic_ext_service_error_rate is the name of the golden metric "errorRate" of EXT-SERVICE already',
    ]);
  });

  it('with the same family name publish the second once no entity has the first', async () => {
    const world = worldWith(
      [selection()],
      [entity('a', { metrics: [metric('error_rate')] }), entity('b', { metrics: [metric('errorRate')] })],
    );
    world.reader.golden = () => ({ error_rate: 1, errorRate: 2 });
    await world.scrape();
    const [first] = world.reader.monitored.get(SERVICE) ?? [];
    world.reader.monitored.set(SERVICE, first === undefined ? [] : [first]);
    await world.scrapeFor(6 * 60, 60);
    expect(world.value(await world.scrape(), 'newrelic_ext_service_error_rate', { entity: 'a' })).toBe(1);
  });

  it('of two types with the same family name publish the first type, also if its list arrives last', async () => {
    const types = [selection({ type: 'A-B_C' }), selection({ type: 'A_B-C' })];
    const world = worldWith(types, []);
    const first = types[0]?.type ?? '';
    const second = types[1]?.type ?? '';
    world.reader.monitored.set(second, [entity('second', { metrics: [metric('x')] })]);
    world.reader.golden = () => ({ x: 1 });
    const before = await world.scrape();
    expect(world.value(before, 'newrelic_a_b_c_x', { entity: 'second' })).toBe(1);
    world.reader.monitored.set(first, [entity('first', { metrics: [metric('x')] })]);
    await world.scrapeFor(6 * 60, 60);
    const response = await world.scrape();
    expect(world.value(response, 'newrelic_a_b_c_x', { entity: 'first' })).toBe(1);
    expect(world.value(response, 'newrelic_a_b_c_x', { entity: 'second' })).toBeUndefined();
    expect(warnings(world)).toHaveLength(1);
  });

  it('with a name of the exporter or of the configuration are left out', async () => {
    const world = worldWith([selection({ type: 'EXPORTER-QUERY' })], []);
    world.reader.monitored.set('EXPORTER-QUERY', [entity('a', { metrics: [metric('success'), metric('other')] })]);
    world.reader.golden = () => ({ success: 1, other: 2 });
    const response = await world.scrape();
    expect(world.value(response, 'newrelic_exporter_query_success')).toBeUndefined();
    expect(world.value(response, 'newrelic_exporter_query_other')).toBe(2);
    expect(warnings(world)).toEqual([
      `entities: golden metric "success" of EXPORTER-QUERY: left out: newrelic_exporter_query_success is another metric's name`,
    ]);
  });

  it('that fail alone keep their last values up to max_age, with one warning, and are absent afterwards', async () => {
    const world = worldWith([selection()], [entity('a')]);
    await world.scrape();
    world.reader.failingMetrics = ['errorRate'];
    world.reader.golden = () => ({ throughput: 6 });
    const later = async (minutes: number): Promise<unknown[]> => {
      await world.scrapeFor(minutes * 60, 60);
      const response = await world.scrape();
      return [THROUGHPUT, 'newrelic_ext_service_error_rate'].map((family) => world.value(response, family));
    };
    expect(await later(2)).toEqual([6, 2]);
    expect(world.group('golden_metrics')).toMatchObject({ success: false, tasks: { fresh: 1 } });
    expect(await later(3)).toEqual([6, 2]);
    // The same holds if all reads fail from then on.
    world.reader.fault = ({ kind }) => (kind === 'golden_metrics' ? { reason: 'server' } : undefined);
    expect(await later(2)).toEqual([6, undefined]);
    const failing = 'entities: golden metric "errorRate" of EXT-SERVICE: cannot be read: golden_metrics: server';
    expect(warnings(world).filter((warning) => warning === failing)).toHaveLength(1);
  });

  it.each([
    [
      'an outage',
      (world: World, isOver: boolean) => (world.reader.fault = () => (isOver ? undefined : { reason: 'network' })),
    ],
    [
      'a silence',
      (world: World, reporting: boolean) => world.reader.monitored.set(SERVICE, [entity('a', { reporting })]),
    ],
  ])('that fail alone after %s longer than max_age do not return with old values', async (_, set) => {
    const world = worldWith([selection()], [entity('a')]);
    await world.scrape();
    set(world, false);
    await world.scrapeFor(30 * 60, 60);
    set(world, true);
    world.reader.failingMetrics = ['errorRate'];
    world.reader.golden = () => ({ throughput: 6 });
    let response = await world.scrape();
    for (; world.value(response, THROUGHPUT) !== 6; response = await world.scrape()) await world.nextMinute(1);
    expect(world.value(response, 'newrelic_ext_service_error_rate')).toBeUndefined();
  });

  it('that are in no list any more are forgotten, so that changing definitions do not use more memory', async () => {
    const world = worldWith([selection()], []);
    const read = async (
      from: string,
      title: string,
    ): Promise<GoldenSubject['columns'][number]['source'] | undefined> => {
      const renamed = { ...metric('throughput'), title };
      const metrics = [{ ...renamed, definition: { ...renamed.definition, from } }];
      world.reader.monitored.set(SERVICE, [entity('a', { metrics })]);
      await world.scrapeFor(6 * 60, 60);
      const last = world.reader.callsOfKind('golden_metrics').at(-1)?.subjects[0] as GoldenSubject | undefined;
      return last?.columns[0]?.source;
    };
    const first = await read('A', 'first');
    expect(await read('A', 'first')).toBe(first);
    await read('B', 'first');
    const again = await read('A', 'first');
    expect(again).toEqual(first);
    expect(again).not.toBe(first);
    let known: ReadonlyMap<string, Family> = new Map();
    const helpOf = (...titles: readonly string[]): string | undefined => {
      const metrics = titles.map((title) => ({ ...metric('throughput'), title }));
      const assigned = goldenFamilies([{ type: SERVICE, metrics }], () => false, known);
      known = assigned.byName;
      return assigned.families.get(SERVICE)?.get('throughput')?.help.slice(0, 5);
    };
    expect([helpOf('first'), helpOf('other'), helpOf(), helpOf('other')]).toEqual([
      'first',
      'first',
      undefined,
      'other',
    ]);
  });

  it('with an unreadable definition are never requested, and cause one warning', async () => {
    const bad = metric('bad');
    const definition = { ...bad.definition, from: 'Metric LIMIT 5' };
    const world = worldWith([selection()], [entity('a', { metrics: [metric('throughput'), { ...bad, definition }] })]);
    await world.scrape();
    const columns = world.reader
      .callsOfKind('golden_metrics')
      .flatMap(({ subjects }) => subjects as GoldenSubject[])
      .flatMap((subject) => subject.columns.map(({ name }) => name));
    expect(columns).toEqual(['throughput']);
    expect(warnings(world)).toMatchObject([
      expect.stringContaining('golden metric "bad" of EXT-SERVICE: never requested: its definition'),
    ]);
  });
});
