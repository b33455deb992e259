import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../src/config/diagnostic.ts';
import type { QueryDefinition } from '../../src/metrics/queryFamilies.ts';
import { loadConfig } from '../../src/config/load.ts';
import { PACKS } from '../../src/config/schema/query.ts';
import { redactConfig } from '../../src/config/schema/file.ts';
import { temporaryFolders } from './folder.ts';
import { configOf, faultsOf } from './reading.ts';

/** An account with queries, given as the lines of a YAML list. */
function withQueries(lines: string, keys = ''): string {
  return `accounts:\n  - api_key: abcd\n    account_id: 7\n${keys}    queries:\n${lines.replace(/^/gm, '      ')}\n`;
}

const ORDERS = `- name: orders
  nrql: >-
    SELECT count(*) AS orders, percentile(duration, 50, 95) AS took
    FROM Transaction WHERE appName = 'Storefront' FACET region, plan
  metrics:
    - {name: shop_orders, help: Orders in the window, value: orders}
    - {name: shop_order_duration_seconds, value: took}`;

/** A file with one query of this text; the metric reads `value`. */
const one = (nrql: string, more = '', value = ', value: count'): string =>
  `- name: q\n  nrql: ${JSON.stringify(nrql)}\n  metrics: [{name: a_metric${value}}]${more === '' ? '' : `\n  ${more}`}`;

describe('a query', () => {
  it('has defaults', () => {
    expect(configOf(withQueries(ORDERS)).accounts[0]?.queries).toEqual([
      {
        name: 'orders',
        nrql: "SELECT count(*) AS orders, percentile(duration, 50, 95) AS took FROM Transaction WHERE appName = 'Storefront' FACET region, plan",
        metrics: [
          { name: 'shop_orders', help: 'Orders in the window', value: 'orders', scale: 1 },
          {
            name: 'shop_order_duration_seconds',
            help: 'Result of a query; the configuration gives no help text.',
            value: 'took',
            scale: 1,
          },
        ],
        interval: 60_000,
        max_series: 5_000,
      } satisfies QueryDefinition,
    ]);
  });

  it('can set every key', () => {
    const more =
      'labels: [area, tier]\n  window: 30d\n  delay: 4h\n  interval: 5m\n  limit: 100\n  fail_at: {value: orders, at_least: 5}';
    const [query] = configOf(withQueries(`${ORDERS}\n  ${more}\n  max_series: 9`)).accounts[0]?.queries ?? [];
    expect(query).toMatchObject({
      labels: ['area', 'tier'],
      window: 2_592_000_000,
      delay: 14_400_000,
      interval: 300_000,
      limit: 100,
      fail_at: { value: 'orders', at_least: 5 },
      max_series: 9,
    });
  });

  it('is shown on /config in a form that can be used as a file', () => {
    const config = configOf(withQueries(ORDERS, '    query_packs: [alert_events]\n'));
    expect(configOf(redactConfig(config).replace('<secret>', 'abcd'))).toEqual(config);
  });
});

it('faults of NRQL name the number of the character and the place of the text', () => {
  const lines = `- name: orders
  nrql: >-
    SELECT count(*) FROM (SELECT max(a) FROM T
      FACET b)
    WHERE x = 'SINCE' LIMIT 5
  metrics: [{name: a_metric}]`;
  const [facet, limit, ...others] = faultsOf(withQueries(lines));
  expect(facet).toMatch(/^c\.yaml:6:15: accounts\[0\]\.queries\[0\]\.nrql: character 46: FACET of an inner query/);
  expect(limit).toMatch(/^c\.yaml:6:15: accounts\[0\]\.queries\[0\]\.nrql: character 73: LIMIT stands outside/);
  expect(others).toEqual([]);
});

