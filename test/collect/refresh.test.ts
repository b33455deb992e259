import { describe, expect, it, vi } from 'vitest';
import { FAMILIES } from '../../src/metrics/catalogue.ts';
import { queryNames } from '../../src/metrics/windowFamilies.ts';
import { application, host, instance, keyTransaction } from './support/bodies.ts';
import type { MetricDataSubject } from '../../src/api/upstreamReader.ts';
import type { Snapshot } from '../../src/collect/collector.ts';
import { accountConfig, collectionConfig } from './support/config.ts';
import type { Call } from './support/fakeReader.ts';
import { EVERYTHING, World } from './support/world.ts';

const BIG_BUDGET = accountConfig({ limits: { requests_per_minute: 100_000, max_concurrent_requests: 50 } });

function pairs(calls: readonly Call[]): Set<string> {
  return new Set(
    calls.map(({ query }) => JSON.stringify([(query as { from: number }).from, (query as { to: number }).to])),
  );
}

describe('a refresh', () => {
  it('sends the same time range with every metric data call', async () => {
    const world = World.create(5, 2);
    await world.clock.advance(34_567);
    await world.scrape();
    const to = (Date.UTC(2026, 0, 1) - 120_000) / 1000;
    expect(world.reader.callsOfKind('metric_data')).toHaveLength(15);
    expect(pairs(world.reader.callsOfKind('metric_data'))).toEqual(new Set([JSON.stringify([to - 300, to])]));
  });

  it('makes one call per list, application, host, host list and name list, and no other', async () => {
    const world = World.create(4, 3);
    await world.scrape();
    expect(world.reader.calls).toHaveLength(2 + 4 * (1 + 1 + 1 + 3));
    await world.nextMinute(1);
    world.reader.calls.length = 0;
    await world.scrape();
    // Host lists are due every five minutes, name lists every six hours.
    expect(world.reader.calls).toHaveLength(2 + 4 * (1 + 3));
  });

  it('shares the calls in flight with concurrent scrapes', async () => {
    const world = World.create(4, 3);
    const deadline = world.clock.now() + 9_500;
    const scrapes = [1, 2, 3].map(() => world.collector.refresh(EVERYTHING, deadline));
    await world.clock.advance(150);
    scrapes.push(world.collector.refresh(EVERYTHING, deadline));
    await world.clock.run(Promise.all(scrapes));
    expect(world.reader.calls).toHaveLength(2 + 4 * 6);
    expect((await world.collector.snapshot(EVERYTHING)).complete).toBe(true);
  });

  it('ends at once where nothing is due, also right behind another one', async () => {
    const world = World.create(1);
    await world.scrape();
    const before = world.clock.monotonic();
    for (let behind = 0; behind < 8; behind += 1) {
      const scrapes = [world.collector.refresh(EVERYTHING, 9_500)];
      for (let turn = 0; turn < behind; turn += 1) await Promise.resolve();
      scrapes.push(world.collector.refresh(EVERYTHING, 9_500));
      await world.clock.run(Promise.all(scrapes));
    }
    expect(world.clock.monotonic()).toBe(before);
  });

  it('costs two servers at 15 seconds as many calls as one server at 60', async () => {
    const calls = async (every: number, servers: number): Promise<number> => {
      const world = World.create(6, 2);
      for (let second = 0; second < 600; second += every) {
        await world.clock.until(Date.UTC(2026, 0, 1) + second * 1000);
        await Promise.all(Array.from({ length: servers }, () => world.scrape()));
      }
      return world.reader.calls.length;
    };
    expect(await calls(15, 2)).toBe(await calls(60, 1));
  });

  it('reads again for the newer window what was in flight for the older one', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    await world.scrape();
    await world.nextMinute(55);
    world.reader.latency = () => 8_000;
    world.reader.calls.length = 0;
    void world.collector.refresh(EVERYTHING, 1_000);
    await world.clock.advance(5_000);
    await world.clock.run(world.collector.refresh(EVERYTHING, 30_000));
    expect(pairs(world.reader.callsOfKind('metric_data')).size).toBe(2);
    expect((await world.collector.snapshot(EVERYTHING)).complete).toBe(true);
  });
});

