import { describe, expect, it } from 'vitest';
import type { RollingSummary } from '../../src/api/types.ts';
import type { FailureReason } from '../../src/api/upstreamError.ts';
import { application, keyTransaction } from './support/bodies.ts';
import { accountConfig, collectionConfig } from './support/config.ts';
import { EVERYTHING, NERDGRAPH, World } from './support/world.ts';

const nerdgraph = (over: Parameters<typeof accountConfig>[0] = {}): World =>
  new World([accountConfig({ api: 'nerdgraph', ...over })], collectionConfig(), NERDGRAPH);

const rolling = (perMinute: number): RollingSummary => ({
  responseTime: 0.2,
  requestRate: perMinute / 60,
  errorRate: 0,
  apdexTarget: undefined,
  apdexScore: 0.9,
  hostCount: undefined,
  instanceCount: undefined,
  concurrentInstanceCount: undefined,
});

function populated(applications: number, hosts: number, over: Parameters<typeof accountConfig>[0] = {}): World {
  const world = nerdgraph(over);
  world.populate(applications, hosts);
  world.reader.applications = world.reader.applications.map((one) => ({ ...one, summary: undefined }));
  world.reader.rollingValues = () => ({ summary: rolling(120), endUserSummary: undefined });
  return world;
}

/** One application with the key transactions 7 and 8; the rolling values of 8 fail for this reason. */
function withKeyTransactions(reason: FailureReason, listInterval = 60_000): World {
  const collection = collectionConfig({ intervals: { key_transactions: listInterval } });
  const world = World.create(1, 0, [accountConfig({ api: 'nerdgraph' })], collection, NERDGRAPH);
  world.reader.keyTransactions = [7, 8].map((id) => ({ ...keyTransaction(id, 1), summary: undefined }));
  world.reader.subjectFault = (kind, subject) =>
    kind === 'rolling' && 'keyTransactionId' in subject && subject.keyTransactionId === 8 ? { reason } : undefined;
  return world;
}

describe('an interface whose calls carry many subjects', () => {
  it('is read with as few calls as possible', async () => {
    const world = populated(25, 2);
    expect(await world.scrape()).toMatchObject({ complete: true });
    const calls = (kind: 'hosts' | 'metric_data') =>
      world.reader.callsOfKind(kind).map(({ subjects }) => subjects.length);
    // A call carries ten subjects, and never applications and hosts together.
    expect(calls('hosts')).toEqual([10, 10, 5]);
    expect(calls('metric_data').toSorted((a, b) => a - b)).toEqual([5, 10, 10, 10, 10, 10, 10, 10]);
    expect(world.reader.callsOfKind('metric_names')).toEqual([]);
  });

  it('has a plan in calls, without rows and groups for lists that it lacks', async () => {
    const world = populated(25, 2);
    await world.scrape();
    const plan = new Map(world.status.plan.groups.map(({ group, callsPerRefresh }) => [group, callsPerRefresh]));
    expect(plan.get('application_metrics')).toBe(3);
    expect(plan.get('host_metrics')).toBe(5);
    expect(plan.has('metric_names')).toBe(false);
    expect(world.status.groups.map(({ group }) => group)).not.toContain('metric_names');
    world.reader.calls.length = 0;
    await world.nextMinute(5);
    await world.scrape({ groups: new Set(['metric_names']) });
    expect(world.reader.calls).toEqual([]);
  });

  it('answers a scrape of more entities than the budget has calls', async () => {
    const world = populated(100, 0, { limits: { requests_per_minute: 60 } });
    expect(await world.scrape()).toMatchObject({ complete: true });
  });

  it('fails for a single subject alone', async () => {
    const world = populated(5, 0);
    world.reader.subjectFault = (kind, subject) =>
      kind === 'metric_data' && 'applicationId' in subject && subject.applicationId === 3
        ? { reason: 'invalid_response' }
        : undefined;
    const response = await world.scrape();
    const ids = response.blocks
      .filter(({ group }) => group === 'application_metrics')
      .map(({ labels }) => labels['app_id']);
    expect(ids).toEqual(['1', '2', '4', '5']);
    expect(world.group('application_metrics')).toMatchObject({
      success: false,
      tasks: { fresh: 4, stale: 0, missing: 1 },
    });
  });

  it('gives database types of applications and hosts with the metric data', async () => {
    const world = populated(1, 1);
    const response = await world.scrape();
    expect(world.value(response, 'newrelic_application_total_time_seconds')).toBeCloseTo(0.05);
    expect(world.value(response, 'newrelic_host_total_time_seconds')).toBeCloseTo(0.05);
    const labels = { component: 'Datastore/MySQL' };
    expect(world.value(response, 'newrelic_host_component_time_seconds', labels)).toBe(0.05);
  });

  it('lets a probe carry other due subjects that were requested, in its own call', async () => {
    const world = populated(8, 0);
    for (const id of [1, 2, 3]) await world.probe(id);
    await world.nextMinute(5);
    world.reader.calls.length = 0;
    await world.probe();
    const [call] = world.reader.callsOfKind('metric_data');
    expect(world.reader.callsOfKind('metric_data')).toHaveLength(1);
    expect(call?.subjects).toMatchObject([{ applicationId: 1 }, { applicationId: 2 }, { applicationId: 3 }]);
    await world.probe(2);
    expect(world.reader.callsOfKind('metric_data')).toHaveLength(1);
  });
});

