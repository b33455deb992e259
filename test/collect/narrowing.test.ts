import { describe, expect, it } from 'vitest';
import { accountConfig, collectionConfig, config } from './support/config.ts';
import { NERDGRAPH, REST, World } from './support/world.ts';

const including = (...ids: readonly number[]) =>
  accountConfig({ hosts: false, applications: { include: ids.map((id) => ({ id })) } });

const vanished = ({ status }: World): readonly string[] =>
  status.warnings.filter((warning) => warning.includes('within the last hour'));

describe.each([REST, NERDGRAPH])('a reload that changes which ids are included, over $api', (likeness) => {
  async function reloaded(from: ReturnType<typeof accountConfig>, to: ReturnType<typeof accountConfig>) {
    const world = World.create(4, 0, [from], collectionConfig(), likeness);
    await world.scrapeFor(121, 60);
    world.collector.reconfigure(config(to));
    await world.scrapeFor(121, 60);
    return world;
  }

  it.each([
    ['from all to one', accountConfig({ hosts: false }), including(1)],
    ['from three to two', including(1, 2, 3), including(1, 2)],
    ['from two to one other', including(1, 2), including(3)],
  ])('reports no vanished application: %s', async (_, from, to) => {
    expect(vanished(await reloaded(from, to))).toEqual([]);
  });

  it('reports no vanished application when the old list arrives after it', async () => {
    const world = World.create(4, 0, [accountConfig({ hosts: false })], collectionConfig(), likeness);
    world.reader.latency = () => 20_000;
    const scrape = world.scrape();
    await world.clock.advance(5_000);
    world.collector.reconfigure(config(including(1)));
    await scrape;
    await world.scrapeFor(241, 60);
    expect([world.status.visible.applications, vanished(world)]).toEqual([1, []]);
  });

  it('still reports an application that vanishes afterwards', async () => {
    const world = await reloaded(accountConfig({ hosts: false }), including(1, 2));
    world.reader.applications = world.reader.applications.filter(({ id }) => id !== 2);
    await world.scrapeFor(121, 60);
    expect(vanished(world)).toHaveLength(1);
  });
});
