import { describe, expect, it } from 'vitest';
import type { FailureReason } from '../../src/api/upstreamError.ts';
import { accountConfig, collectionConfig } from './support/config.ts';
import { EVERYTHING, World } from './support/world.ts';

const START = Date.UTC(2026, 0, 1);

describe('the budget', () => {
  it('is used up where it cannot carry the fleet, and every entity gets its share', async () => {
    const world = World.create(150, 0, [accountConfig({ hosts: false, limits: { requests_per_minute: 100 } })]);
    await world.scrapeFor(600, 60);
    world.reader.calls.length = 0;
    await world.scrapeFor(1_200, 60);
    expect(world.reader.calls.length).toBeGreaterThan(0.95 * 20 * 100);
    const reads = Array.from({ length: 150 }, (_, index) => world.reader.callsOfKind('metric_data', index + 1).length);
    expect(Math.min(...reads)).toBeGreaterThanOrEqual(Math.max(...reads) - 2);
    expect(Math.min(...reads)).toBeGreaterThanOrEqual(11);
    expect(world.reader.callsOfKind('applications').length).toBeGreaterThanOrEqual(11);
  });

  it('shows its slowdown in the effective interval and in the due times', async () => {
    const world = World.create(148, 0, [accountConfig({ hosts: false, limits: { requests_per_minute: 50 } })]);
    await world.scrapeFor(900);
    const { intervalSeconds, effectiveIntervalSeconds, tasks, oldestWindowEnd } = world.group('application_metrics');
    expect(intervalSeconds).toBe(60);
    expect(effectiveIntervalSeconds).toBeCloseTo((60 * (148 + 2 + 148 / 360)) / 50, 5);
    expect(tasks.missing).toBe(0);
    expect(world.clock.now() / 1000 - (oldestWindowEnd ?? 0)).toBeLessThan(120 + 60 + 181 + 60);
    expect(world.status.warnings.join()).toContain('requests_per_minute');
  });
});

describe('an overload response', () => {
  it('pauses only its own account', async () => {
    const other = accountConfig({ name: 'other' });
    const world = World.create(3, 0, [accountConfig(), other]);
    world.reader.fault = ({ startedAt }) =>
      startedAt < START + 1_000 ? { reason: 'rate_limited', status: 429, retryAfter: 40 } : undefined;
    await world.scrapeFor(90);
    const times = world.reader.calls.map(({ startedAt }) => startedAt - START);
    expect(times.filter((time) => time > 100 && time < 40_000)).toEqual([]);
    expect(times.some((time) => time >= 40_000)).toBe(true);
    expect(world.readers.get('other')?.calls.length).toBeGreaterThan(2);
  });

  it('lets no other call start before the pause', async () => {
    const world = World.create(10, 0, [accountConfig({ hosts: false, limits: { max_concurrent_requests: 2 } })]);
    await world.scrape();
    await world.nextMinute(1);
    world.reader.calls.length = 0;
    let count = 0;
    world.reader.fault = () => {
      count += 1;
      return count === 5 ? { reason: 'rate_limited', status: 429, retryAfter: 30 } : undefined;
    };
    await world.scrape();
    const refused = world.reader.calls.find(({ outcome }) => outcome === 'rate_limited');
    const after = world.reader.calls.filter(({ startedAt }) => startedAt >= (refused?.endedAt ?? 0));
    expect(after).toEqual([]);
    expect(world.status.budget.pausedUntil).toBe(((refused?.endedAt ?? 0) + 30_000) / 1000);
    expect(world.status.budget.inForce).toBe(300);
  });

  it('moves no due time and makes no healthy entity fail', async () => {
    const world = World.create(5, 0, [accountConfig({ hosts: false })]);
    await world.scrapeFor(60);
    let first = true;
    world.reader.fault = () => {
      const fault = first ? ({ reason: 'rate_limited', status: 429, retryAfter: 20 } as const) : undefined;
      first = false;
      return fault;
    };
    await world.scrapeFor(60);
    expect(world.group('application_metrics').effectiveIntervalSeconds).toBe(60);
    await world.scrape();
    expect((await world.collector.snapshot(EVERYTHING)).complete).toBe(true);
  });
});

