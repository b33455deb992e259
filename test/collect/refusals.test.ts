import { describe, expect, it } from 'vitest';
import { accountConfig, collectionConfig } from './support/config.ts';
import { NERDGRAPH, REST, World } from './support/world.ts';

const MINUTE = 60_000;
const ORDERS = {
  name: 'orders',
  nrql: 'SELECT count(*) FROM Order',
  metrics: [{ name: 'shop_orders', help: 'Orders', scale: 1 }],
  interval: MINUTE,
  max_series: 5_000,
};

async function withRefusedQuery(likeness: typeof REST): Promise<World> {
  const world = new World([accountConfig({ queries: [ORDERS], account_id: 7 })], collectionConfig(), likeness);
  world.populate(2, 1);
  world.reader.fault = ({ kind }) => (kind === 'queries' ? { reason: 'auth', status: 401 } : undefined);
  await world.scrapeFor(3 * 60, 60);
  return world;
}

const failing = (world: World): string[] =>
  world.status.groups.filter(({ success }) => success !== true).map(({ group }) => group);

describe('a query that is refused with 401', () => {
  it('fails alone in an account that is read over REST: the other groups succeed, and so does a probe', async () => {
    const world = await withRefusedQuery(REST);
    expect([world.status.refused, failing(world)]).toEqual([undefined, ['queries']]);
    const probed = await world.clock.run(world.collector.probe('main', 1, 9_500));
    expect(probed).toMatchObject({ success: true });
  });

  it('stops an account that is read over NerdGraph: the key is the same one', async () => {
    const world = await withRefusedQuery(NERDGRAPH);
    expect(world.status.refused).toContain('auth');
  });
});
