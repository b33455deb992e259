import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { json, startServer } from '../api/support/testServer.ts';
import { account } from '../e2e/support/config.ts';
import { exporterForTest } from '../e2e/support/forTest.ts';
import { SAME_WINDOW } from '../e2e/support/movedClock.ts';
import { runInProcess } from '../support/inProcess.ts';
import { simulatorForFile } from '../support/simulator.ts';

const simulator = await simulatorForFile({ applications: 3, hostsPerApplication: 1 });

const COUNT =
  "SELECT count(*) AS events, percentile(duration, 95) AS took FROM Transaction WHERE transactionType = 'Web' FACET appName";

/** An account of the REST interface: its queries go through NerdGraph all the same. */
const rest = (more: object = {}) => account(simulator, 'shop', { account_id: 1_234_567, ...more });

describe('the command query', () => {
  it('prints the rows of a text over the REST account', async () => {
    const { status, stdout, stderr } = await runInProcess(['query', COUNT], { config: { accounts: [rest()] } });
    expect(stderr).toMatch(/^3 rows, from \S+ to \S+\n$/);
    expect(stdout.split('\n')[0]).toMatch(/^appName +events +took 95$/);
    expect(stdout.trimEnd().split('\n')).toHaveLength(4);
    const took = /^Storefront +\d+ +(\S+)$/m.exec(stdout)?.[1];
    expect(took).toBe(String(Number(Number(took).toPrecision(4))));
    expect(status).toBe(0);
  });

  it('prints YAML that check accepts, and the series that the configuration would give', async () => {
    const made = await runInProcess(['query', COUNT, '--format=yaml', '--window=1h', '--delay=4h'], {
      config: { accounts: [rest()] },
    });
    const { queries } = parse(made.stdout) as { readonly queries: readonly object[] };
    expect(queries).toMatchObject([
      {
        name: 'query',
        labels: ['appName'],
        window: '1h',
        delay: '4h',
        metrics: [{ name: 'query_events' }, { name: 'query_took' }],
      },
    ]);
    const config = { accounts: [rest({ queries })] };
    expect(await runInProcess(['check'], { config })).toMatchObject({ status: 0 });
    const shown = await runInProcess(['query', '--name=query', '--format=metrics'], { config });
    expect(shown.stdout).toMatch(/^query_events\{account="shop",appName="[^"]+"\} \d+$/m);
    expect(shown.stdout).toMatch(/^query_took\{account="shop",appName="[^"]+",percentile="95"\} [\d.]+$/m);
  });

  it.each(['table', 'json', 'yaml', 'metrics'])('shows no key in its output, --format=%s', async (format) => {
    const key = 'NRAK-SIMULATOR0000000000000000';
    const [other, config] = ['NRAK-ANOTHERKEY00000000000000', { accounts: [rest()] }];
    const text = `SELECT count(*) AS '${other}' FROM Transaction WHERE appName != '${key}'`;
    const { status, stdout } = await runInProcess(['query', text, `--format=${format}`], { config });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('<secret>') as string });
    for (const secret of [key, other]) expect(stdout).not.toContain(secret);
  });

  it('says what is wrong with a text, and with its use', async () => {
    const config = { accounts: [rest()] };
    const limited = await runInProcess(['query', 'SELECT count(*) FROM Transaction LIMIT 5'], { config });
    expect(limited).toMatchObject({ status: 2, stderr: expect.stringContaining('character 34: LIMIT') as string });
    expect(await runInProcess(['query'], { config })).toMatchObject({ status: 2 });
    const unknown = await runInProcess(['query', '--name=alert_events/opn'], { config });
    expect(unknown).toMatchObject({ status: 2, stderr: expect.stringContaining('"alert_events/open"?') as string });
    const off = await runInProcess(['query', '--name=transactions/slowest'], { config });
    expect(off).toMatchObject({
      status: 2,
      stderr:
        'error: no account has the query "transactions/slowest": switch its pack on with query_packs: [transactions]\n',
    });
    const without = { accounts: [account(simulator, 'shop')] };
    expect(await runInProcess(['query', COUNT], { config: without })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('needs account_id') as string,
    });
  });

  it('ends with 1 and the words of the service where it refuses the query', async () => {
    const result = await runInProcess(['query', 'SELECT nonsense(x) FROM Transaction'], {
      config: { accounts: [rest()] },
    });
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
    const config = { accounts: [account({ url: service.origin }, 'shop', { account_id: 7 })] };
    const { stdout } = await runInProcess(['query', 'SELECT max(x) FROM Y FACET region, plan'], { config });
    expect(stdout).toBe('region  plan   constructor\neu      basic            7\nus      pro\n');
  });
});

describe('check --live and plan', () => {
  it('run each query once, and count them', async () => {
    const config = { accounts: [rest({ applications: false, query_packs: ['alert_events'] })] };
    const checked = await runInProcess(['check', '--live'], { config });
    expect(checked.stdout).toMatch(
      /query alert_events\/open: \d+ rows?; columns incidents, open, oldest; labels policy, condition, priority, entity, muted; \d+ series, none left out by max_series/,
    );
    expect(checked.status).toBe(0);
    const plan = await runInProcess(['plan', '--format=json'], { config });
    expect(JSON.parse(plan.stdout)).toMatchObject({
      accounts: [{ groups: [{ group: 'queries', callsPerMinute: 0.2 }] }],
    });
  });

  it('end with 1 where a query fails', async () => {
    const queries = [{ name: 'bad', nrql: 'SELECT nonsense(x) FROM Transaction', metrics: [{ name: 'bad_metric' }] }];
    const checked = await runInProcess(['check', '--live'], { config: { accounts: [rest({ queries })] } });
    expect(checked.stdout).toContain('query bad: problem: graphql:queries');
    expect(checked.status).toBe(1);
  });
});

describe('serve', () => {
  it('publishes queries by themselves with collect[]=queries, and says in /api/status how each went', async () => {
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