describe('a query is refused', () => {
  it('without an account number over REST, but not over NerdGraph', () => {
    const text = withQueries(one('SELECT count(*) FROM T')).replace('    account_id: 7\n', '');
    expect(faultsOf(text)).toEqual([]);
    expect(faultsOf(text.replace('api_key: abcd', 'api_key: abcd\n    api: rest'))).toEqual([
      'c.yaml:2:5: accounts[0].account_id: is required for queries, which are read through NerdGraph: give the number of the account',
    ]);
  });

  it('where one family has different help texts or labels', () => {
    const metrics = (help: string): string => `metrics: [{name: m, help: ${help}}]`;
    const queryLine = (name: string, facet: string, help: string): string =>
      `- {name: ${name}, nrql: "SELECT count(*) FROM T FACET ${facet}", ${metrics(help)}}`;
    expect(faultsOf(withQueries([queryLine('a', 'x', 'h'), queryLine('b', 'x', 'h')].join('\n')))).toEqual([]);
    expect(faultsOf(withQueries([queryLine('a', 'x', 'h'), queryLine('b', 'y', 'other')].join('\n')))).toEqual([
      expect.stringContaining('queries[1].metrics[0].name: must have the same labels as in accounts[0].queries[0]'),
      expect.stringContaining('queries[1].metrics[0].help: must be the same text as in accounts[0].queries[0]'),
    ]);
    const ofColumn = (name: string, column: string): string =>
      `- {name: ${name}, nrql: "SELECT ${column} AS a FROM T", metrics: [{name: m, help: h, value: a}]}`;
    const percentiles = 'percentile(d, 95)';
    for (const around of [
      'filter(percentile(d, 75), WHERE e = 1)',
      'bucketPercentile(b, 50)',
      '1000 * (percentile(d))',
    ]) {
      expect(faultsOf(withQueries([ofColumn('a', around), ofColumn('b', percentiles)].join('\n')))).toEqual([]);
      expect(faultsOf(withQueries([ofColumn('a', around), ofColumn('b', 'count(*)')].join('\n')))).toEqual([
        expect.stringContaining('queries[1].metrics[0].name: must have the same labels as in accounts[0].queries[0]'),
      ]);
    }
    for (const number of [
      'getField(percentile(d, 95), 95)',
      'filter(count(*), WHERE d > (SELECT percentile(d) FROM T))',
    ])
      expect(faultsOf(withQueries([ofColumn('a', number), ofColumn('b', 'count(*)')].join('\n')))).toEqual([]);
    const custom = '    custom_metrics: [{name: m, help: h, match: Custom/abc, value: v}]\n';
    expect(faultsOf(withQueries(queryLine('a', 'x', 'h'), custom)).join('\n')).toContain(
      'as in accounts[0].custom_metrics[0]',
    );
  });
});