describe('a scrape', () => {
  it('ends when all due work has ended', async () => {
    const world = World.create(10, 1, [BIG_BUDGET]);
    // The list, then names with hosts, then metric data: three calls one after the other.
    expect((await world.scrape()).took).toBe(300);
  });

  it('ends at the deadline without the application that hangs, and the work goes on', async () => {
    const world = World.create(5, 0);
    world.reader.latency = ({ applicationId, kind }) => (applicationId === 3 && kind === 'metric_data' ? 20_000 : 100);
    const response = await world.scrape();
    expect(response).toMatchObject({ took: 9_500, complete: false });
    const apps = response.blocks
      .filter(({ group }) => group === 'application_metrics')
      .map(({ labels }) => labels.app_id);
    expect(apps).toEqual(['1', '2', '4', '5']);
    await world.clock.advance(15_000);
    const next = await world.collector.snapshot(EVERYTHING);
    expect(next.blocks.filter(({ group }) => group === 'application_metrics')).toHaveLength(5);
  });

  it('ends at once when the due work exceeds the deadline, and a large fleet is read in the background', async () => {
    const world = World.create(100, 0, [accountConfig({ limits: { requests_per_minute: 60 } })]);
    const first = await world.scrape();
    expect(first.took).toBe(100);
    expect(first.blocks.filter(({ group }) => group === 'applications')).toHaveLength(100);
    const second = await world.scrape();
    expect(second.took).toBe(0);
    await world.clock.advance(300_000);
    expect(
      (await world.collector.snapshot(EVERYTHING)).blocks.filter(({ group }) => group === 'application_metrics'),
    ).toHaveLength(100);
  });

  it.each([
    [21, 21, true],
    [21, 20, false],
  ])(
    'with %i calls under a budget of %i a minute gets them all before the deadline: %s',
    async (_, budget, complete) => {
      const limits = { requests_per_minute: budget, max_concurrent_requests: 2 };
      const world = World.create(10, 0, [accountConfig({ hosts: false, key_transactions: false, limits })]);
      await world.scrape({ groups: new Set(['applications']), listsOnly: true });
      const response = await world.scrape();
      expect(response.complete).toBe(complete);
      expect(world.reader.calls.length === 21).toBe(complete);
    },
  );

  it('ends at once while a pause outlasts the deadline', async () => {
    const world = World.create(3, 0);
    world.reader.fault = () => ({ reason: 'rate_limited', status: 429, retryAfter: 60 });
    expect((await world.scrape()).took).toBe(100);
    await world.clock.advance(10_000);
    expect((await world.scrape()).took).toBe(0);
  });

  it('judges freshness by its start', async () => {
    const world = World.create(2, 0);
    await world.scrape();
    await world.nextMinute(59.9);
    world.reader.latency = () => 300;
    expect(await world.scrape()).toMatchObject({ complete: true, took: 600 - 300 });
  });
});

