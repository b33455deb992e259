import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { account, type ConfigInput } from '../e2e/support/config.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { runInProcess } from '../support/inProcess.ts';

interface NamesDocument {
  readonly application: { readonly id: number };
  readonly complete: boolean;
  readonly metrics: readonly { readonly name: string; readonly values: readonly string[] }[];
}

let simulator: Simulator;
let config: ConfigInput;
beforeAll(async () => {
  simulator = await startSimulator({ nrqlSnapping: true, applications: 16, hostsPerApplication: 1 });
  config = { accounts: [account(simulator)] };
});
afterAll(() => simulator.close());

describe('metric-names', () => {
  it('reads all pages through the cursor and stops at the empty one', async () => {
    simulator.requests.clear();
    const { status, stdout } = await runInProcess(['metric-names', '--app=1000002', '--format=json'], { config });
    const { metrics, complete } = JSON.parse(stdout) as NamesDocument;
    expect({ status, complete }).toEqual({ status: 0, complete: true });
    expect(metrics.length).toBeGreaterThan(2000);
    expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length);
    expect(simulator.requests.counts()).toEqual({ application: 1, metric_names: 3 });
  });

  it('narrows by name and shows the value names', async () => {
    const { stdout } = await runInProcess(['metric-names', '--app=Storefront', '--name=Custom/Queue'], { config });
    const [values = '', ...names] = stdout.split('\n');
    expect(values).toMatch(/^VALUES {2}.*\baverage_value\b/);
    expect(names).toEqual([
      '  Custom/Queue/invoices/depth',
      '  Custom/Queue/mail/depth',
      '  Custom/Queue/with "quotes" and \\/depth',
      '',
    ]);
  });

  it('says the value names once for all metrics that have the same', async () => {
    const { stdout } = await runInProcess(['metric-names', '--app=1000002'], { config });
    const headings = stdout.split('\n').filter((line) => line.startsWith('VALUES  '));
    expect(headings.length).toBeGreaterThan(1);
    expect(new Set(headings).size).toBe(headings.length);
    const names = stdout.split('\n').filter((line) => line.startsWith('  '));
    const { metrics } = JSON.parse(
      (await runInProcess(['metric-names', '--app=1000002', '--format=json'], { config })).stdout,
    ) as NamesDocument;
    expect(names.map((line) => line.slice(2)).toSorted()).toEqual(metrics.map(({ name }) => name).toSorted());
  });

  it('reads the names of a host, by its id or its name', async () => {
    const [application] = simulator.world.applications();
    const [host] = simulator.world.hosts(application!, Date.now());
    simulator.requests.clear();
    const flags = ['metric-names', `--app=${application!.id}`, '--format=json'];
    const byId = await runInProcess([...flags, `--host=${host!.id}`], { config });
    expect(simulator.requests.counts()).toEqual({ application: 1, hosts: 1, metric_names: 1 });
    const byName = await runInProcess([...flags, `--host=${host!.host}`], { config });
    expect(byId).toMatchObject({ status: 0, stderr: '' });
    expect(byName).toEqual(byId);
    const document = JSON.parse(byId.stdout) as NamesDocument & { readonly host: unknown };
    expect(document.host).toEqual({ id: String(host!.id), name: host!.host });
    expect(document.metrics.length).toBeGreaterThan(0);
    const nowhere = await runInProcess([...flags, '--host=nowhere'], { config });
    expect(nowhere).toEqual({
      status: 1,
      stdout: '',
      stderr: `error: no host of application ${application!.id} (${application!.name}) has the id or name "nowhere": discover --app=${application!.id} lists them\n`,
    });
  });

  it('through NerdGraph prints one name per line, and no value names', async () => {
    const nerdgraph = account(simulator, 'shop', { api: 'nerdgraph', base_url: `${simulator.url}/graphql` });
    const flags = ['metric-names', '--app=Storefront', '--name=Custom/Queue'];
    const [text, json] = await Promise.all([
      runInProcess(flags, { config: { accounts: [nerdgraph] } }),
      runInProcess([...flags, '--format=json'], { config: { accounts: [nerdgraph] } }),
    ]);
    expect(text).toEqual({
      status: 0,
      stdout: 'Custom/Queue/invoices/depth\nCustom/Queue/mail/depth\nCustom/Queue/with "quotes" and \\/depth\n',
      stderr: '',
    });
    const { metrics } = JSON.parse(json.stdout) as NamesDocument;
    expect(metrics).toContainEqual({ name: 'Custom/Queue/mail/depth', values: null });
    // The day ends with the last minute that is whole, two minutes ago unless configured otherwise.
    const queries = simulator.requests.all('graphql_nrql').flatMap(({ operations = [] }) => operations);
    const ends = queries.flatMap(({ text }) =>
      text.includes('uniques(') ? [Number(/UNTIL (\d+)/.exec(text)?.[1])] : [],
    );
    expect(ends.length).toBeGreaterThan(0);
    for (const end of ends) expect(end).toBeLessThanOrEqual(Date.now() - 120_000);
  });

  it('passes names with brackets, percent signs and other letters on as they are', async () => {
    const { stdout } = await runInProcess(
      ['metric-names', '--app=1000015', '--name=[bytes|host] 100%', '--format=json'],
      {
        config,
      },
    );
    expect((JSON.parse(stdout) as NamesDocument).metrics.map(({ name }) => name)).toEqual([
      'Custom/Gauge[bytes|host] 100%/Größe',
    ]);
  });

  it('says which accounts have an application that several have, by name and by id, and reads the one that is chosen', async () => {
    const simulator = await simulatorForTest({ applications: 1 });
    const config = { accounts: [account(simulator, 'first'), account(simulator, 'second')] };
    const run = (...args: string[]) => runInProcess(['metric-names', '--name=/allWeb', ...args], { config });
    const [byName, byId, chosen, unknown] = await Promise.all([
      run('--app=Storefront'),
      run('--app=1000001'),
      run('--app=Storefront', '--account=second', '--format=json'),
      run('--app=Storefront', '--account=third'),
    ]);
    expect([byName.status, byName.stderr]).toEqual([
      1,
      'error: 2 applications have the name "Storefront": choose one of their accounts with --account (first, second)\n',
    ]);
    expect([byId.status, byId.stderr]).toEqual([
      1,
      'error: application 1000001 is in several accounts: choose one with --account (first, second)\n',
    ]);
    expect(JSON.parse(chosen.stdout)).toMatchObject({ account: 'second', application: { id: 1_000_001 } });
    expect([unknown.status, unknown.stderr]).toEqual([
      2,
      'error: there is no account "third": the accounts are first, second\n',
    ]);
  });

  it('says that an application is unknown, or that several have the name and which ids they have', async () => {
    const [misspelt, unknown, several, key] = await Promise.all([
      runInProcess(['metric-names', '--app=storefrnt'], { config }),
      runInProcess(['metric-names', '--app=Nowhere'], { config }),
      runInProcess(['metric-names', '--app=Checkout API'], { config }),
      runInProcess(['metric-names', `--app=NRAK-${'A1B'.repeat(9)}`], { config }),
    ]);
    expect(key.stderr).toBe('error: no application has the id or name "<secret>": the command discover lists them\n');
    expect(misspelt.stderr).toMatch(/lists them; did you mean "Storefront"\?\n$/);
    expect(unknown).toEqual({
      status: 1,
      stdout: '',
      stderr: 'error: no application has the id or name "Nowhere": the command discover lists them\n',
    });
    expect(several).toEqual({
      status: 1,
      stdout: '',
      stderr: 'error: 2 applications have the name "Checkout API": give one of their ids (1000002, 1000014)\n',
    });
  });

  it('finds an id although another account cannot be read, but does not guess at a name', async () => {
    const both = { accounts: [account(simulator, 'bad', { api_key: 'wrong' }), account(simulator, 'good')] };
    const [byId, byName] = await Promise.all([
      runInProcess(['metric-names', '--app=1000001', '--name=Custom', '--format=json'], { config: both }),
      runInProcess(['metric-names', '--app=Storefront', '--name=Custom'], { config: both }),
    ]);
    expect({ status: byId.status, stderr: byId.stderr }).toEqual({ status: 0, stderr: '' });
    expect((JSON.parse(byId.stdout) as NamesDocument).application.id).toBe(1000001);
    expect(byName.status).toBe(1);
    expect(byName.stderr).toMatch(/^error: account bad: the application list cannot be read: GET .*401.*\nhint: .*\n$/);
  });
});
