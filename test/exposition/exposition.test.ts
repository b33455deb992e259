import fc from 'fast-check';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Exposition, type OwnFamily, type RenderedExposition } from '../../src/exposition/exposition.ts';
import type { Format } from '../../src/exposition/formats.ts';
import type { DroppedSeries } from '../../src/metrics/sample.ts';
import { parseOpenMetrics, parseText } from '../support/exposition.ts';
import { labelBytes } from '../../src/metrics/writeSamples.ts';
import { anyBlocks, block, gauge, render, written, type SampleBlock } from '../support/expositionBlocks.ts';
import { plainAnswer } from '../support/plainAnswer.ts';

const FORMATS: readonly Format[] = ['text', 'openmetrics'];
const PARSERS = { text: parseText, openmetrics: parseOpenMetrics };
const UP: OwnFamily = {
  name: 'newrelic_up',
  help: 'Whether "up".',
  type: 'gauge',
  series: [{ suffix: '', labels: { account: 'a' }, value: 1 }],
};
const X = gauge('newrelic_x');

function bytesOf({ pieces, contentEncoding }: RenderedExposition): Buffer {
  const bytes = Buffer.concat(pieces);
  return contentEncoding === 'gzip' ? gunzipSync(bytes) : bytes;
}

/** 6,000 series: more than are put together anew for every answer. */
function fleet(offset: number, entities: readonly { readonly [name: string]: string }[]): SampleBlock[] {
  const families = Array.from({ length: 3 }, (_, index) => gauge(`newrelic_f${index}_seconds`));
  return entities.map((labels, index) => {
    return block(
      labels,
      families.map((family, place) => [family, offset + index * 3 + place] as const),
    );
  });
}

const ENTITIES = Array.from({ length: 2000 }, (_, index) => ({
  account: 'a',
  app: `n${index}`,
  app_id: String(index),
}));

/** How many series of each family are left out. */
function byFamily(dropped: readonly DroppedSeries[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { family, series } of dropped) counts.set(family, (counts.get(family) ?? 0) + series);
  return counts;
}