describe('a refused account', () => {
  it.each([
    ['a 401 on every call', 'auth', 401],
    ['a 403 on every call', 'forbidden', 403],
  ] as const)(
    'after %s makes one list call per interval, and recovers when calls work again',
    async (_, reason, status) => {
      const world = World.create(5, 2);
      world.reader.fault = () => ({ reason, status });
      await world.scrapeFor(60);
      expect(world.status).toMatchObject({ up: false });
      expect(world.status.refused).toContain('applications');
      world.reader.calls.length = 0;
      await world.scrapeFor(600, 15);
      expect(world.reader.calls.map(({ kind }) => kind)).toEqual(Array.from({ length: 10 }, () => 'applications'));
      world.reader.fault = () => undefined;
      await world.scrapeFor(120);
      await world.scrape();
      expect(world.status).toMatchObject({ up: true, refused: undefined });
      expect((await world.collector.snapshot(EVERYTHING)).complete).toBe(true);
    },
  );

  it('makes one list call per interval, whatever the list answers', async () => {
    const world = new World();
    world.reader.fault = ({ startedAt }) =>
      startedAt < START + 60_000 ? { reason: 'auth', status: 401 } : { reason: 'server', status: 500 };
    await world.scrapeFor(60);
    world.reader.calls.length = 0;
    await world.scrapeFor(600, 5);
    expect(world.reader.calls).toHaveLength(10);
  });

  it('is retried at once when the key changes', async () => {
    const world = World.create(2);
    world.reader.fault = () => ({ reason: 'auth', status: 401 });
    await world.scrape();
    await world.clock.advance(5_000);
    world.reader.fault = () => undefined;
    await world.scrape();
    expect(world.status.up).toBe(false);
    world.keyOf = () => 'another key';
    expect((await world.scrape()).complete).toBe(true);
    expect(world.status.up).toBe(true);
  });

  it('with a 401 on metric data only makes a handful of calls per interval', async () => {
    const world = World.create(100, 0);
    world.reader.fault = ({ kind }) => (kind === 'metric_data' ? { reason: 'auth', status: 401 } : undefined);
    await world.scrapeFor(60);
    world.reader.calls.length = 0;
    await world.scrapeFor(600);
    expect(world.reader.callsOfKind('metric_data').length).toBeLessThanOrEqual(10 * 9);
    expect(world.reader.callsOfKind('applications')).toHaveLength(10);
    expect(world.group('applications').success).toBe(true);
    expect(world.group('application_metrics').success).toBe(false);
  });

  it('stays refused after a list that was requested before the refusal', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    await world.scrapeFor(60);
    world.reader.latency = ({ kind }) => (kind === 'applications' ? 3_000 : 100);
    world.reader.fault = ({ kind }) => (kind === 'metric_data' ? { reason: 'auth', status: 401 } : undefined);
    await world.nextScrape();
    expect(world.status.refused).toContain('metric_data');
  });

  it('does not result from a 403 on one entity, which fails alone', async () => {
    const world = World.create(3, 0);
    world.reader.fault = ({ applicationId }) =>
      applicationId === 2 ? { reason: 'forbidden', status: 403 } : undefined;
    await world.scrapeFor(120);
    await world.scrape();
    expect(world.status.refused).toBeUndefined();
    expect(world.group('application_metrics').tasks).toEqual({ fresh: 2, stale: 0, missing: 1 });
  });
});

