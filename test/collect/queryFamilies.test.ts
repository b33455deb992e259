import { describe, expect, it } from 'vitest';
import { samplesIn } from '../support/expositionBlocks.ts';
import { accountConfig, collectionConfig } from './support/config.ts';
import { NERDGRAPH, World } from './support/world.ts';

const MINUTE = 60_000;
const ONLY = { groups: new Set(['queries'] as const) };

const query = (name: string, facets: string, metrics: readonly string[] = ['shop_orders']) => ({
  name,
  nrql: `SELECT count(*), sum(price) FROM Order FACET ${facets} -- ${name}`,
  metrics: metrics.map((metric, index) => ({
    ...{ name: metric, help: 'Orders', scale: 1 },
    value: index === 0 ? 'count' : 'sum.price',
  })),
  interval: MINUTE,
  max_series: 5_000,
});

type Row = Readonly<Record<string, unknown>>;

function worldOf(...queries: readonly (readonly [ReturnType<typeof query>, readonly Row[]])[]): World {
  const account = accountConfig({
    ...{ queries: queries.map(([each]) => each), account_id: 7 },
    applications: { read: false },
  });
  const world = new World([account], collectionConfig(), NERDGRAPH);
  for (const [{ nrql }, rows] of queries) world.reader.rows.set(nrql, rows);
  return world;
}

async function seriesOf(world: World): Promise<string[]> {
  const { blocks } = await world.scrape(ONLY);
  const written = blocks.flatMap(({ samples }) =>
    samplesIn(samples).map(({ family, labels, value }) => {
      const sorted = Object.entries(labels ?? {}).sort();
      return `${family.name}{${sorted.map(([name, text]) => `${name}=${text}`).join()}} ${value}`;
    }),
  );
  return written.sort();
}

describe('two queries of one family', () => {
  it('publish a series once, in any order of its labels', async () => {
    const world = worldOf(
      [query('first', 'region, plan'), [{ facet: ['eu', 'free'], count: 3 }]],
      [
        query('second', 'plan, region'),
        [
          { facet: ['free', 'eu'], count: 9 },
          { facet: ['pro', 'eu'], count: 5 },
        ],
      ],
    );
    expect(await seriesOf(world)).toEqual(['shop_orders{plan=free,region=eu} 3', 'shop_orders{plan=pro,region=eu} 5']);
    expect(world.status.queries[1]).toMatchObject({ series: 1, dropped: { repeated: 1 } });
    expect(world.status.warnings.join()).toContain('rows of "second" repeat labels');
  });

  it('share a series from the reload that adds the second one until the reload that removes it', async () => {
    const [first, second] = [query('first', 'region'), query('second', 'region')];
    const world = worldOf([
      second,
      [
        { facet: 'eu', count: 9 },
        { facet: 'us', count: 5 },
      ],
    ]);
    expect(await seriesOf(world)).toEqual(['shop_orders{region=eu} 9', 'shop_orders{region=us} 5']);
    world.reader.rows.set(first.nrql, [{ facet: 'eu', count: 3 }]);
    const reload = (...queries: readonly (typeof first)[]): void => {
      const account = accountConfig({ queries, account_id: 7, applications: { read: false } });
      world.collector.reconfigure({ accounts: [account], collection: collectionConfig() });
    };
    reload(first, second);
    expect(await seriesOf(world)).toEqual(['shop_orders{region=eu} 3', 'shop_orders{region=us} 5']);
    reload(second);
    expect(await seriesOf(world)).toEqual(['shop_orders{region=eu} 9', 'shop_orders{region=us} 5']);
  });

  it('publish a series once after a reload that reverses the labels of the first one', async () => {
    const row = { facet: ['eu', 'free'], count: 3 };
    const second = query('second', 'region, plan');
    const world = worldOf([query('first', 'region, plan'), [row]], [second, [{ ...row, count: 9 }]]);
    await seriesOf(world);
    const turned = query('first', 'plan, region');
    world.reader.rows.set(turned.nrql, [{ facet: ['free', 'eu'], count: 4 }]);
    const account = accountConfig({ queries: [turned, second], account_id: 7, applications: { read: false } });
    world.collector.reconfigure({ accounts: [account], collection: collectionConfig() });
    expect(await seriesOf(world)).toEqual(['shop_orders{plan=free,region=eu} 4']);
    await world.nextMinute(5);
    expect(await seriesOf(world)).toEqual(['shop_orders{plan=free,region=eu} 4']);
  });

  it('count rows, not series, that repeat the labels of another row', async () => {
    const both = ['shop_orders', 'shop_turnover'];
    const rows = Array.from({ length: 13 }, (_, index) => ({ facet: `r${index}`, count: 1, 'sum.price': 2 }));
    const world = worldOf([query('first', 'region', both), rows], [query('second', 'region', both), rows]);
    await seriesOf(world);
    expect(world.status.queries[1]).toMatchObject({ series: 0, dropped: { repeated: 13 } });
  });

  it('do not hide each other: rows of a healthy one appear once rows of the failed one are too old', async () => {
    const [first, second] = [query('first', 'region'), query('second', 'region')];
    const world = worldOf(
      [
        first,
        [
          { facet: 'eu', count: 3 },
          { facet: 'us', count: 4 },
        ],
      ],
      [second, [{ facet: 'eu', count: 9 }]],
    );
    expect(await seriesOf(world)).toEqual(['shop_orders{region=eu} 3', 'shop_orders{region=us} 4']);
    world.reader.subjectFault = (_kind, subject) =>
      (subject as typeof first).nrql === first.nrql ? { reason: 'too_large' } : undefined;
    const seen: string[] = [];
    for (let minute = 0; minute < 9; minute += 1) {
      await world.nextMinute(5);
      seen.push((await seriesOf(world)).join(' '));
    }
    // Every exposition has exactly one series with this name and these labels.
    const held = 'shop_orders{region=eu} 3 shop_orders{region=us} 4';
    expect(new Set(seen)).toEqual(new Set([held, 'shop_orders{region=eu} 9']));
    expect(seen.at(-1)).toBe('shop_orders{region=eu} 9');
    const repeated = world.status.queries[1]!.dropped.repeated;
    world.reader.subjectFault = () => undefined;
    await world.nextMinute(5);
    expect((await seriesOf(world)).join(' ')).toBe(held);
    await world.nextMinute(5);
    await seriesOf(world);
    expect(world.status.queries[1]!.dropped.repeated).toBeGreaterThan(repeated);
  });
});
