import { describe, expect, it } from 'vitest';
import { REMEDIES } from '../../src/api/upstreamError.ts';
import { findUnmatchedExclusions } from '../../src/collect/serve/accountWarnings.ts';
import { application, TRAFFIC } from './support/bodies.ts';
import { accountConfig, config, customMetric } from './support/config.ts';
import { World } from './support/world.ts';

const warned = (world: World, words: string): number =>
  world.lines.filter(({ level, msg }) => level === 40 && msg.includes(words)).length;

describe('the number of applications of an account', () => {
  it('is known as listed, exported and reporting after the first whole list', async () => {
    const world = new World([accountConfig({ applications: { exclude: [{ name: 'app-1' }] } })]);
    expect(world.status.applicationCounts).toBeUndefined();
    world.reader.applications = [1, 2, 3].map((id) => application(id, { reporting: id !== 3 }));
    await world.scrape();
    expect(world.status.applicationCounts).toEqual({ listed: 3, exported: 2, reporting: 1 });
    expect(world.collector.applicationLists()).toMatchObject([{ listed: 3 }]);
    expect(world.collector.applicationLists()[0]?.applications).toEqual([
      { id: 2, name: 'app-2', language: 'java', reporting: true },
      { id: 3, name: 'app-3', language: 'java', reporting: false },
    ]);
    world.reader.fault = () => ({ reason: 'server', status: 500 });
    await world.nextScrape();
    expect(world.status.up).toBe(false);
    expect(world.status.applicationCounts).toBeUndefined();
  });

  it('causes a warning where it is 0, once in the log', async () => {
    const world = new World();
    await world.scrapeFor(301, 60);
    expect(world.status.warnings.join()).toContain('lists no application');
    expect(warned(world, 'lists no application')).toBe(1);
    world.populate(1);
    await world.scrapeFor(121, 60);
    expect(world.status.warnings).toEqual([]);
  });

  it('causes a warning for an hour after it fell', async () => {
    const world = World.create(4, 0, [accountConfig({ hosts: false })]);
    await world.scrapeFor(121, 60);
    expect(world.status.warnings).toEqual([]);
    world.reader.applications = world.reader.applications.slice(1);
    await world.scrapeFor(121, 60);
    const words = 'lists 3 applications, and listed 4 within the last hour';
    expect(world.status.warnings.join()).toContain(words);
    await world.scrapeFor(3241, 60);
    expect(world.status.warnings.join()).toContain(words);
    await world.scrapeFor(301, 60);
    expect(world.status.warnings).toEqual([]);
    expect(warned(world, words)).toBe(1);
    // Two lists that shrink one after the other give one line.
    for (let remaining = 2; remaining > 0; remaining -= 1) {
      world.reader.applications = world.reader.applications.slice(1);
      await world.scrapeFor(121, 60);
      expect(world.status.warnings.join()).toContain(`lists ${remaining} applications`);
    }
    expect(warned(world, 'within the last hour')).toBe(2);
  });

  it('causes no warning where the configuration excludes applications', async () => {
    const world = World.create(3, 0, [accountConfig({ applications: { exclude: [{ name: 'app-*' }] } })]);
    await world.scrapeFor(121, 60);
    expect(world.status.applicationCounts).toEqual({ listed: 3, exported: 0, reporting: 0 });
    expect(world.status.warnings).toEqual([]);
  });
});

describe('an account that reads no applications', () => {
  it('requests no list of applications, and has no warning and no group of them', async () => {
    const world = new World([accountConfig({ applications: { read: false }, key_transactions: false })]);
    await world.scrapeFor(121, 60);
    expect(world.reader.calls).toEqual([]);
    expect(world.status).toMatchObject({ warnings: [], groups: [], applicationCounts: undefined });
    expect(world.collector.applicationLists()).toEqual([]);
  });
});

describe('a custom metric whose value upstream lacks', () => {
  const metric = (value: string) => customMetric({ name: 'newrelic_custom_depth', value });

  it.each([
    ['call_count', 0],
    ['average_value', 1],
  ])('causes a warning, once in the log: %s', async (value, warnings) => {
    const world = World.create(2, 0, [accountConfig({ hosts: false, custom_metrics: [metric(value)] })]);
    for (const id of [1, 2]) world.reader.names.set(id, ['Custom/mail/depth']);
    world.reader.values = () => ({ ...TRAFFIC, 'Custom/mail/depth': { call_count: 3, max_call_time: 2 } });
    await world.scrapeFor(181, 60);
    const words = `New Relic has no value "${value}" of Custom/mail/depth (newrelic_custom_depth)`;
    expect(world.status.warnings.filter((warning) => warning.includes(words))).toHaveLength(warnings);
    expect(warned(world, words)).toBe(warnings);
  });
});