describe('rolling values that are not in the lists', () => {
  it('have their own line in the notes of a probe, under another name than their list', async () => {
    const world = populated(1, 1);
    world.reader.keyTransactions = [{ ...keyTransaction(7, 1), summary: undefined }];
    const probed = await world.probed();
    const read = probed.notes.flatMap((note) => /^(.*): fresh, /.exec(note)?.[1] ?? []);
    expect(new Set(read).size).toBe(read.length);
    expect(read).toEqual(expect.arrayContaining(['applications', 'applications, rolling values']));
    expect(read).toEqual(expect.arrayContaining(['key_transactions', 'key_transactions, rolling values']));
    expect(read.filter((line) => line.startsWith('hosts'))).toHaveLength(2);
  });

  it('are published beside the values of the lists', async () => {
    const world = populated(1, 1);
    world.reader.keyTransactions = [{ ...keyTransaction(7, 1), summary: undefined }];
    const response = await world.scrape();
    for (const scope of ['application', 'host', 'key_transaction']) {
      expect(world.value(response, `newrelic_${scope}_rolling_requests_per_second`), scope).toBe(2);
      expect(world.value(response, `newrelic_${scope}_info`), scope).toBe(1);
    }
    expect(world.group('applications').tasks).toEqual({ fresh: 1, stale: 0, missing: 0 });
    expect(world.group('hosts').tasks).toEqual({ fresh: 1, stale: 0, missing: 0 });
  });

  it('that fail make their group fail, are served up to max_age, and hold up neither list nor discovery', async () => {
    const world = populated(2, 0);
    await world.scrape();
    world.reader.fault = ({ kind }) => (kind === 'rolling' ? { reason: 'timeout', latency: 30_000 } : undefined);
    const response = await world.nextScrape();
    expect(world.value(response, 'newrelic_application_rolling_requests_per_second')).toBe(2);
    expect(response.complete).toBe(false);
    expect(world.status.up).toBe(true);
    const groups = new Set(['applications'] as const);
    void world.collector.refresh({ groups }, 9_500);
    expect((await world.scrape({ groups, listsOnly: true })).took).toBe(0);
    await world.clock.advance(31_000);
    expect(world.group('applications')).toMatchObject({ success: false, tasks: { fresh: 0, stale: 2, missing: 0 } });
    for (let second = 0; second < 420; second += 30) {
      await world.scrape(EVERYTHING, 1_000);
      await world.clock.advance(29_000);
    }
    const later = await world.scrape(EVERYTHING, 1_000);
    expect(world.value(later, 'newrelic_application_rolling_requests_per_second')).toBeUndefined();
    expect(world.value(later, 'newrelic_application_info')).toBe(1);
    expect(world.group('applications').tasks).toEqual({ fresh: 0, stale: 0, missing: 2 });
  });

  it('of a deleted key transaction no longer make their group fail', async () => {
    const world = withKeyTransactions('timeout');
    await world.scrape();
    expect(world.group('key_transactions')).toMatchObject({ success: false, tasks: { fresh: 1, missing: 1 } });
    world.reader.keyTransactions = world.reader.keyTransactions.slice(0, 1);
    await world.nextScrape();
    expect(world.group('key_transactions')).toMatchObject({ success: true, tasks: { fresh: 1, missing: 0 } });
  });

  it('of a deleted key transaction cause a read of its list before it is due', async () => {
    const world = withKeyTransactions('not_found', 600_000);
    await world.scrape();
    world.reader.keyTransactions = world.reader.keyTransactions.slice(0, 1);
    await world.nextScrape();
    const response = await world.nextScrape();
    expect(world.reader.callsOfKind('key_transactions')).toHaveLength(2);
    expect(response.blocks.flatMap(({ labels }) => labels.key_transaction_id ?? [])).not.toContain('8');
  });
});