describe('a metric data call', () => {
  it('asks for all metrics of one application or host', async () => {
    const world = World.create(1, 1);
    await world.scrape();
    for (const { query } of world.reader.callsOfKind('metric_data')) {
      const { names } = (query as MetricDataSubject).metrics;
      expect(names).toEqual(queryNames(['Datastore/MySQL/allWeb']));
    }
  });

  it('waits for the database types, and is sent without them when they cannot be read', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    world.reader.fault = ({ kind }) => (kind === 'metric_names' ? { reason: 'server', status: 500 } : undefined);
    const response = await world.scrape();
    expect(world.reader.calls.map(({ kind }) => kind).slice(-2)).toEqual(['metric_names', 'metric_data']);
    expect(world.value(response, 'newrelic_application_response_time_seconds')).toBe(0.1);
    for (const family of ['component_time_seconds', 'component_calls_per_second', 'total_time_seconds']) {
      expect(world.value(response, `newrelic_application_${family}`)).toBeUndefined();
    }
  });

  it('uses a list of datastores for the interval of that list', async () => {
    const world = World.create(1);
    await world.scrapeFor(370 * 60, 60);
    expect(world.reader.callsOfKind('metric_names')).toHaveLength(2);
  });

  it('takes two hours without a scrape for a pause, not for a clock that was set', async () => {
    const world = World.create(1);
    await world.scrape();
    await world.clock.advance(2 * 3_600_000);
    await world.scrape();
    // Their interval is six hours. After a clock that was set, everything is due.
    expect(world.reader.callsOfKind('metric_names')).toHaveLength(1);
  });

  it('gives no total time where the datastores became known only during the call', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    let failing = true;
    world.reader.fault = ({ kind }) =>
      kind === 'metric_names' && failing ? { reason: 'server', status: 500 } : undefined;
    world.reader.latency = ({ kind }) => (kind === 'metric_data' ? 9_000 : 100);
    await world.scrape(EVERYTHING, 1_000);
    failing = false;
    await world.clock.advance(6_000);
    await world.scrape(EVERYTHING, 4_000);
    const between = await world.collector.snapshot(EVERYTHING);
    expect(world.value(between, 'newrelic_application_response_time_seconds')).toBe(0.1);
    expect(world.value(between, 'newrelic_application_total_time_seconds')).toBeUndefined();
    await world.nextMinute(1);
    const next = await world.scrape(EVERYTHING, 30_000);
    expect(world.value(next, 'newrelic_application_total_time_seconds')).toBeCloseTo(0.05);
  });

  it('gives no total time of a host without a datastore that its application was asked for', async () => {
    const intervals = { metric_names: 60_000 };
    const world = World.create(1, 1, [accountConfig()], collectionConfig({ intervals }));
    await world.scrape();
    world.reader.names.set(1, ['Datastore/MySQL/allWeb', 'Datastore/Redis/allWeb']);
    await world.nextMinute(1);
    await world.scrape({ groups: new Set(['metric_names']) });
    await world.nextMinute(1);
    world.reader.latency = ({ hostKey }) => (hostKey === undefined ? 100 : 60_000);
    const response = await world.scrape();
    expect(world.value(response, 'newrelic_application_total_time_seconds')).toBeCloseTo(0.05);
    expect(world.value(response, 'newrelic_host_response_time_seconds')).toBe(0.1);
    expect(world.value(response, 'newrelic_host_total_time_seconds')).toBeUndefined();
  });
});