describe('a cut list of custom metric names', () => {
  const WORDS = 'more than 2 x: the first are used';

  it('causes one warning for all equal causes, once in the log until the cause ends', async () => {
    const world = World.create(3, 0, [accountConfig({ hosts: false, custom_metrics: [customMetric({})] })]);
    for (const id of [1, 2, 3]) world.reader.names.set(id, ['Custom/mail/depth']);
    for (const id of [1, 3]) world.reader.cutNames.set(id, [WORDS]);
    await world.scrapeFor(121, 60);
    const words = `custom_metrics: "app-1" and 1 more have ${WORDS}`;
    expect(world.status.warnings).toContain(words);
    expect(warned(world, words)).toBe(1);
    world.reader.cutNames.clear();
    await world.clock.advance(86_400_000);
    await world.scrape();
    expect(world.status.warnings).not.toContain(words);
  });
});

const NO_MATCH = customMetric({ value: 'call_count' });

describe('a pattern without a match', () => {
  it('causes a warning for settings too, and for exclude only in the check command', async () => {
    const settings = [{ match: { name: 'app-*' } }, { match: { name: 'legacy-*' }, hosts: false }];
    const exclude = [{ name: 'old-*' }];
    const world = World.create(1, 0, [accountConfig({ applications: { settings, exclude } as never })]);
    await world.scrape();
    expect(world.status.warnings).toEqual([
      'applications.settings: no application has the name "legacy-*": correct the entry or remove it',
    ]);
    expect(findUnmatchedExclusions(world.collector.collectors())).toEqual([
      'applications.exclude: no application has the name "old-*": correct the entry or remove it',
    ]);
  });

  it('is unknown for custom metrics before names were read', async () => {
    const world = new World([accountConfig({ custom_metrics: [NO_MATCH] })]);
    await world.scrape();
    expect(world.status.warnings.join()).not.toContain('custom_metrics');
  });
});

describe('a pause requested by New Relic', () => {
  it('is one line of the log, however many calls get it', async () => {
    const world = World.create(6, 0, [accountConfig({ hosts: false })]);
    let refusing = true;
    world.reader.fault = () => (refusing ? { reason: 'rate_limited', status: 429, retryAfter: 40 } : undefined);
    await world.scrapeFor(30, 10);
    expect(warned(world, 'Rate limited by New Relic')).toBe(1);
    expect(world.lines.find(({ msg }) => msg.startsWith('Rate limited'))?.['seconds']).toBe(40);
    refusing = false;
    await world.scrapeFor(120, 10);
    expect(warned(world, 'Rate limited by New Relic')).toBe(1);
  });
});

describe('an account that cannot be read', () => {
  it('reports since when, why, and until when its last good values are served', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    await world.scrape();
    expect(world.status.outage).toBeUndefined();
    await world.nextMinute(5);
    const from = world.clock.now() / 1000;
    world.reader.fault = () => ({ reason: 'network', latency: 0 });
    await world.scrapeFor(120);
    // Values of the first minute were due with the second minute. They are served five minutes longer.
    expect(world.status.outage).toMatchObject({ since: from, reason: 'network', servedUntil: from - 5 + 300 });
    expect(world.status.tasks.find(({ problem }) => problem !== undefined)?.since).toBe(from);
    await world.scrapeFor(300);
    expect(world.status.outage).toEqual({
      since: from,
      reason: 'network',
      remedy: REMEDIES.network,
      problem: 'applications: network',
      servedUntil: undefined,
    });
    world.reader.fault = () => undefined;
    await world.scrapeFor(600);
    expect(world.status.outage).toBeUndefined();
  });

  it('reports the same after a reload that causes an early read of its list', async () => {
    const world = new World([accountConfig({ key_transactions: false })]);
    world.reader.applications = [application(1, { reporting: false })];
    await world.scrape();
    world.reader.fault = () => ({ reason: 'network', latency: 0 });
    await world.nextScrape(5);
    const before = world.status.outage;
    world.collector.reconfigure(
      config(accountConfig({ key_transactions: false, applications: { include: [{ id: 1 }] } })),
    );
    expect(world.status.outage).toEqual(before);
  });
});
