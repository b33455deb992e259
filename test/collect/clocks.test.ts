import { describe, expect, it } from 'vitest';
import { accountConfig, collectionConfig } from './support/config.ts';
import { EVERYTHING, World } from './support/world.ts';

const MINUTE = 60_000;

const STEPS = [
  ['61 seconds on', 61_000],
  ['a day on', 86_400_000],
  ['61 seconds back', -61_000],
  ['a day back', -86_400_000],
] as const;

describe.each(STEPS)('a wall clock that is set %s', (_, ms) => {
  it('leaves the budget unchanged in real time', async () => {
    const limits = { requests_per_minute: 40, max_concurrent_requests: 4 };
    const world = World.create(60, 0, [accountConfig({ hosts: false, limits })]);
    await world.scrapeFor(100);
    world.clock.step(ms);
    await world.scrapeFor(300);
    world.clock.step(-ms);
    await world.scrapeFor(120);
    expect(world.reader.mostPerMinute()).toBeLessThanOrEqual(40);
    expect(world.reader.calls.length).toBeGreaterThan(7 * 40);
  });

  it('neither shortens nor lengthens a pause', async () => {
    const world = World.create(3, 0, [accountConfig({ hosts: false })]);
    await world.scrape();
    await world.nextMinute(1);
    world.reader.fault = () => ({ reason: 'rate_limited', status: 429, retryAfter: 200 });
    await world.scrape();
    world.reader.fault = () => undefined;
    const paused = world.clock.monotonic();
    const calls = world.reader.calls.length;
    world.clock.step(ms);
    expect(world.status.budget.pausedUntil).toBeCloseTo(world.clock.now() / 1000 + 200, 0);
    await world.scrapeFor(180);
    expect(world.reader.calls).toHaveLength(calls);
    await world.scrapeFor(60);
    const first = world.reader.calls[calls]?.monotonicAt ?? Infinity;
    expect(first - paused).toBeGreaterThanOrEqual(199_000);
    expect(first - paused).toBeLessThan(220_000);
  });

  it('makes everything fresh again within a minute for the new window, and the program stays healthy', async () => {
    const world = World.create(3, 1);
    await world.scrape();
    await world.clock.advance(20_000);
    world.clock.step(ms);
    const stepped = world.clock.monotonic();
    await world.scrapeFor(75, 15, () => expect(world.collector.progressing()).toBe(true));
    expect(await world.scrape()).toMatchObject({ complete: true });
    const { to } = world.reader.callsOfKind('metric_data', 1).at(-1)?.query as { to: number };
    expect(to).toBeLessThanOrEqual(world.clock.now() / 1000 - 120);
    expect(to).toBeGreaterThan(world.clock.now() / 1000 - 240);
    const after = world.reader.callsOfKind('metric_data', 1).filter(({ monotonicAt }) => monotonicAt > stepped);
    expect(Math.min(...after.map(({ monotonicAt }) => monotonicAt)) - stepped).toBeLessThan(61_000);
    await world.scrapeFor(300);
    // Once a minute for the application and its host, before and after.
    expect(world.reader.callsOfKind('metric_data', 1).length).toBeLessThanOrEqual(2 * 9);
  });

  it('in the middle of a refresh does not hold up the refresh', async () => {
    const world = World.create(4, 2);
    world.reader.latency = () => 1_000;
    const scrape = world.collector.refresh(EVERYTHING, 9_500);
    await world.clock.advance(1_500);
    world.clock.step(ms);
    const asked = world.clock.monotonic();
    await world.clock.run(scrape);
    expect(world.clock.monotonic() - asked).toBeLessThanOrEqual(8_000);
    expect((await world.collector.snapshot(EVERYTHING)).complete).toBe(true);
  });

  it('serves last good values for max_age of real time', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    await world.scrape();
    world.reader.fault = () => ({ reason: 'network' });
    world.clock.step(ms);
    await world.clock.advance(350_000);
    expect((await world.scrape()).blocks.length).toBeGreaterThan(0);
    await world.clock.advance(15_000);
    expect((await world.scrape()).blocks).toEqual([]);
  });

  it('does not disturb background mode', async () => {
    const world = World.create(3, 1, [accountConfig()], collectionConfig({ background: true }));
    const stop = world.collector.refreshInBackground();
    await world.clock.advance(100_000);
    world.clock.step(ms);
    await world.clock.advance(75_000);
    expect(await world.scrape()).toMatchObject({ took: 0, complete: true });
    expect(world.collector.progressing()).toBe(true);
    const before = world.reader.callsOfKind('metric_data', 1).length;
    await world.clock.advance(600_000);
    expect(world.reader.callsOfKind('metric_data', 1).length - before).toBeGreaterThanOrEqual(2 * 9);
    expect(world.reader.callsOfKind('metric_data', 1).length - before).toBeLessThanOrEqual(2 * 11);
    stop();
  });
});

describe('a wall clock that is corrected by half a second', () => {
  it('back over the end of a window, in the middle of a refresh, causes no reads for the previous window', async () => {
    const limits = { requests_per_minute: 100, max_concurrent_requests: 1 };
    const world = World.create(3, 0, [accountConfig({ hosts: false, limits })]);
    await world.scrape();
    await world.nextMinute(0.2);
    world.reader.latency = () => 100;
    const before = world.reader.callsOfKind('metric_data').length;
    const scrape = world.collector.refresh(EVERYTHING, 9_500);
    await world.clock.advance(50);
    world.clock.step(-500);
    await world.clock.run(scrape);
    const calls = world.reader.callsOfKind('metric_data').slice(before);
    const ends = calls.map(({ query }) => (query as { to: number }).to);
    const end = Math.round(world.clock.now() / MINUTE) * 60 - 120;
    expect(ends).toEqual([end, end, end]);
  });

  it.each([500, -500])('by %i ms causes no calls', async (ms) => {
    const world = World.create(2, 0, [accountConfig({ hosts: false })]);
    for (let second = 0; second < 600; second += 5) {
      if (second === 300) world.clock.step(ms);
      await world.scrape();
      await world.clock.advance(4_700);
    }
    const minutes = world.clock.monotonic() / MINUTE;
    expect(world.reader.callsOfKind('metric_data', 1).length).toBeLessThanOrEqual(Math.ceil(minutes) + 1);
  });
});

describe('a wall clock that is slightly behind the monotonic one', () => {
  it('reads everything once for each window', async () => {
    const world = World.create(1, 0, [accountConfig({ hosts: false })]);
    await world.scrape();
    const before = world.reader.calls.length;
    world.clock.step(-100);
    await world.clock.until(Math.ceil(world.clock.now() / MINUTE) * MINUTE - 50);
    expect(await world.scrape()).toMatchObject({ took: 0 });
    expect(world.reader.calls).toHaveLength(before);
    await world.clock.advance(1_000);
    await world.scrape();
    expect(world.reader.callsOfKind('metric_data')).toHaveLength(2);
  });
});
