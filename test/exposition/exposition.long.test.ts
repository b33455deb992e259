import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OwnFamily } from '../../src/exposition/exposition.ts';
import type { Format } from '../../src/exposition/formats.ts';
import type { DroppedSeries } from '../../src/metrics/writeSamples.ts';
import { parseOpenMetrics, parseText } from '../support/exposition.ts';
import { anyBlocks, block, gauge, render, written } from '../support/expositionBlocks.ts';
import { plainExposition } from '../support/plainExposition.ts';

const FORMATS: readonly Format[] = ['text', 'openmetrics'];
const PARSERS = { text: parseText, openmetrics: parseOpenMetrics };
const UP: OwnFamily = {
  name: 'newrelic_up',
  help: 'Whether "up".',
  type: 'gauge',
  series: [{ suffix: '', labels: { account: 'a' }, value: 1 }],
};
const X = gauge('newrelic_x');

const ENTITIES = Array.from({ length: 50 }, (_, index) => ({
  account: 'a',
  app: `n${index}`,
  app_id: String(index),
}));

/** The number of published series of each family. */
function seriesOf(families: ReadonlyMap<string, { readonly series: number }>): ReadonlyMap<string, number> {
  return new Map(Array.from(families, ([name, { series }]) => [name, series]));
}

/** The number of dropped series of each family. */
function byFamily(dropped: readonly DroppedSeries[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { family, series } of dropped) counts.set(family, (counts.get(family) ?? 0) + series);
  return counts;
}

