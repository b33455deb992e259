import { describe, expect, it } from 'vitest';
import { accountConfig, collectionConfig, query } from './support/config.ts';
import { NERDGRAPH, REST, World } from './support/world.ts';

async function withRefusedQuery(likeness: typeof REST): Promise<World> {
  const world = World.create(
    2,
    1,
    [accountConfig({ queries: [query('orders')], account_id: 7 })],
    collectionConfig(),
    likeness,
  );
  world.reader.fault = ({ kind }) => (kind === 'queries' ? { reason: 'auth', status: 401 } : undefined);
  await world.scrapeFor(3 * 60, 60);
  return world;
}

const failing = (world: World): string[] =>
  world.status.groups.filter(({ success }) => success !== true).map(({ group }) => group);

describe('a query refused with 401', () => {
  it('fails alone in a REST account: other groups and a probe succeed', async () => {
    const world = await withRefusedQuery(REST);
    expect([world.status.refused, failing(world)]).toEqual([undefined, ['queries']]);
    const probed = await world.probe();
    expect(probed).toMatchObject({ success: true });
  });

  it('stops a NerdGraph account, because the key is the same', async () => {
    const world = await withRefusedQuery(NERDGRAPH);
    expect(world.status.refused).toContain('auth');
  });
});
