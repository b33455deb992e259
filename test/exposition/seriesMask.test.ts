import { describe, expect, it } from 'vitest';
import { SeriesMask } from '../../src/exposition/seriesMask.ts';
import { Secrets } from '../../src/log/secrets.ts';
import { parseOpenMetrics, parseText } from '../support/exposition.ts';
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
    ['text in the form of a key', 'NRII-abcdefghijkl_mnopqrst-uvwxyz0123'],
    ['text in the form of a licence key', `eu01xx${'0a'.repeat(15)}NRAL`],
  ])('never shows %s, neither in labels of an entity, a series or the exporter, nor in HELP', async (_, echoed) => {
    const golden = gauge('newrelic_golden', 'golden_metrics', `Time of ${echoed}`);
    const one = written(block({ app: `shop ${echoed}` }, [[golden, 1, { facet: `of ${echoed}` }]]));
    const exporterFamilies = [
      {
        name: 'newrelic_up',
        help: 'Up.',
        type: 'gauge' as const,
        series: [{ suffix: '' as const, labels: { account: echoed }, value: 1 }],
      },
    ];
    for (const format of ['text', 'openmetrics'] as const) {
      const { text } = await render([one], { own: exporterFamilies, format, mask: masking(KEY, CUSTOM).mask });
      expect(text.match(/<secret>/g)).toHaveLength(4);
      expect(text).not.toContain('abcdef');
      expect(text).not.toContain('ABCDEF');
      expect(text).not.toContain('proxy');
      expect(text).not.toContain('NRAL');
    }
  });

  it('shows keys of fewer than 12 characters, parts of keys, and names that resemble keys', async () => {
    const hosts = ['test', KEY.slice(0, 20), `conrad-${'a1'.repeat(12)}`];
    const { text } = await render(hosts.map(hostBlock), { mask: masking('test', KEY).mask });
    for (const host of hosts) expect(text).toContain(`host="${host}"`);
  });

  it('hides a key that becomes known after its labels were rendered', async () => {
    const { mask, secrets } = masking(KEY);
    const blocks = [hostBlock(`of ${CUSTOM}`), written(block({}, [[TIME, 2, { facet: CUSTOM }]]))];
    expect((await render(blocks, { mask })).text).toContain('proxy');
    secrets.add(CUSTOM);
    const { text } = await render(blocks, { mask });
    expect(text).toContain('{host="of <secret>"} 1\n');
    expect(text).toContain('{facet="<secret>"} 2\n');
  });
});

const OTHER = 'NRAK-ZYXWVUTSRQPNMLKJHGFEDCBA432';
const facets = (...values: readonly string[]) => values.map((facet, index) => [TIME, index, { facet }] as const);
const series = (facet: string, value: number) => `newrelic_x_seconds{facet="${facet}"} ${value}`;

describe('series that are published with the same labels', () => {
  it.each([
    ['keys in the rows of one read', [block({}, facets(KEY, 'a', OTHER))], [series('<secret>', 0), series('a', 1)]],
    [
      'keys in the labels of two entities',
      [KEY, OTHER].map((host) =>
        block({ host }, [
          [TIME, 1],
          [TIME, 2, { facet: 'a' }],
        ]),
      ),
      ['newrelic_x_seconds{host="<secret>"} 1', 'newrelic_x_seconds{host="<secret>",facet="a"} 2'],
    ],
    ['keys in two reads', [KEY, OTHER].map((facet) => block({}, facets(facet))), [series('<secret>', 0)]],
    [
      'a key and its replacement, whichever comes first',
      [block({}, facets('<secret>')), block({}, facets(KEY, 'a'))],
      [series('<secret>', 0), series('a', 1)],
    ],
    [
      'a label of an entity and one of a row',
      [block({ facet: KEY }, [[TIME, 0]]), block({}, facets(OTHER))],
      [series('<secret>', 0)],
    ],
    [
      'labels in another order',
      [KEY, OTHER].map((key, index) =>
        block({}, [[TIME, index, index === 0 ? { a: 'a', facet: key } : { facet: key, a: 'a' }]]),
      ),
      ['newrelic_x_seconds{a="a",facet="<secret>"} 0'],
    ],
    [
      'keys at the end of long values',
      [block({}, facets(...[KEY, OTHER].map((key) => `${'x'.repeat(900)} ${key}`)))],
      [series(`${'x'.repeat(900)} <secret>`, 0)],
    ],
    ['lone surrogates', [block({}, facets('\ud800', '\ud801', '\ufffd'))], [series('\ufffd', 0)]],
    [
      'lone surrogates in hosts',
      ['\ud800', '\udc00'].map((host) => block({ host }, [[TIME, 3]])),
      ['newrelic_x_seconds{host="\ufffd"} 3'],
    ],
  ])('are published once, with the first value: %s', async (_, blocks, lines) => {
    const { mask } = masking(KEY);
    const { text, families, dropped } = await render(blocks.map(written), { mask });
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toEqual(lines);
    expect(() => parseText(text)).not.toThrow();
    const open = await render(blocks.map(written), { mask, format: 'openmetrics' });
    expect(() => parseOpenMetrics(open.text)).not.toThrow();
    const read = blocks.flatMap(({ samples }) => samples).length;
    expect(families.get(TIME.name)?.series).toBe(lines.length);
    expect(dropped.reduce((sum, each) => sum + each.series, 0)).toBe(read - lines.length);
  });

  it('are published once among the series of the exporter', async () => {
    const labels = [KEY, OTHER, 'a'].map((account) => ({ account }));
    const up = { name: 'newrelic_up', help: 'Up.', type: 'gauge' as const };
    const calls = { name: 'newrelic_calls_seconds', help: 'Calls.', type: 'histogram' as const };
    const buckets = ['1', '+Inf'].map((le) => ({ suffix: '_bucket', le }));
    const exporterFamilies = [
      { ...up, series: labels.map((each, value) => ({ suffix: '', labels: each, value })) },
      {
        ...calls,
        series: labels.flatMap((each) => [
          ...buckets.map(({ suffix, le }) => ({ suffix, labels: { ...each, le }, value: 2 })),
          ...['_sum', '_count'].map((suffix) => ({ suffix, labels: each, value: 2 })),
        ]),
      },
    ];
    const { text } = await render([], { own: exporterFamilies, mask: masking(KEY).mask });
    expect(parseText(text).map(({ samples }) => samples.length)).toEqual([2, 8]);
    expect(text).toContain('newrelic_up{account="<secret>"} 0\n');
  });

  it('count once against max_series', async () => {
    const { mask } = masking(KEY);
    const blocks = [written(block({}, facets(KEY, OTHER)))];
    expect((await render(blocks, { mask, maxSeries: 1 })).text).toContain('<secret>');
  });
});

it('labels are searched once for the same keys, and blocks without a key stay the same objects', () => {
  const { mask, secrets, searched } = masking(KEY);
  const clean = written(block({ host: 'a' }, [[TIME, 1, { facet: 'b' }]]));
  expect(mask.block(clean)).toBe(clean);
  expect(mask.block({ ...clean })).toEqual(clean);
  expect(searched).toEqual(['a', 'b']);
  secrets.add(CUSTOM);
  mask.block(clean);
  expect(searched).toHaveLength(4);
});

it('a reading gives the same samples each time, so that dropped samples count once', () => {
  const { mask } = masking(KEY);
  const one = written(block({ host: KEY }, [[TIME, 1, { facet: KEY }]]));
  expect(mask.block(one).samples).toBe(mask.block(one).samples);
});