describe('failures and staleness', () => {
  it('success, last success and states show what fails until it recovers', async () => {
    const world = World.create(3, 1);
    await world.scrape();
    const { lastSuccess } = world.group('application_metrics');
    expect(lastSuccess).toBeCloseTo(START / 1000, 0);
    let failing = true;
    world.reader.fault = ({ kind, hostKey, applicationId }) =>
      failing && kind === 'metric_data' && hostKey === undefined && applicationId === 1
        ? { reason: 'server', status: 500 }
        : undefined;
    await world.scrapeFor(120);
    await world.scrape();
    expect(world.group('application_metrics')).toMatchObject({ success: false, lastSuccess });
    expect(world.group('application_metrics').tasks).toEqual({ fresh: 2, stale: 1, missing: 0 });
    expect(world.group('host_metrics').success).toBe(true);
    expect(world.status.up).toBe(true);
    failing = false;
    await world.scrapeFor(120);
    expect(world.group('application_metrics')).toMatchObject({ success: true });
    expect(world.group('application_metrics').lastSuccess).toBeGreaterThan(lastSuccess ?? Infinity);
  });

  it('last good values are served for max_age after they were due, then they are absent', async () => {
    const world = World.create(1, 1);
    await world.scrape();
    world.reader.fault = () => ({ reason: 'network' });
    const groups = async (seconds: number): Promise<string[]> => {
      await world.clock.until(START + seconds * 1000);
      return (await world.scrape()).blocks.map(({ group }) => group);
    };
    const all = ['applications', 'application_metrics', 'hosts', 'host_metrics'];
    expect(await groups(61)).toEqual(all);
    expect(await groups(359)).toEqual(all);
    expect(await groups(361)).toEqual(['hosts']);
    expect(await groups(601)).toEqual([]);
    expect(world.status.up).toBe(false);
  });

  it('a value that becomes too old while the scrape waits is absent', async () => {
    const world = World.create(1, 0);
    await world.scrape();
    world.reader.latency = () => 60_000;
    await world.clock.until(START + 355_000);
    const response = await world.scrape();
    expect(response.took).toBe(9_500);
    expect(response.blocks).toEqual([]);
  });

  it('up is 0 when the last list failed, although values are still served', async () => {
    const world = World.create(1);
    await world.scrape();
    world.reader.fault = ({ kind }) => (kind === 'applications' ? { reason: 'invalid_response' } : undefined);
    const response = await world.nextScrape();
    expect(world.status.up).toBe(false);
    expect(response.blocks.map(({ group }) => group)).toContain('applications');
  });

  it('a group with nothing to read succeeds', async () => {
    const world = new World();
    await world.scrape();
    expect(world.group('application_metrics')).toMatchObject({
      success: true,
      tasks: { fresh: 0, stale: 0, missing: 0 },
    });
  });

  it('failing reads do not starve where the budget is never idle', async () => {
    const world = World.create(100, 0, [accountConfig({ hosts: false, limits: { requests_per_minute: 30 } })]);
    world.reader.fault = ({ applicationId, kind }) =>
      applicationId === 1 && kind === 'metric_data' ? { reason: 'server', status: 500 } : undefined;
    await world.scrapeFor(1_800);
    world.reader.fault = () => undefined;
    await world.scrapeFor(600);
    expect(world.reader.callsOfKind('metric_data', 1).at(-1)?.outcome).toBe('ok');
  });
});