describe('accounts that share a NerdGraph key', () => {
  it('make at most 25 calls at once together, also through a reload, and do not slow other keys', async () => {
    const limits = { max_concurrent_requests: 20, requests_per_minute: 6_000 };
    const accounts = ['a', 'b', 'c'].map((name) => accountConfig({ name, api: 'nerdgraph', limits }));
    const world = new World(accounts, collectionConfig(), { api: 'nerdgraph', perCall: 1 });
    world.keyOf = (name) => (name === 'c' ? 'other' : 'shared');
    const { clock, collector, readers } = world;
    const inFlight = { most: 0, mostOfOther: 0 };
    for (const [name, reader] of readers) {
      reader.applications = Array.from({ length: 60 }, (_, index) => application(index + 1));
      reader.seen = () => {
        const shared = ['a', 'b'].reduce((sum, one) => sum + (readers.get(one)?.inFlight ?? 0), 1);
        if (name === 'c') inFlight.mostOfOther = Math.max(inFlight.mostOfOther, reader.inFlight + 1);
        else inFlight.most = Math.max(inFlight.most, shared);
      };
    }
    const refreshed = collector.refresh(EVERYTHING, 60_000);
    await clock.advance(150);
    expect(inFlight.most).toBe(25);
    collector.reconfigure({ accounts, collection: collectionConfig() });
    await clock.run(refreshed);
    expect((await collector.snapshot(EVERYTHING)).complete).toBe(true);
    expect(inFlight).toMatchObject({ most: 25, mostOfOther: 20 });
  });

  it('make at most 25 calls at once for each user, also at the moment when the users become known', async () => {
    const accounts = ['a', 'b', 'c'].map((name) => {
      const limits = { max_concurrent_requests: name === 'a' ? 5 : 20, requests_per_minute: 6_000 };
      return accountConfig({ name, api: 'nerdgraph', limits });
    });
    const world = new World(accounts, collectionConfig(), { api: 'nerdgraph', perCall: 1 });
    world.keyOf = (name) => name;
    const { clock, collector, readers } = world;
    let most = 0;
    for (const [name, reader] of readers) {
      reader.applications = Array.from({ length: 60 }, (_, index) => application(index + 1));
      reader.latency = ({ kind }) => (kind === 'applications' || kind === 'key_transactions' ? 100 : 1_000);
      reader.user = () => new Promise((resolve) => clock.after(500, () => resolve(name === 'a' ? 1 : 2)));
      reader.seen = () => {
        const ofUser = ['b', 'c'].reduce((sum, each) => sum + (readers.get(each)?.inFlight ?? 0), 1);
        if (name !== 'a') most = Math.max(most, ofUser);
      };
    }
    await clock.run(collector.refresh(EVERYTHING, 60_000));
    expect((await collector.snapshot(EVERYTHING)).complete).toBe(true);
    expect(most).toBe(25);
  });
});