describe('a warning about a query', () => {
  const warningsOf = (lines: string): string[] => {
    const result = loadConfig({ path: 'c.yaml', text: withQueries(lines).replace('abcd', 'NRAK-A') }, {});
    if ('diagnostics' in result) throw new Error(result.diagnostics.map(formatDiagnostic).join('\n'));
    return result.warnings.map(formatDiagnostic);
  };
  const valued = (nrql: string, value: string, more = ''): string =>
    one(nrql, more, `, value: ${JSON.stringify(value)}`);

  it.each([
    ['SELECT getField(percentile(x, 99.5), 99.5) AS a FROM T', 'percentile[99.5]'],
    ['SELECT apdex(duration, t: 0.5) AS a FROM T', 'score'],
    ['SELECT count(*) AS a, max(b) AS c FROM T', 'max.b'],
  ])('names a value that is not a column: %s with %s', (nrql, value) => {
    expect(warningsOf(valued(nrql, value))).toEqual([
      expect.stringMatching(
        /^c\.yaml:7:43: accounts\[0\]\.queries\[0\]\.metrics\[0\]\.value: is no column of the query, which has a.*: only some functions/,
      ),
    ]);
    expect(warningsOf(valued(nrql, 'a'))).toEqual([]);
  });

  it('names a column of fail_at that does not exist', () => {
    expect(warningsOf(valued('SELECT count(*) AS a FROM T', 'a', 'fail_at: {value: b, at_least: 5}'))).toEqual([
      expect.stringContaining('queries[0].fail_at.value: is no column of the query, which has a:'),
    ]);
  });

  it.each([
    ['SELECT sum(a) AS n FROM T FACET b', 8],
    ['FROM T SELECT uniqueCount(a) AS n, count(*) AS m FACET b', 15],
    ['SELECT rate(count(*), 1 minute) AS n FROM T FACET b', 8],
    ['SELECT filter(count(*), WHERE a = 1) AS n FROM T FACET b', 8],
    ['SELECT latest(a) AS n FROM T FACET b, c', 8],
    ['SELECT 100 * (sum(a) / count(*)) AS n FROM T FACET b', 15],
    ['SELECT sum(n) AS n FROM (SELECT max(a) AS n FROM T FACET b ORDER BY max(a) LIMIT MAX) FACET b', 8],
  ])('says that with a limit New Relic keeps the most frequent facets: %s', (nrql, character) => {
    const labels = nrql.includes('b, c') ? 'labels: [b, c]\n  ' : '';
    expect(warningsOf(valued(nrql, 'n', `${labels}limit: 20`))).toEqual([
      expect.stringContaining(
        `queries[0].nrql: character ${character}: with "limit" New Relic keeps the facets that occur most`,
      ),
    ]);
    expect(warningsOf(valued(nrql, 'n', labels.trim()))).toEqual([]);
    expect(warningsOf(valued(`${nrql} ORDER BY sum(a)`, 'n', `${labels}limit: 20`))).toEqual([]);
  });

  it.each([
    'SELECT max(a) AS n FROM T FACET b',
    'SELECT MIN(a) * 1000 AS n FROM T FACET b',
    'SELECT percentile(a, 95) AS n, sum(b) AS m FROM T FACET b',
    'SELECT average(a) AS n FROM T FACET b',
    'SELECT count(*) AS n, sum(a) AS m FROM T FACET b',
    'SELECT sum(a) AS n FROM T',
    'SELECT sum(a) AS n FROM T FACET b ORDER BY sum(a) DESC',
  ])('is absent for a limit with %s', (nrql) => {
    expect(warningsOf(valued(nrql, 'n', 'limit: 20'))).toEqual([]);
  });
});