describe('the log', () => {
  it('counts the failing entities once for each group and reason, however often they are retried', async () => {
    const world = World.create(20, 3);
    await world.scrape();
    world.lines.length = 0;
    world.reader.fault = ({ kind, applicationId }) => {
      if (kind !== 'metric_data') return undefined;
      return applicationId === 1 ? { reason: 'timeout' } : { reason: 'server', status: 500 };
    };
    await world.scrapeFor(600);
    const said = world.lines.map(({ msg, group, reason, failed }) => [msg, group, reason, failed]);
    expect(said.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      ['Could not be read', 'application_metrics', 'server', 19],
      ['Could not be read', 'application_metrics', 'timeout', 1],
      ['Could not be read', 'host_metrics', 'server', 57],
      ['Could not be read', 'host_metrics', 'timeout', 3],
    ]);
  });

  it('names each reason once, and says once that a group works again', async () => {
    const world = World.create(3, 0, [accountConfig({ hosts: false })]);
    await world.scrape();
    world.lines.length = 0;
    const failsWith = (reason: FailureReason | undefined, ...ids: readonly number[]) => {
      world.reader.fault = ({ kind, applicationId = 0 }) =>
        kind === 'metric_data' && ids.includes(applicationId) && reason !== undefined ? { reason } : undefined;
      return world.scrapeFor(240);
    };
    await failsWith('timeout', 1, 2);
    await failsWith('network', 1, 2);
    await failsWith('timeout', 1);
    await failsWith(undefined);
    expect(world.lines.map(({ level, msg, reason, failed }) => [level, msg, reason, failed])).toEqual([
      [40, 'Could not be read', 'timeout', 2],
      [40, 'Could not be read', 'network', 2],
      [30, 'Works again', 'timeout, network', undefined],
    ]);
    expect(world.lines[0]).toMatchObject({ group: 'application_metrics', problem: 'metric_data: timeout' });
  });

  it('of a refused key has one line with the reason for each group, and one for the waiting account', async () => {
    const world = World.create(2, 0);
    world.reader.fault = () => ({ reason: 'auth', status: 401 });
    await world.scrapeFor(600);
    const because = world.lines.filter((line) => JSON.stringify(line).includes('auth'));
    expect(because.map(({ msg }) => msg)).toEqual(because.map(() => 'Could not be read'));
    expect(because.filter(({ group }) => group === 'applications')).toHaveLength(1);
    expect(world.lines.filter(({ level }) => level === 50)).toHaveLength(1);
    expect(world.lines).toHaveLength(because.length + 1);
  });

  it('of a key refused for metric data only has a line for each refusal, and one for the recovery', async () => {
    const world = World.create(2, 0);
    const refused = async (isRefused: boolean) => {
      world.reader.fault = ({ kind }) =>
        isRefused && kind === 'metric_data' ? { reason: 'auth', status: 401 } : undefined;
      await world.scrapeFor(600);
      return [/^New Relic refuses the account/, /^Works again/].map(
        (sentence) => world.lines.filter(({ msg }) => sentence.test(msg)).length,
      );
    };
    expect(await refused(true)).toEqual([1, 0]);
    expect(await refused(false)).toEqual([1, 1]);
    expect(await refused(true)).toEqual([2, 1]);
  });

  it('of a second refusal has a line although a group of the first one was left out meanwhile', async () => {
    const world = World.create(2, 0);
    world.reader.fault = () => ({ reason: 'auth', status: 401 });
    await world.scrapeFor(120);
    expect(world.lines.some(({ group }) => group === 'key_transactions')).toBe(true);
    world.collector.reconfigure({
      accounts: [accountConfig({ key_transactions: false })],
      collection: collectionConfig(),
    });
    world.reader.fault = () => undefined;
    await world.scrapeFor(600);
    world.reader.fault = () => ({ reason: 'auth', status: 401 });
    await world.scrapeFor(600);
    expect(world.lines.filter(({ msg }) => msg.startsWith('New Relic refuses the account'))).toHaveLength(2);
  });
});

describe('progress', () => {
  it('continues despite hangs, pauses, refusals and a used up budget', async () => {
    const world = World.create(20, 2, [
      accountConfig({ limits: { requests_per_minute: 5, max_concurrent_requests: 2 } }),
    ]);
    let count = 0;
    world.reader.fault = () => {
      count += 1;
      if (count % 11 === 0) return { reason: 'rate_limited', status: 429, retryAfter: 290 };
      return count % 3 === 0 ? { reason: 'timeout', latency: 10_000 } : undefined;
    };
    const seen = new Set<boolean>();
    for (let second = 0; second < 3_600; second += 5) {
      await world.clock.until(START + second * 1000);
      void world.collector.refresh(EVERYTHING, 0);
      seen.add(world.collector.progressing());
    }
    expect([...seen]).toEqual([true]);
  });

  it('stops when a call never ends', async () => {
    const world = World.create(1);
    world.reader.latency = () => Infinity;
    void world.collector.refresh(EVERYTHING, 0);
    await world.clock.advance(120_000);
    expect(world.collector.progressing()).toBe(true);
    await world.clock.advance(30_000);
    expect(world.collector.progressing()).toBe(false);
  });
});
