import { describe, expect, it } from 'vitest';
import type { ApplicationSubject, MinuteSeries, TimeRange } from '../../src/api/upstreamReader.ts';
import type { Snapshot } from '../../src/collect/collector.ts';
import { application } from './support/bodies.ts';
import { accountConfig, collectionConfig } from './support/config.ts';
import type { Call } from './support/fakeReader.ts';
import { EVERYTHING, NERDGRAPH, World } from './support/world.ts';

const COUNTING = accountConfig({ counters: true });

/** Every minute has this many web transactions, each of half a second. */
function steady(perMinute: number, broken: (minute: number) => boolean = () => false) {
  return ({ from, to }: TimeRange): MinuteSeries => {
    const minutes = Array.from({ length: (to - from) / 60 }, (_, index) => from + 60 * index);
    const columns = (minute: number) => (broken(minute) ? {} : { count: perMinute, sum: perMinute / 2 });
    const timeslices = minutes.map((minute) => ({ from: minute, to: minute + 60, columns: columns(minute) }));
    return { window: { from, to }, metrics: new Map([['HttpDispatcher', timeslices]]) };
  };
}

function worldOf(applications = 1, collection = {}, likeness?: typeof NERDGRAPH): World {
  const world = World.create(applications, 0, [COUNTING], collectionConfig(collection), likeness);
  world.reader.minutes = steady(10);
  return world;
}

const web = (world: World, response: Snapshot): number | undefined =>
  world.value(response, 'newrelic_application_transactions_total', { kind: 'web' });

/** Scrapes after a number of minutes without a scrape. */
async function scrapeAfter(world: World, minutes: number): Promise<Snapshot> {
  await world.clock.advance(minutes * 60_000);
  return world.scrape();
}

/** The number of minutes in the range of a call. */
function minutesOf({ query }: Call): number {
  const { from, to } = query as TimeRange;
  return (to - from) / 60;
}

const lost = (world: World): number | undefined => world.status.counters?.lostSeconds;

