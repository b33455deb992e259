import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { json, startServer } from '../api/support/testServer.ts';
import { account } from '../e2e/support/config.ts';
import { exporterForTest } from '../e2e/support/forTest.ts';
import { SAME_WINDOW } from '../e2e/support/movedClock.ts';
import { commandsOn } from '../support/inProcess.ts';
import { simulatorForFile, simulatorForTest } from '../support/simulator.ts';

const simulator = await simulatorForFile({ applications: 3, hostsPerApplication: 1 });

const COUNT =
  "SELECT count(*) AS events, percentile(duration, 95) AS took FROM Transaction WHERE transactionType = 'Web' FACET appName";

/** An account of the REST interface: its queries go through NerdGraph all the same. */
const rest = (more: object = {}) => account(simulator, 'shop', { account_id: 1_234_567, ...more });
const run = commandsOn(rest());
const query = (...args: readonly string[]) => run('query', ...args);

describe('the command query', () => {
  it('prints the rows of an NRQL text for a REST account', async () => {
    const { status, stdout, stderr } = await query(COUNT);
    expect(stderr).toMatch(/^3 rows, from \S+ to \S+\n$/);
    expect(stdout.split('\n')[0]).toMatch(/^appName +events +took 95$/);
    expect(stdout.trimEnd().split('\n')).toHaveLength(4);
    const took = /^Storefront +\d+ +(\S+)$/m.exec(stdout)?.[1];
    expect(took).toBe(String(Number(Number(took).toPrecision(4))));
    expect(status).toBe(0);
  });

  it('prints YAML that check accepts, and the series of that configuration', async () => {
    const printed = await query(COUNT, '--format=yaml', '--window=1h', '--delay=4h');
    const { queries } = parse(printed.stdout) as { readonly queries: readonly object[] };
    const metrics = [{ name: 'query_events' }, { name: 'query_took' }];
    expect(queries).toMatchObject([{ name: 'query', labels: ['appName'], window: '1h', delay: '4h', metrics }]);
    const configured = commandsOn(rest({ queries }));
    expect(await configured('check')).toMatchObject({ status: 0 });
    const shown = await configured('query', '--name=query', '--format=metrics');
    expect(shown.stdout).toMatch(/^query_events\{account="shop",appName="[^"]+"\} \d+$/m);
    expect(shown.stdout).toMatch(/^query_took\{account="shop",appName="[^"]+",percentile="95"\} [\d.]+$/m);
  });

  it.each([
    [
      'SELECT getField(percentile(duration, 99.5), 99.5) AS a, count(*) AS n FROM Transaction',
      ['query_n', 'query_percentile_99_5_'],
    ],
    [
      'SELECT apdex(duration, t: 0.5) AS a FROM Transaction FACET appName',
      ['query_count_value', 'query_f', 'query_s', 'query_score', 'query_t'],
    ],
    ['SELECT histogram(duration, 400, 4) AS h, max(duration) AS most FROM Transaction', ['query_most']],
    [
      'SELECT histogram(duration, 400, 4), latest(name), uniques(name, 5), count(*) FROM Transaction',
      ['query_count_value'],
    ],
    ['SELECT filter(percentile(duration, 50, 95), WHERE error IS FALSE) AS took FROM Transaction', ['query_took']],
    [
      'SELECT percentile(duration, 50) * 1000, percentile(duration, 95) AS took FROM Transaction',
      ['query_result', 'query_took'],
    ],
    ['SELECT rate(count(*), 1 minute) FROM Transaction FACET appName', ['query_result']],
    ['SELECT percentage(count(*), WHERE error IS TRUE) AS bad FROM Transaction', ['query_bad']],
    [
      'SELECT count(*) AS n FROM Transaction WHERE name IN (SELECT uniques(name) FROM Transaction SINCE 1 day ago)',
      ['query_n'],
    ],
    [
      'SELECT count(*) AS n FROM (SELECT uniques(appName) AS apps FROM Transaction FACET region LIMIT MAX) FACET apps',
      ['query_n'],
    ],
    [
      'SELECT count(*) AS n FROM (SELECT uniques(appName) AS apps FROM Transaction FACET region LIMIT MAX) FACET region, apps',
      ['query_n'],
    ],
    ['SELECT count(*) AS n FROM NothingOfTheKind FACET a', []],
  ])('prints YAML that check accepts, with the families that have numeric values: %s', async (text, families) => {
    const { stdout } = await query(text, '--format=yaml');
    const { queries } = parse(stdout) as { readonly queries: readonly object[] };
    const configured = commandsOn(rest({ queries }));
    expect(await configured('check')).toMatchObject({ status: 0 });
    const { status, stdout: shown } = await configured('query', '--name=query', '--format=metrics');
    expect(status).toBe(0);
    expect([...new Set([...shown.matchAll(/^(query_\w+)[{ ]/gm)].map(([, name]) => name))].sort()).toEqual(families);
  });

  it.each([
    [
      'table',
      'SELECT getField(percentile(duration, 99.5), 99.5) AS a FROM Transaction',
      'only null in "a", but numbers in "percentile[99.5]":',
    ],
    [
      'yaml',
      'SELECT average(duratoin) AS took, count(*) AS n FROM Transaction',
      'only null in "took", but numbers in "n":',
    ],
    [
      'metrics',
      'SELECT histogram(duration, 400, 4) AS h FROM Transaction',
      'rows without a number in "h": the columns are "h"',
    ],
  ])('warns of columns without values, --format=%s', async (format, text, words) => {
    const { status, stderr } = await query(text, `--format=${format}`);
    expect([status, stderr]).toEqual([0, expect.stringContaining(`warning: the query has ${words}`)]);
  });

  it.each(['table', 'json', 'yaml', 'metrics'])('shows no key in its output, --format=%s', async (format) => {
    const key = 'NRAK-SIMULATOR0000000000000000';
    const other = 'NRAK-ANOTHERKEY00000000000000';
    const text = `SELECT count(*) AS '${other}' FROM Transaction WHERE appName != '${key}'`;
    const { status, stdout } = await query(text, `--format=${format}`);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('<secret>') as string });
    for (const secret of [key, other]) expect(stdout).not.toContain(secret);
  });

  it.each([
    [['SELECT count(*) FROM Transaction LIMIT 5'], 'character 34: LIMIT'],
    [
      ['SELECT count(*) FROM Transaction SINCE 1 hour ago'],
      'character 34: flags set the time of a query: remove it, and give --window and --delay',
    ],
    [['SELECT count(*) FROM Transaction until now'], 'character 34: flags set the time of a query'],
    [['SELECT count(*) FROM Transaction TIMESERIES'], 'character 34: remove TIMESERIES'],
    [[], ''],
    [['--name=alert_events/opn'], '"alert_events/open"?'],
    [
      ['--name=transactions/slowest'],
      'error: no account has the query "transactions/slowest": switch its pack on with query_packs: [transactions]\n',
    ],
  ])('reports what is wrong with %j', async (args, words) => {
    const { status, stderr } = await query(...args);
    expect([status, stderr]).toEqual([2, expect.stringContaining(words)]);
  });

  it('asks for the account number of a REST account', async () => {
    const { status, stderr } = await commandsOn(account(simulator, 'shop'))('query', COUNT);
    expect([status, stderr]).toEqual([2, expect.stringContaining('needs account_id')]);
  });

  it('ends with 1 and the message of New Relic where it refuses the query', async () => {
    const result = await query('SELECT nonsense(x) FROM Transaction');
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(/^error: account shop: the query cannot be read: graphql:queries/);
  });

  it('prints facets under their own names, and nothing for a column that a row lacks', async () => {
    const end = Math.floor(Date.now() / 60_000) * 60_000 - 180_000;
    const metadata = { facets: ['plan', 'region'], timeWindow: { begin: end - 300_000, end } };
    const results: object[] = [{ facet: ['basic', 'eu'], constructor: 7 }, { facet: ['pro', 'us'] }];
    const service = await startServer((response) => {
      json(response, { data: { actor: { account: { nrql: { results, metadata } } } } });
    });
    onTestFinished(service.close);
    const ofService = commandsOn(account({ url: service.origin }, 'shop', { account_id: 7 }));
    const { stdout } = await ofService('query', 'SELECT max(x) FROM Y FACET region, plan');
    expect(stdout).toBe('region  plan   constructor\neu      basic            7\nus      pro\n');
  });
});

describe('check --live and plan', () => {
  it('run each query once, and count them', async () => {
    const withPack = commandsOn(rest({ applications: false, query_packs: ['alert_events'] }));
    const checked = await withPack('check', '--live');
    expect(checked.stdout).toMatch(
      /query alert_events\/open: \d+ rows?; columns incidents, open, oldest; labels policy, condition, priority, entity, muted; \d+ series, none left out by max_series/,
    );
    expect(checked.status).toBe(0);
    const plan = await withPack('plan', '--format=json');
    const groups = [{ group: 'queries', callsPerMinute: 0.2 }];
    expect(JSON.parse(plan.stdout)).toMatchObject({ accounts: [{ groups }] });
  });

  it('end with 1 where a query fails', async () => {
    const queries = [{ name: 'bad', nrql: 'SELECT nonsense(x) FROM Transaction', metrics: [{ name: 'bad_metric' }] }];
    const checked = await commandsOn(rest({ queries }))('check', '--live');
    expect(checked.stdout).toContain('query bad: problem: graphql:queries');
    expect(checked.status).toBe(1);
  });
});

describe('a query whose result New Relic calls incomplete', () => {
  const queries = [
    { name: 'all', nrql: COUNT, labels: ['app'], metrics: [{ name: 'shop_events', value: 'events' }] },
    { name: 'some', nrql: COUNT, labels: ['app'], metrics: [{ name: 'shop_some', value: 'events' }], limit: 2 },
  ];

  it.each([
    ['a subquery that reached its limit', { effect: 'message' }, []],
    ['more facets than were asked for', { effect: 'message', text: 'Too many facets' }, ['shop_some']],
    ['anything else', { effect: 'message', text: 'The query was rolled up' }, ['shop_events', 'shop_some']],
  ] as const)('publishes no value that the message concerns: %s', async (_, fault, published) => {
    const service = await simulatorForTest({ applications: 3, hostsPerApplication: 1, faults: [fault] });
    const accounts = [account(service, 'shop', { account_id: 1_234_567, api: 'rest', queries })];
    const exporter = await exporterForTest({ ...SAME_WINDOW, config: { accounts } });
    const families = await exporter.scrape('/metrics?collect[]=queries');
    expect(families.map(({ name }) => name)).toEqual(published);
    const status = JSON.parse(await exporter.text('/api/status')) as {
      readonly accounts: readonly { readonly queries: readonly { readonly problem?: string }[] }[];
    };
    const problems = status.accounts[0]!.queries.flatMap(({ problem }) => problem ?? []);
    expect(problems).toHaveLength(2 - published.length);
    for (const problem of problems)
      expect(problem).toMatch(/New Relic reports an incomplete result: .* \(reason too_large\)$/);
  });
});

describe('serve', () => {
  it('publishes queries alone with collect[]=queries, and /api/status has the result of each', async () => {
    const queries = [
      { name: 'events', nrql: COUNT, labels: ['app'], metrics: [{ name: 'shop_events', value: 'events' }] },
      { name: 'bad', nrql: 'SELECT nonsense(x) FROM Transaction', metrics: [{ name: 'bad_metric' }] },
    ];
    const exporter = await exporterForTest({ ...SAME_WINDOW, config: { accounts: [rest({ queries })] } });
    const families = await exporter.scrape('/metrics?collect[]=queries');
    expect(families.map(({ name }) => name)).toEqual(['shop_events']);
    expect(families[0]?.samples).toHaveLength(3);
    const status = JSON.parse(await exporter.text('/api/status')) as { readonly accounts: readonly object[] };
    expect(status.accounts[0]).toMatchObject({
      queries: [
        { name: 'events', nrql: COUNT, rows: 3, series: 3, success: true },
        { name: 'bad', series: 0, success: false, problem: expect.stringContaining('graphql:queries') as string },
      ],
    });
  });
});