describe('query files', () => {
  const folder = temporaryFolders();
  const KEY = 'NRAK-0123456789ABCDEFGHIJ';
  const file = (name: string, nrql = 'SELECT count(*) FROM T'): string =>
    `queries:\n  - {name: ${name}, nrql: "${nrql}", metrics: [{name: m_${name}}]}\n`;

  /** Writes files to a folder and loads a configuration that names some of them. */
  function load(names: string, files: Readonly<Record<string, string>>, env = {}, key = 'api_key: NRAK-A') {
    const root = folder();
    mkdirSync(join(root, 'queries'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
    const text = `accounts:\n  - {${key}, account_id: 7, query_files: [${names}]}\n`;
    const result = loadConfig({ path: join(root, 'c.yaml'), text }, env);
    const relative = (faults: readonly Parameters<typeof formatDiagnostic>[0][]): string[] =>
      faults.map((fault) => formatDiagnostic(fault).replaceAll(`${root}/`, ''));
    if ('diagnostics' in result) return { faults: relative(result.diagnostics), warnings: [], queries: [] };
    return { faults: [], warnings: relative(result.warnings), queries: result.config.accounts[0]?.queries };
  }

  it('are read in the order of the configuration, with patterns sorted and each file once', () => {
    const [z, b, a] = ['z', 'b', 'a'].map((name) => file(name));
    const files = { 'z.yaml': z!, 'queries/b.yaml': b!, 'queries/a.yaml': a!, 'queries/.x.yaml': 'x' };
    const queries = [{ name: 'z' }, { name: 'a' }, { name: 'b' }];
    expect(load('z.yaml, queries/*.yaml, queries/a.yaml', files)).toMatchObject({ faults: [], queries });
  });

  it('do not expand placeholders, and a warning says so', () => {
    const files = { 'a.yaml': file('a', "SELECT count(*) AS ${KEY} FROM T WHERE x = '$${KEY}'") };
    expect(load('a.yaml', files, { KEY: 'NRAK-SECRET' })).toEqual({
      faults: [],
      warnings: [
        'c.yaml:2:52: accounts[0].query_files[0]: has a ${...}, which stays as it is: placeholders are not replaced in query files',
      ],
      queries: [expect.objectContaining({ name: 'a', nrql: "SELECT count(*) AS ${KEY} FROM T WHERE x = '$${KEY}'" })],
    });
  });

  it('must not hold a key of the configuration', () => {
    const files = { 'a.yaml': file('a', `SELECT count(*) FROM T WHERE x = '${KEY}'`), key: KEY };
    const message =
      'a.yaml:2:21: queries[0].nrql: holds an API key of the configuration, which would be published or sent: remove it';
    expect(load('a.yaml', files).faults).toEqual([]);
    expect(load('a.yaml', files, {}, `api_key: ${KEY}`).faults).toEqual([message]);
    expect(load('a.yaml', files, {}, 'api_key_file: key').faults).toEqual([message]);
  });

  it('have faults at their own places', () => {
    const files = {
      'a.yaml': file('a', 'SELECT count(*) FROM T LIMIT 5'),
      'b.yaml': 'queries: [{name: a}]\nmore: 1\n',
      'list.yaml': '- name: orders\n',
    };
    expect(load('a.yaml, b.yaml, list.yaml', files).faults).toEqual([
      'a.yaml:2:21: queries[0].nrql: character 24: LIMIT stands outside of an inner query: remove it, the exporter writes it ("limit" says how many facets are read)',
      'b.yaml:1:11: queries[0].nrql: is required (text)',
      'b.yaml:1:11: queries[0].metrics: is required (a list)',
      'b.yaml:1:18: queries[0].name: is the name of another query of the account: choose another',
      'b.yaml:2:1: more: unknown key',
      'list.yaml:1:1: expected a mapping, not a list: begin the file with "queries:" and indent the list below it',
    ]);
  });

  it('have warnings at their own places', () => {
    const nrql = 'SELECT sum(a) AS n FROM T FACET b';
    const query = `{name: a, nrql: ${nrql}, limit: 5, metrics: [{name: m, value: x}]}`;
    expect(load('a.yaml', { 'a.yaml': `queries:\n  - ${query}\n` })).toMatchObject({
      faults: [],
      warnings: [
        expect.stringMatching(/^a\.yaml:2:21: queries\[0\]\.nrql: character 8: with "limit" New Relic keeps/),
        expect.stringMatching(
          /^a\.yaml:2:\d+: queries\[0\]\.metrics\[0\]\.value: is no column of the query, which has n:/,
        ),
      ],
    });
  });

  it('are faults when missing, and warnings when a pattern matches no file', () => {
    expect(load('a.yaml', {}).faults).toEqual([
      'c.yaml:2:52: accounts[0].query_files[0]: the query file a.yaml does not exist',
    ]);
    expect(load('"queries/*.yaml"', {})).toMatchObject({
      faults: [],
      warnings: ['c.yaml:2:52: accounts[0].query_files[0]: no file matches: it gives no query'],
    });
  });

  it('may have a * only in the name of the file', () => {
    expect(load('"q*/a.yaml"', { 'queries/a.yaml': file('a') }).faults).toEqual([
      'c.yaml:2:52: accounts[0].query_files[0]: has a * in the name of a folder: name the folder, * is for files',
    ]);
  });
});

describe('packs', () => {
  it('are valid together, and their queries have the prefix of the pack', () => {
    const queries = configOf(`accounts: [{api_key: abcd, account_id: 7, query_packs: [${PACKS.join(', ')}]}]`)
      .accounts[0]?.queries;
    expect(queries?.map(({ name }) => name)).toContain('alert_events/open');
    for (const { name } of queries ?? []) expect(PACKS).toContain(name.split('/')[0]);
    const bare = queries?.map(({ name }) => name.split('/')[1]) ?? [];
    expect(new Set(bare).size).toBe(bare.length);
  });

  it('may be read together with query files', () => {
    const file = join(import.meta.dirname, '../../packs/alert_events.yaml');
    const account = `{api_key: abcd, account_id: 7, query_files: [${JSON.stringify(file)}], query_packs: [alert_events]}`;
    const names = configOf(`accounts: [${account}]`).accounts[0]?.queries.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['open', 'alert_events/open']));
  });
});