describe('the counters of an application', () => {
  it('are seven zeros in the first exposition, with nothing lost and nothing late', async () => {
    const world = worldOf();
    const response = await world.scrape();
    const samples = response.blocks.filter(({ group }) => group === 'counters').map(({ samples }) => samples);
    expect(samples.map(({ values }) => values)).toEqual([[0, 0, 0, 0, 0, 0, 0]]);
    expect(new Set(samples[0]?.columns.map(({ family }) => family.type))).toEqual(new Set(['counter']));
    expect(world.status.counters).toEqual({ lostSeconds: 0, lateTransactions: 0 });
  });

  it('grow by each minute once, with one read per window over that minute and the 10 before it', async () => {
    const world = worldOf();
    await world.scrape();
    expect(web(world, await scrapeAfter(world, 1))).toBe(10);
    expect(web(world, await world.scrape())).toBe(10);
    const response = await scrapeAfter(world, 1);
    expect(web(world, response)).toBe(20);
    expect(world.value(response, 'newrelic_application_web_transaction_seconds_total')).toBe(10);
    const calls = world.reader.callsOfKind('counters');
    expect(calls.map(minutesOf)).toEqual([10, 11, 11]);
    expect(world.group('counters')).toMatchObject({ success: true, tasks: { fresh: 1, stale: 0, missing: 0 } });
  });

  it('continue over a reload, and start again after a reload that switched them off', async () => {
    const world = worldOf();
    await world.scrape();
    await scrapeAfter(world, 3);
    const collection = collectionConfig({ max_age: 600_000 });
    world.collector.reconfigure({ accounts: [accountConfig({ counters: true, labels: { a: 'b' } })], collection });
    for (const reader of world.readers.values()) reader.minutes = steady(10);
    expect(web(world, await world.scrape())).toBe(30);
    world.collector.reconfigure({ accounts: [accountConfig({ counters: false })], collection });
    expect(web(world, await world.scrape())).toBeUndefined();
    expect(world.status.counters).toBeUndefined();
    world.collector.reconfigure({ accounts: [COUNTING], collection });
    expect(web(world, await world.scrape())).toBe(0);
  });

  it('are absent while the application does not report, and continue afterwards without loss', async () => {
    const world = worldOf();
    await world.scrape();
    await scrapeAfter(world, 2);
    world.reader.applications = [application(1, { reporting: false })];
    expect(web(world, await scrapeAfter(world, 1))).toBeUndefined();
    await world.scrapeFor(180 * 60, 60);
    world.reader.applications = [application(1)];
    // The 50 minutes in reach count, also minutes for which New Relic said that it does not report.
    expect(web(world, await scrapeAfter(world, 1))).toBe(20 + 500);
    expect(lost(world)).toBe(0);
  });

  it('start at 0 when the application leaves the list and returns', async () => {
    const world = worldOf();
    await world.scrape();
    await scrapeAfter(world, 2);
    world.reader.applications = [];
    await scrapeAfter(world, 1);
    world.reader.applications = [application(1)];
    expect(web(world, await scrapeAfter(world, 1))).toBe(0);
  });

  it('fail while a minute cannot be read, and lose the minute 10 minutes after its first request', async () => {
    const world = worldOf();
    await world.scrape();
    const minute = Math.floor(world.clock.now() / 60_000) * 60 - 120;
    world.reader.minutes = steady(10, (each) => each === minute);
    expect(web(world, await scrapeAfter(world, 1))).toBe(0);
    expect(world.group('counters').success).toBe(false);
    expect(world.reader.refusals).toHaveLength(1);
    expect(world.status.tasks.find(({ group }) => group === 'counters')).toMatchObject({
      reason: 'invalid_response',
      problem: expect.stringContaining(new Date(minute * 1000).toISOString()) as string,
    });
    await world.scrapeFor(9 * 60, 30);
    expect(lost(world)).toBe(0);
    await world.scrapeFor(2 * 60, 30);
    expect(lost(world)).toBe(60);
    expect(world.group('counters').success).toBe(true);
    expect(web(world, await world.scrape())).toBe(110);
  });

  it('fail with a response for another time, and count a response for a part of the range up to its end', async () => {
    const world = worldOf();
    await world.scrape();
    world.reader.minutes = ({ from, to }) => steady(10)({ from: from - 7_200, to: to - 7_200 });
    await scrapeAfter(world, 1);
    expect(world.status.tasks.find(({ group }) => group === 'counters')?.problem).toContain('another time');
    world.reader.minutes = ({ from, to }) => steady(10)({ from, to: to - 60 });
    expect(web(world, await scrapeAfter(world, 1))).toBe(10);
    world.reader.minutes = steady(10);
    expect(web(world, await scrapeAfter(world, 1))).toBe(30);
  });

  it('are read in batches over the longest range of an application, without loss after longer failures', async () => {
    const world = worldOf(3, {}, NERDGRAPH);
    await world.scrape();
    const failing = new Set([2]);
    world.reader.subjectFault = (kind, subject) =>
      kind === 'counters' && failing.has((subject as ApplicationSubject).applicationId)
        ? { reason: 'server', status: 500 }
        : undefined;
    await world.scrapeFor(14 * 60, 60);
    failing.add(3);
    await scrapeAfter(world, 1);
    failing.clear();
    const response = await scrapeAfter(world, 6);
    const ranges = world.reader.callsOfKind('counters').slice(-3).map(minutesOf);
    expect(ranges.toSorted((a, b) => a - b)).toEqual([16, 18, 31]);
    for (const id of ['1', '2', '3']) {
      const labels = { kind: 'web', app_id: id };
      expect(world.value(response, 'newrelic_application_transactions_total', labels)).toBe(210);
    }
    expect(lost(world)).toBe(0);
  });

  it('are part of a probe, and with collect[]=counters alone need only lists', async () => {
    const world = worldOf(2);
    const { blocks } = await world.probed();
    expect(blocks.map(({ group }) => group)).toContain('counters');
    const other = worldOf(2);
    const response = await other.scrape({ groups: new Set(['counters'] as const) });
    expect(new Set(response.blocks.map(({ group }) => group))).toEqual(new Set(['counters']));
    expect(new Set(other.reader.calls.map(({ kind }) => kind))).toEqual(new Set(['applications', 'counters']));
    expect(EVERYTHING.groups.has('counters')).toBe(true);
  });

  it('cause a warning when limits stretch their interval beyond 40 minutes', async () => {
    const limits = { max_concurrent_requests: 8, requests_per_minute: 2, request_timeout: 10_000, max_retries: 0 };
    const world = World.create(50, 0, [accountConfig({ counters: true, hosts: false, limits })]);
    await world.scrapeFor(120, 60);
    expect(world.status.warnings.filter((warning) => warning.includes('minutes will be lost'))).toHaveLength(1);
  });
});