describe('an exposition', () => {
  it('has the bytes of a naive rendering for any blocks, in both formats, compressed or not', async () => {
    const limit = fc.constantFrom(Infinity, 3, 1, 0);
    await fc.assert(
      fc.asyncProperty(anyBlocks, limit, fc.boolean(), async (blocks, maxSeries, withOwn) => {
        const exporterFamilies = withOwn ? [UP] : [];
        for (const format of FORMATS) {
          const plain = plainExposition(blocks, exporterFamilies, { format, maxSeries });
          for (const gzip of [false, true]) {
            const exposition = await render(blocks.map(written), { own: exporterFamilies, format, gzip, maxSeries });
            expect(exposition.text).toBe(plain.text);
            expect(seriesOf(exposition.families)).toEqual(plain.series);
            expect(byFamily(exposition.dropped)).toEqual(plain.dropped);
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  it('lists the series of a family in the order of their blocks, whatever their columns', async () => {
    const [time, calls, host] = [gauge('newrelic_x_seconds'), gauge('newrelic_y'), gauge('newrelic_host', 'hosts')];
    const blocks = [[time], [time, calls], [time], [calls], [time, calls]].flatMap((families, id) => [
      block(
        { app_id: String(id) },
        families.map((family) => [family, id]),
      ),
      block({ app_id: String(id) }, [[host, id]], 'hosts'),
    ]);
    const { text, families } = await render(blocks.map(written));
    expect(Object.fromEntries(seriesOf(families))).toEqual({ newrelic_x_seconds: 4, newrelic_y: 3, newrelic_host: 5 });
    const cut = await render(blocks.map(written), { maxSeries: 7 });
    expect(cut.dropped.map(({ family, series }) => [family, series])).toEqual(Array(5).fill(['newrelic_host', 1]));
    const valuesOf = (name: string) =>
      Array.from(text.matchAll(new RegExp(`^${name}{.* (\\d)$`, 'gm')), ([, one]) => Number(one));
    expect(valuesOf('newrelic_x_seconds')).toEqual([0, 1, 2, 4]);
    expect(valuesOf('newrelic_y')).toEqual([1, 3, 4]);
    expect(valuesOf('newrelic_host')).toEqual([0, 1, 2, 3, 4]);
  });

  it('is readable by a strict parser, with every finite value unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(anyBlocks, async (blocks) => {
        for (const format of FORMATS) {
          const exposition = await render(blocks.map(written), { format });
          const families = PARSERS[format](Buffer.from(exposition.text));
          const read = families.flatMap(({ samples }) => samples.map((sample) => `${sample.name} ${sample.value}`));
          const expected = blocks.flatMap(({ samples }) =>
            samples.map(({ family, value }) => `${family.name} ${value}`),
          );
          expect(read.filter((sample) => !expected.includes(sample))).toEqual([]);
          expect(new Map(families.map(({ name, samples }) => [name, samples.length]))).toEqual(
            seriesOf(exposition.families),
          );
        }
      }),
      { numRuns: 100 },
    );
  });

  it('may have lines and help texts of any length', async () => {
    const labels = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`l${index}`, '語'.repeat(300)]));
    const added = { added: 'x'.repeat(1000) };
    const long = gauge('newrelic_y', 'applications', '語'.repeat(500_000));
    const blocks = ENTITIES.map((entity) =>
      block({ ...entity, ...labels }, [
        [X, 1 / 3],
        [X, 2, added],
        [long, -1e-7],
      ]),
    );
    const { text } = plainExposition(blocks, [], { format: 'text', maxSeries: Infinity });
    for (const gzip of [false, true]) {
      const exposition = await render(blocks.map(written), { gzip });
      expect(exposition.text === text).toBe(true);
    }
  });

  it.each(['text', 'openmetrics'] as const)(
    'lets other work run while it renders 100,000 series in %s, of many entities or of one',
    async (format) => {
      const ids = Array.from({ length: 100_000 }, (_, index) => String(index));
      const ofMany = ids.map((app_id, index) => block({ app_id, app: 'checkout' }, [[X, index]]));
      const ofOne = block(
        { app: 'checkout' },
        ids.map((id, index) => [X, index, { id }] as const),
      );
      for (const blocks of [ofMany, [ofOne]]) {
        let turns = 0;
        const count = (): void => {
          turns += 1;
          turn = setImmediate(count);
        };
        let turn = setImmediate(count);
        const { pieces } = await render(blocks.map(written), { format });
        clearImmediate(turn);
        expect(turns).toBeGreaterThanOrEqual(2);
        expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(200_000);
      }
    },
  );

  it.each([false, true])('stops at a slice once no client waits for it, compressed: %s', async (gzip) => {
    const family = gauge('newrelic_x');
    const blocks = Array.from({ length: 100_000 }, (_, id) => written(block({ app_id: String(id) }, [[family, id]])));
    for (const laterThan of [1, 3]) {
      const client = new AbortController();
      const exposition = render(blocks, { gzip, signal: client.signal });
      for (let turn = 0; turn < laterThan; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      client.abort();
      await expect(exposition).rejects.toThrow('aborted');
    }
  });

  it('leaves out whole families beyond the limit of series, the largest first', async () => {
    const [small, middle, large] = [gauge('newrelic_small'), gauge('newrelic_middle'), gauge('newrelic_large')];
    const blocks = [0, 1, 2].map((id) =>
      block({ app_id: String(id) }, [
        [large, 1],
        ...(id < 2 ? ([[middle, 1]] as const) : []),
        ...(id < 1 ? ([[small, 1]] as const) : []),
      ]),
    );
    const cutTo = (maxSeries: number) => render(blocks.map(written), { maxSeries });
    expect((await cutTo(6)).dropped).toEqual([]);
    const cut = await cutTo(5);
    const { dropped, families } = cut;
    expect(dropped.map(({ family, series }) => [family, series])).toEqual([
      ['newrelic_large', 1],
      ['newrelic_large', 1],
      ['newrelic_large', 1],
    ]);
    expect(new Set(dropped.map(({ reading }) => reading)).size).toBe(3);
    expect([...seriesOf(families)]).toEqual([
      ['newrelic_middle', 2],
      ['newrelic_small', 1],
    ]);
    expect(cut.text).not.toContain('large');
    expect((await cutTo(0)).families.size).toBe(0);
  });
});