describe('failures and changes of the inventory', () => {
  it('a deleted application is absent from the next exposition', async () => {
    const world = World.create(3, 1);
    await world.scrape();
    world.reader.applications = world.reader.applications.slice(1);
    const response = await world.nextScrape();
    expect(new Set(response.blocks.map(({ labels }) => labels.app_id))).toEqual(new Set(['2', '3']));
    expect(response.complete).toBe(true);
  });

  it('a response that cannot be applied makes only its subject fail', async () => {
    const world = World.create(2, 1);
    const broken = {
      ...host(7),
      get key(): string {
        throw new Error('the key is broken');
      },
    };
    world.reader.hostsOf.set(1, [broken]);
    const response = await world.scrape();
    expect(response.complete).toBe(false);
    expect(world.group('hosts')).toMatchObject({ success: false, tasks: { fresh: 1, missing: 1 } });
    expect(JSON.stringify(world.lines)).toContain('the key is broken');
  });

  it('an error while a call is planned makes only that call fail', async () => {
    const world = World.create(2);
    const counted = vi.spyOn(world.reader, 'listCalls').mockReturnValueOnce(1).mockReturnValueOnce(1);
    counted.mockImplementationOnce(() => {
      throw new Error('the plan is broken');
    });
    await world.scrape();
    expect(world.status).toMatchObject({ up: false, budget: { inFlight: 0, lastMinute: 1 } });
    expect(JSON.stringify(world.lines)).toContain('the plan is broken');
    await world.clock.advance(10_000);
    expect((await world.scrape()).complete).toBe(true);
  });

  it.each(['hosts', 'instances'] as const)(
    '%s of an application are accepted up to 10,000, and none beyond, while those of other applications are',
    async (group) => {
      const world = World.create(2, 1, [accountConfig({ instances: true })]);
      world.reader.instancesOf.set(2, [instance(1)]);
      const list = (count: number): void => {
        const ids = Array.from({ length: count }, (_, index) => 10_000 + index);
        world.reader.hostsOf.set(
          1,
          ids.map((id) => host(id)),
        );
        world.reader.instancesOf.set(
          1,
          ids.map((id) => instance(id)),
        );
      };
      const refresh = async () => {
        await world.clock.advance(300_000);
        const { blocks } = await world.scrape({ groups: new Set([group]) });
        return blocks.filter((block) => block.group === group).length;
      };
      list(10_001);
      expect(await refresh()).toBe(1);
      expect(world.lines.find((line) => line.group === group)).toMatchObject({
        reason: 'too_large',
        problem: expect.stringMatching(
          group === 'hosts'
            ? /^application 1 .* has 10001 hosts; .* \(applications\.settings: hosts: false\)$/
            : /^application 1 .* has 10001 instances; .* \(instances: false\)$/,
        ) as string,
      });
      for (const count of [9_999, 10_000]) {
        list(count);
        expect(await refresh()).toBe(count + 1);
      }
    },
  );

  it('instances follow the newest list', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false, instances: true })]);
    const shown = ({ blocks }: Pick<Snapshot, 'blocks'>) => blocks.flatMap(({ labels }) => labels.instance_id ?? []);
    world.reader.instancesOf.set(1, [instance(5), instance(6)]);
    expect(shown(await world.scrape())).toEqual(['5', '6']);
    world.reader.instancesOf.set(1, [instance(6), instance(7)]);
    await world.clock.advance(600_000);
    expect(shown(await world.scrape())).toEqual(['6', '7']);
  });

  it('late responses for a deleted application are dropped', async () => {
    const world = World.create(2, 3);
    world.reader.latency = ({ kind, applicationId }) => (kind === 'hosts' && applicationId === 1 ? 70_000 : 100);
    await world.scrape();
    world.reader.applications = world.reader.applications.slice(1);
    await world.nextScrape();
    await world.clock.advance(30_000);
    expect(world.status.plan.groups.find(({ group }) => group === 'host_metrics')?.callsPerRefresh).toBe(3);
    const troubles = world.lines.filter(({ level, msg }) => level > 30 && !msg.includes('within the last hour'));
    expect(troubles).toEqual([]);
  });

  it.each([
    ['first', 10],
    ['last', 2_000],
  ])(
    'a host deleted upstream is absent from the next exposition, before its list is due, when its 404 comes %s',
    async (_, latency) => {
      const world = World.create(1, 2);
      await world.scrape();
      world.reader.hostsOf.set(1, [host(1001)]);
      world.reader.fault = ({ hostKey }) =>
        hostKey === '1000' ? { reason: 'not_found', status: 404, latency } : undefined;
      const response = await world.nextScrape();
      expect(response.blocks.map(({ labels }) => labels.host_id)).not.toContain('1000');
      expect(response.complete).toBe(true);
      expect(world.group('host_metrics').success).toBe(true);
      expect(world.reader.callsOfKind('hosts')).toHaveLength(2);
    },
  );

  it('a list is read early only once while upstream answers 404 for its members', async () => {
    const world = World.create(
      2,
      2,
      [accountConfig()],
      collectionConfig({ intervals: { applications: 3_600_000, hosts: 3_600_000 } }),
    );
    world.reader.fault = ({ kind, hostKey, applicationId }) =>
      kind === 'metric_data' && (hostKey === '1000' || applicationId === 2)
        ? { reason: 'not_found', status: 404 }
        : undefined;
    await world.scrape();
    // The lists were read in this window, so reading them again tells nothing new.
    expect([world.reader.callsOfKind('applications'), world.reader.callsOfKind('hosts')]).toMatchObject([
      { length: 1 },
      { length: 2 },
    ]);
    await world.scrapeFor(10 * 60, 60);
    expect(world.reader.callsOfKind('applications')).toHaveLength(2);
    expect(world.reader.callsOfKind('hosts', 1)).toHaveLength(2);
    expect(world.reader.callsOfKind('hosts', 2)).toHaveLength(2);
  });

  it('a renamed application appears only under its new name, with its hosts and key transactions', async () => {
    const world = World.create(1, 1);
    world.reader.keyTransactions = [keyTransaction(9, 1)];
    await world.scrape();
    world.reader.applications = [application(1, { name: 'renamed' })];
    const response = await world.nextScrape();
    expect(new Set(response.blocks.map(({ labels }) => labels.app))).toEqual(new Set(['renamed']));
    expect(response.blocks).toHaveLength(5);
  });

  it('an application that stops reporting keeps its state series and loses its metric data', async () => {
    const world = World.create(1, 1);
    await world.scrape();
    world.reader.applications = [application(1, { reporting: false, summary: undefined })];
    const response = await world.nextScrape();
    expect(response.blocks.map(({ group }) => group)).toEqual(['applications']);
    expect(world.value(response, 'newrelic_application_reporting')).toBe(0);
    world.reader.calls.length = 0;
    await world.nextScrape();
    expect(world.reader.calls.map(({ kind }) => kind)).toEqual(['applications', 'key_transactions']);
  });

  it('key transactions follow the exported applications where applications are filtered', async () => {
    const filtered = accountConfig({ applications: { exclude: [{ name: 'app-2' }] } });
    const world = World.create(2, 0, [filtered]);
    world.reader.keyTransactions = [keyTransaction(8, 1), keyTransaction(9, 2)];
    const response = await world.scrape();
    const keys = response.blocks.filter(({ group }) => group === 'key_transactions');
    expect(keys.map(({ labels }) => labels.key_transaction_id)).toEqual(['8']);
  });

  it('a selected key transaction has the name of its application, also one outside the listed ids', async () => {
    const chosen = accountConfig({
      applications: { include: [{ id: 1 }] },
      key_transactions: { include: [{ id: 9 }, { id: 10 }], exclude: [] },
    });
    const world = World.create(3, 0, [chosen]);
    world.reader.keyTransactions = [keyTransaction(8, 3), keyTransaction(9, 2), keyTransaction(10, 77)];
    const response = await world.scrape();
    const keys = response.blocks.filter(({ group }) => group === 'key_transactions');
    expect(keys.map(({ labels }) => [labels.key_transaction_id, labels.app, labels.app_id])).toEqual([
      ['9', 'app-2', '2'],
      ['10', '', '77'],
    ]);
    expect(response.blocks.filter(({ group }) => group === 'applications')).toHaveLength(1);
    expect(world.reader.callsOfKind('applications').map(({ query }) => query)).toEqual([
      { ids: [1] },
      { ids: [2, 77] },
    ]);
  });

  it('key transactions wait for the first list of applications and its names, unless that list fails', async () => {
    const world = World.create(1);
    world.reader.keyTransactions = [keyTransaction(8, 1)];
    world.reader.latency = ({ kind }) => (kind === 'applications' ? 15_000 : 100);
    expect((await world.scrape()).blocks).toEqual([]);
    expect(world.group('key_transactions').tasks).toEqual({ fresh: 0, stale: 0, missing: 1 });
    await world.clock.advance(6_000);
    const { blocks } = await world.scrape();
    expect(world.group('key_transactions').tasks).toEqual({ fresh: 1, stale: 0, missing: 0 });
    expect(new Set(blocks.map(({ labels }) => labels.app))).toEqual(new Set(['app-1']));
    expect(blocks.map(({ group }) => group)).toContain('key_transactions');

    const failing = new World();
    failing.reader.keyTransactions = [keyTransaction(8, 1)];
    failing.reader.fault = ({ kind }) => (kind === 'applications' ? { reason: 'server', status: 500 } : undefined);
    expect((await failing.scrape()).blocks[0]?.labels).toMatchObject({ app: '', app_id: '1' });
  });
});

