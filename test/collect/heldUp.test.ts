import { describe, expect, it } from 'vitest';
import type { Fault } from './support/fakeReader.ts';
import { accountConfig } from './support/config.ts';
import { World } from './support/world.ts';

/** A world whose fleet was read once. Every further read takes a second. */
async function worldThatWaits(requestsPerMinute = 600): Promise<World> {
  const limits = { requests_per_minute: requestsPerMinute };
  const world = World.create(6, 0, [accountConfig({ hosts: false, key_transactions: false, limits })]);
  await world.scrapeFor(240);
  world.reader.latency = () => 1_000;
  return world;
}

describe('a scrape', () => {
  it('waits for due values', async () => {
    const world = await worldThatWaits();
    expect((await world.scrape()).took).toBeGreaterThanOrEqual(1_000);
  });

  it.each<[string, Fault]>([
    ['pauses', { reason: 'rate_limited', retryAfter: 200 }],
    ['is refused', { reason: 'auth', status: 401 }],
    ['fails', { reason: 'network' }],
  ])('does not wait for an account that %s, and the refresh continues in the background', async (_, fault) => {
    const world = await worldThatWaits();
    world.reader.fault = () => fault;
    await world.scrapeFor(120);
    world.reader.fault = () => undefined;
    expect((await world.scrape()).took).toBe(0);
    await world.scrapeFor(300);
    const response = await world.scrape();
    expect(response.accounts[0]?.groups.find(({ group }) => group === 'application_metrics')?.tasks.fresh).toBe(6);
  });

  it.each([
    // Seven calls a minute: six applications and their list, six lists of names in six hours.
    [7, 1],
    [6, 1],
    [5, 0],
  ])('of a fleet of seven calls a minute waits with a budget of %d: %d', async (budget, isWaited) => {
    const world = await worldThatWaits(budget);
    await world.nextMinute(0);
    expect(Math.sign((await world.scrape()).took)).toBe(isWaited);
  });
});
