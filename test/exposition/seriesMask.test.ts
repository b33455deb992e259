import { describe, expect, it } from 'vitest';
import { SeriesMask } from '../../src/exposition/seriesMask.ts';
import { Secrets } from '../../src/log/secrets.ts';
import { block, gauge, render, written } from '../support/expositionBlocks.ts';

const KEY = 'NRAK-ABCDEFGHJKLMNPQRSTUVWXYZ234';
const CUSTOM = 'a "proxy\\key" <&>';

function masking(...keys: readonly string[]) {
  const secrets = new Secrets();
  for (const key of keys) secrets.add(key);
  const searched: string[] = [];
  const mask = new SeriesMask(
    (text) => {
      searched.push(text);
      return secrets.maskPublished(text);
    },
    () => secrets.size,
  );
  return { secrets, searched, mask };
}

const TIME = gauge('newrelic_x_seconds');
const hostBlock = (host: string) => written(block({ host }, [[TIME, 1]]));

describe('an exposition', () => {
  it.each([
    ['a key as it is', KEY],
    ['a key in an address', `https://shop.example/?key=${encodeURIComponent(KEY)}`],
    ['a key that is escaped in a label', CUSTOM],
    ['a key escaped for JSON', JSON.stringify(CUSTOM)],
    ['what is in the form of a key', 'NRII-abcdefghijkl_mnopqrst-uvwxyz0123'],
    ['what is in the form of a licence key', `eu01xx${'0a'.repeat(15)}NRAL`],
  ])('shows %s nowhere: the label of an entity, of a series, of the exporter, or a help text', async (_, echoed) => {
    const golden = gauge('newrelic_golden', 'golden_metrics', `Time of ${echoed}`);
    const one = written(block({ app: `shop ${echoed}` }, [[golden, 1, { facet: `of ${echoed}` }]]));
    const own = [
      {
        name: 'newrelic_up',
        help: 'Up.',
        type: 'gauge' as const,
        series: [{ suffix: '' as const, labels: { account: echoed }, value: 1 }],
      },
    ];
    for (const format of ['text', 'openmetrics'] as const) {
      const { text } = await render([one], { own, format, mask: masking(KEY, CUSTOM).mask });
      expect(text.match(/<secret>/g)).toHaveLength(4);
      expect(text).not.toContain('abcdef');
      expect(text).not.toContain('ABCDEF');
      expect(text).not.toContain('proxy');
      expect(text).not.toContain('NRAL');
    }
  });

  it('has keys of fewer than 12 characters, parts of keys, and names that resemble one', async () => {
    const hosts = ['test', KEY.slice(0, 20), `conrad-${'a1'.repeat(12)}`];
    const { text } = await render(hosts.map(hostBlock), { mask: masking('test', KEY).mask });
    for (const host of hosts) expect(text).toContain(`host="${host}"`);
  });

  it('is without a key that became known after its labels were first written', async () => {
    const { mask, secrets } = masking(KEY);
    const blocks = [hostBlock(`of ${CUSTOM}`), written(block({}, [[TIME, 2, { facet: CUSTOM }]]))];
    expect((await render(blocks, { mask })).text).toContain('proxy');
    secrets.add(CUSTOM);
    const { text } = await render(blocks, { mask });
    expect(text).toContain('{host="of <secret>"} 1\n');
    expect(text).toContain('{facet="<secret>"} 2\n');
  });
});

it('searches each label once for the same keys, and leaves blocks without a key as they are', () => {
  const { mask, secrets, searched } = masking(KEY);
  const clean = written(block({ host: 'a' }, [[TIME, 1, { facet: 'b' }]]));
  expect(mask.block(clean)).toBe(clean);
  expect(mask.block({ ...clean })).toEqual(clean);
  expect(searched).toEqual(['a', 'b']);
  secrets.add(CUSTOM);
  mask.block(clean);
  expect(searched).toHaveLength(4);
});

it('gives the same samples for the same reading, so that what is left out counts once', () => {
  const { mask } = masking(KEY);
  const one = written(block({ host: KEY }, [[TIME, 1, { facet: KEY }]]));
  expect(mask.block(one).samples).toBe(mask.block(one).samples);
});