describe('a scope', () => {
  it('of some groups refreshes these groups and their lists', async () => {
    const world = World.create(2, 1);
    await world.scrape({ groups: new Set(['key_transactions']) });
    expect(world.reader.calls.map(({ kind }) => kind)).toEqual(['applications', 'key_transactions']);
    const hosts = await world.scrape({ groups: new Set(['host_metrics']) });
    expect(new Set(hosts.blocks.map(({ group }) => group))).toEqual(new Set(['host_metrics']));
    expect(hosts.complete).toBe(true);
  });

  it('of no group makes no calls', async () => {
    const world = World.create(2, 1);
    expect(await world.scrape({ groups: new Set() })).toMatchObject({ took: 0, complete: true, blocks: [] });
    expect(world.reader.calls).toHaveLength(0);
  });

  it('is incomplete when the list of its entities could not be read', async () => {
    const world = new World();
    world.reader.fault = () => ({ reason: 'network' });
    expect((await world.scrape({ groups: new Set(['application_metrics']) })).complete).toBe(false);
  });

  it('is incomplete when an empty list could not be read again', async () => {
    const world = new World();
    const scope = { groups: new Set(['key_transactions'] as const) };
    expect((await world.scrape(scope)).complete).toBe(true);
    world.reader.fault = ({ kind }) => (kind === 'key_transactions' ? { reason: 'server' } : undefined);
    await world.nextMinute(1);
    expect((await world.scrape(scope)).complete).toBe(false);
  });

  it('of one application reads the lists and this application only', async () => {
    const world = World.create(3, 1);
    const probed = await world.probe(2);
    expect(probed).toMatchObject({ kind: 'result', success: true });
    expect(world.reader.calls.map(({ kind, applicationId }) => [kind, applicationId])).toEqual([
      ['applications', undefined],
      ['key_transactions', undefined],
      ['metric_names', 2],
      ['hosts', 2],
      ['metric_data', 2],
      ['metric_data', 2],
    ]);
  });
});