describe('an answer', () => {
  it('has the bytes of the plain path, whatever the blocks, in both formats, compressed or not', async () => {
    const limit = fc.constantFrom(Infinity, 3, 1, 0);
    await fc.assert(
      fc.asyncProperty(anyBlocks, limit, fc.boolean(), async (blocks, maxSeries, withOwn) => {
        const exposition = new Exposition();
        const own = withOwn ? [UP] : [];
        for (const format of FORMATS) {
          const plain = plainAnswer(blocks, own, { format, maxSeries });
          for (const gzip of [false, true]) {
            const answer = await render(blocks.map(written), { exposition, own, format, gzip, maxSeries });
            expect(bytesOf(answer).toString('utf8')).toBe(plain.text);
            const { counts } = answer.madeOf;
            expect(counts.series).toEqual(plain.series);
            expect(byFamily(counts.dropped)).toEqual(plain.dropped);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('can be read back by a strict parser, with every finite value as it was', async () => {
    await fc.assert(
      fc.asyncProperty(anyBlocks, async (blocks) => {
        const exposition = new Exposition();
        for (const format of FORMATS) {
          const answer = await render(blocks.map(written), { exposition, format });
          const { series } = answer.madeOf.counts;
          const families = PARSERS[format](bytesOf(answer));
          const read = families.flatMap(({ samples }) => samples.map((sample) => `${sample.name} ${sample.value}`));
          const given = blocks.flatMap(({ samples }) => samples.map(({ family, value }) => `${family.name} ${value}`));
          expect(read.filter((sample) => !given.includes(sample))).toEqual([]);
          expect(new Map(families.map(({ name, samples }) => [name, samples.length]))).toEqual(series);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('has room for lines and help texts of any length', async () => {
    const labels = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`l${index}`, '語'.repeat(300)]));
    const added = { added: 'x'.repeat(1000) };
    const long = gauge('newrelic_y', 'applications', '語'.repeat(500_000));
    const blocks = ENTITIES.slice(0, 50).map((entity) =>
      block({ ...entity, ...labels }, [
        [X, 1 / 3],
        [X, 2, added],
        [long, -1e-7],
      ]),
    );
    const { text } = plainAnswer(blocks, [], { format: 'text', maxSeries: Infinity });
    for (const gzip of [false, true]) {
      const answer = await render(blocks.map(written), { gzip });
      expect(bytesOf(answer).toString() === text).toBe(true);
    }
  });

  it('brings a family of several blocks together under one HELP, in order of first appearance', async () => {
    const [one, two] = [gauge('newrelic_one_seconds'), gauge('newrelic_two')];
    const blocks = [
      block({ app_id: '1' }, [
        [two, 1],
        [one, 2],
      ]),
      block({ app_id: '2' }, [
        [one, 3, { component: 'External' }],
        [two, 4],
      ]),
    ];
    const exposition = new Exposition();
    const text = await render(blocks.map(written), { exposition });
    expect(bytesOf(text).toString()).toBe(
      [
        '# HELP newrelic_two Help of newrelic_two.',
        '# TYPE newrelic_two gauge',
        'newrelic_two{app_id="1"} 1',
        'newrelic_two{app_id="2"} 4',
        '# HELP newrelic_one_seconds Help of newrelic_one_seconds.',
        '# TYPE newrelic_one_seconds gauge',
        'newrelic_one_seconds{app_id="1"} 2',
        'newrelic_one_seconds{app_id="2",component="External"} 3',
        '',
      ].join('\n'),
    );
    const openMetrics = await render(blocks.map(written), { exposition, own: [UP], format: 'openmetrics', gzip: true });
    expect(bytesOf(openMetrics).toString()).toBe(
      [
        '# TYPE newrelic_two gauge',
        '# HELP newrelic_two Help of newrelic_two.',
        'newrelic_two{app_id="1"} 1',
        'newrelic_two{app_id="2"} 4',
        '# TYPE newrelic_one_seconds gauge',
        '# UNIT newrelic_one_seconds seconds',
        '# HELP newrelic_one_seconds Help of newrelic_one_seconds.',
        'newrelic_one_seconds{app_id="1"} 2',
        'newrelic_one_seconds{app_id="2",component="External"} 3',
        '# TYPE newrelic_up gauge',
        '# HELP newrelic_up Whether \\"up\\".',
        'newrelic_up{account="a"} 1',
        '# EOF',
        '',
      ].join('\n'),
    );
    expect(text.format).toBe('text');
    expect(openMetrics.format).toBe('openmetrics');
  });

  it('has the first of a custom series that comes twice for an entity, its labels in another order, and both where labels differ only behind the cut', async () => {
    const custom = gauge('newrelic_custom', 'custom_metrics');
    const long = 'x'.repeat(1100);
    const blocks = [
      block(
        { app_id: '1' },
        [
          [custom, 1, { a: '1', b: '2' }],
          [custom, 2, { b: '2', a: '1' }],
          [custom, 3, { a: `${long}3` }],
          [custom, 4, { a: `${long}4` }],
          [custom, 5],
          [custom, 6],
        ],
        'custom_metrics',
      ),
      block({ app_id: '2' }, [[custom, 7, { a: '1', b: '2' }]], 'custom_metrics'),
    ];
    const answer = await render(blocks.map(written));
    expect(parseText(bytesOf(answer))[0]?.samples.map(({ value }) => value)).toEqual([1, 3, 4, 5, 7]);
  });

  it.each(['text', 'openmetrics'] as const)(
    'lets other work go on while 100,000 series are written in %s, of many entities or of one',
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

  it('leaves out what cannot be written', async () => {
    const family = gauge('newrelic_x');
    const rows = [NaN, Infinity, -Infinity].map((value) => [family, value] as const);
    const blocks = [block({ a: '1' }, [...rows, [family, 2, { b: '2' }]])];
    const answer = await render(blocks.map(written));
    expect(bytesOf(answer).toString()).toMatch(/gauge\nnewrelic_x\{a="1",b="2"\} 2\n$/);
  });

  it('leaves out whole families, the largest first, beyond the guard', async () => {
    const [small, middle, large] = [gauge('newrelic_small'), gauge('newrelic_middle'), gauge('newrelic_large')];
    const blocks = [0, 1, 2].map((id) =>
      block({ app_id: String(id) }, [
        [large, 1],
        ...(id < 2 ? ([[middle, 1]] as const) : []),
        ...(id < 1 ? ([[small, 1]] as const) : []),
      ]),
    );
    const cutTo = (maxSeries: number) => render(blocks.map(written), { maxSeries });
    expect((await cutTo(6)).madeOf.counts.dropped).toEqual([]);
    const cut = await cutTo(5);
    const { dropped, series: kept } = cut.madeOf.counts;
    expect(dropped.map(({ family, series }) => [family, series])).toEqual([
      ['newrelic_large', 1],
      ['newrelic_large', 1],
      ['newrelic_large', 1],
    ]);
    expect(new Set(dropped.map(({ reading }) => reading)).size).toBe(3);
    expect([...kept]).toEqual([
      ['newrelic_middle', 2],
      ['newrelic_small', 1],
    ]);
    expect(bytesOf(cut).toString()).not.toContain('large');
    expect((await cutTo(0)).madeOf.counts.series.size).toBe(0);
  });
});

describe('rendering the same blocks again', () => {
  it('gives the same pieces, to those who ask at once as well', async () => {
    const exposition = new Exposition();
    const blocks = fleet(0, ENTITIES).map(written);
    for (const gzip of [false, true]) {
      const options = { exposition, gzip };
      const [first, second] = await Promise.all([render(blocks, options), render([...blocks], options)]);
      const third = await render(blocks, { ...options, own: [UP] });
      expect(first.pieces.length).toBeGreaterThan(2);
      expect(second.pieces[0]).toBe(first.pieces[0]);
      expect(second.pieces[1]).toBe(first.pieces[1]);
      expect(third.pieces[1]).toBe(first.pieces[1]);
    }
  });

  it('has the new labels of an entity that was renamed while its samples stayed', async () => {
    const exposition = new Exposition();
    const blocks = fleet(0, ENTITIES).map(written);
    await render(blocks, { exposition });
    const labels = { account: 'a', app: 'renamed', app_id: '7' };
    const renamed = blocks.map((one, index) =>
      index === 7 ? { ...one, labels, labelBytes: labelBytes(labels) } : one,
    );
    const answer = await render(renamed, { exposition });
    expect(bytesOf(answer).toString()).toContain('app="renamed"');
  });

  it('has an entity that came behind all others, and no longer one that has gone from there', async () => {
    const exposition = new Exposition();
    const blocks = fleet(0, ENTITIES).map(written);
    for (const asked of [blocks.slice(0, -1), blocks, blocks.slice(0, -1)]) {
      const answer = await render(asked, { exposition });
      const last = `app="${ENTITIES.at(-1)!.app}"`;
      expect(bytesOf(answer).toString().includes(last)).toBe(asked === blocks);
    }
  });

  it('follows every change: values, labels, the guard, entities that come and go', async () => {
    const exposition = new Exposition();
    const renamed = ENTITIES.map((labels, index) => (index === 7 ? { ...labels, app: 'renamed' } : labels));
    const lists: readonly (readonly [SampleBlock[], number])[] = [
      [fleet(0, ENTITIES), Infinity],
      [fleet(1, ENTITIES), Infinity],
      [fleet(1, renamed), Infinity],
      [fleet(1, renamed.slice(3)), Infinity],
      [fleet(2, renamed), Infinity],
      [fleet(2, renamed), 2500],
    ];
    for (const [blocks, maxSeries] of lists) {
      for (const format of FORMATS) {
        const { text } = plainAnswer(blocks, [UP], { format, maxSeries });
        for (const gzip of [false, true]) {
          const answer = await render(blocks.map(written), { exposition, own: [UP], format, gzip, maxSeries });
          expect(bytesOf(answer).toString() === text).toBe(true);
        }
      }
    }
  });

  it('is not made again because a small answer was asked for meanwhile', async () => {
    const exposition = new Exposition();
    const blocks = fleet(0, ENTITIES).map(written);
    const options = { exposition };
    const first = await render(blocks, options);
    await render(blocks.slice(0, 5), options);
    expect((await render(blocks, options)).pieces[0]).toBe(first.pieces[0]);
  });
});

describe('large answers', () => {
  const blocksOf = (offset: number) => fleet(offset, ENTITIES).map(written);

  it('are made one after the other, and none for who has gone before its turn', async () => {
    const exposition = new Exposition();
    const gone = new AbortController();
    const order: string[] = [];
    const made = (name: string, offset: number, signal?: AbortSignal) =>
      render(blocksOf(offset), { exposition, ...(signal && { gone: signal }) }).then(() => order.push(name));
    const first = made('first', 0);
    const left = made('left', 1, gone.signal);
    const last = made('last', 2);
    gone.abort();
    await expect(left).rejects.toThrow('all clients of this exposition have left');
    await Promise.all([first, last]);
    expect(order).toEqual(['first', 'last']);
  });

  it('are shared by all who take the same, also while others are made in between', async () => {
    const exposition = new Exposition();
    const [one, other] = [blocksOf(0), blocksOf(1)];
    const taken = [];
    for (let round = 0; round < 5; round += 1) {
      taken.push(await render(one, { exposition }), await render(other, { exposition }));
    }
    const bytes = new Map(taken.flatMap(({ pieces }) => pieces).map((piece) => [piece, piece.length]));
    const distinct = [...bytes.values()].reduce((sum, length) => sum + length, 0);
    const lengths = taken.slice(0, 2).map(({ pieces }) => Buffer.concat(pieces).length);
    expect(distinct).toBe((lengths[0] ?? 0) + (lengths[1] ?? 0));
    expect(new Set(taken.map(({ madeOf }) => madeOf)).size).toBe(2);
  });

  it('hold nothing of who has waited for them, and are not kept for a limit that is no longer in force', async () => {
    const exposition = new Exposition();
    const ask = async (maxSeries: number): Promise<WeakRef<object>[]> => {
      const { signal } = new AbortController();
      const { madeOf } = await render(blocksOf(0), { exposition, gone: signal, maxSeries });
      return [new WeakRef(signal), new WeakRef(madeOf)];
    };
    const left = await ask(90_000);
    await ask(80_000);
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const isLeft = (): boolean => {
      collectGarbage();
      return left.some((reference) => reference.deref() !== undefined);
    };
    await expect.poll(isLeft).toBe(false);
  });
});