describe('a probe', () => {
  it.each([
    ['other', 1, 'unknown_account'],
    ['main', 99, 'unknown_application'],
  ] as const)('of %s/%i gives %s', async (account, id, kind) => {
    const world = World.create(1);
    const result = await world.probe(id, account);
    expect(result.kind).toBe(kind);
  });

  it('names the reason why no list can be read', async () => {
    const world = new World();
    world.reader.fault = () => ({ reason: 'server', status: 500 });
    const result = await world.probe();
    expect(result).toMatchObject({ kind: 'unreadable' });
    expect(JSON.stringify(result)).toContain('applications: server');
  });

  it('says that the database kind is unknown before there is metric data', async () => {
    const world = World.create(1);
    world.reader.fault = ({ kind }) => (kind === 'metric_data' ? { reason: 'server', status: 500 } : undefined);
    const probed = await world.probed();
    expect(probed.success).toBe(false);
    expect(probed.notes.find((note) => note.startsWith('database types: '))).toMatch(/; chosen: not decided$/);
    expect(probed.notes.join()).toContain('; failed once: ');
  });

  it('names for each family that was read why it is absent, and the groups that are not read', async () => {
    const world = World.create(1, 1);
    world.reader.keyTransactions = [keyTransaction(9, 1)];
    const probed = await world.probed();
    const present = new Set(probed.blocks.flatMap(({ samples }) => samples.columns.map(({ family }) => family.name)));
    const absent = probed.notes.flatMap(
      (note) => /^(newrelic_\w+) is absent: .+; it comes from ./.exec(note)?.[1] ?? [],
    );
    const unread = new Set(['instances', 'counters', 'entities']);
    const read = FAMILIES.filter(({ group }) => !unread.has(group)).map(({ name }) => name);
    expect(read.filter((name) => !present.has(name))).toEqual(absent);
    expect(absent).toContain('newrelic_application_queue_time_seconds');
    expect(absent).toContain('newrelic_host_queue_time_seconds');
    const noteOf = (name: string) => probed.notes.find((note) => note.startsWith(`${name} is absent: `)) ?? '';
    expect(noteOf('newrelic_application_queue_time_seconds')).toContain(
      'New Relic returned no WebFrontend/QueueTime; it comes from',
    );
    const without = World.create(1, 1, [accountConfig({ hosts: false })]);
    const { notes } = await without.probed();
    expect(notes).toContain('no hosts: they are off for the application (hosts, applications.settings)');
    expect(notes.filter((note) => note.startsWith('newrelic_host_'))).toEqual([]);
  });

  it('names the absent families of instances, where there are instances', async () => {
    const world = World.create(2, 0, [accountConfig({ instances: true })]);
    world.reader.instancesOf.set(1, [instance(5, { summary: undefined })]);
    const aboutInstances = async (id: number): Promise<string[]> =>
      (await world.probed(id)).notes.filter((note) => note.startsWith('newrelic_instance_'));
    expect((await aboutInstances(1)).join('\n')).toContain('newrelic_instance_rolling_requests_per_second is absent');
    expect(await aboutInstances(2)).toEqual([]);
  });

  it('explains why an application that does not report has no metric data', async () => {
    const world = new World();
    world.reader.applications = [application(1, { reporting: false })];
    const { success, notes } = await world.probed();
    expect(success).toBe(true);
    expect(notes).toContain('no metric data: the application does not report (applications.reporting_only)');
  });

  it('fails when anything of the application fails, and answers with the rest', async () => {
    const world = World.create(2, 1);
    world.reader.fault = ({ hostKey }) => (hostKey === '1000' ? { reason: 'timeout' } : undefined);
    expect(await world.probed(1)).toMatchObject({ success: false });
    expect(await world.probed(2)).toMatchObject({ success: true });
  });
});
