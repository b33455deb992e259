import { describe, expect, it } from 'vitest';
import { account, nerdGraphAccount } from '../e2e/support/config.ts';
import { simulatorForFile, simulatorForTest } from '../support/simulator.ts';
import { commandsOn, type ToolResult } from '../support/inProcess.ts';

interface NamesDocument {
  readonly application: { readonly id: number };
  readonly complete: boolean;
  readonly metrics: readonly { readonly name: string; readonly values: readonly string[] }[];
}

const simulator = await simulatorForFile({ nrqlSnapping: true, applications: 16, hostsPerApplication: 1 });
const run = commandsOn(account(simulator));
const namesOf = (...flags: readonly string[]) => run('metric-names', ...flags);
const documentOf = ({ stdout }: ToolResult) => JSON.parse(stdout) as NamesDocument;

describe('metric-names', () => {
  it('reads all pages by cursor and stops at the empty page', async () => {
    simulator.requests.clear();
    const found = await namesOf('--app=1000002', '--format=json');
    const { metrics, complete } = documentOf(found);
    expect({ status: found.status, complete }).toEqual({ status: 0, complete: true });
    expect(metrics.length).toBeGreaterThan(2000);
    expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length);
    expect(simulator.requests.byKind).toEqual({ application: 1, metric_names: 3 });
    // A table says the value names once for all metrics that have the same.
    const lines = (await namesOf('--app=1000002')).stdout.split('\n');
    const headings = lines.filter((line) => line.startsWith('VALUES  '));
    expect(headings.length).toBeGreaterThan(1);
    expect(new Set(headings).size).toBe(headings.length);
    const names = lines.filter((line) => line.startsWith('  ')).map((line) => line.slice(2));
    expect(names.toSorted()).toEqual(metrics.map(({ name }) => name).toSorted());
  });

  it('filters by name and shows the value names', async () => {
    const { stdout } = await namesOf('--app=Storefront', '--name=Custom/Queue');
    const [values = '', ...names] = stdout.split('\n');
    expect(values).toMatch(/^VALUES {2}.*\baverage_value\b/);
    expect(names).toEqual([
      '  Custom/Queue/invoices/depth',
      '  Custom/Queue/mail/depth',
      '  Custom/Queue/with "quotes" and \\/depth',
      '',
    ]);
  });

  it('reads the names of a host, by its id or its name', async () => {
    const [application] = simulator.world.applications();
    const [host] = simulator.world.hosts(application!, Date.now());
    simulator.requests.clear();
    const ofHost = (which: string) => namesOf(`--app=${application!.id}`, '--format=json', `--host=${which}`);
    const byId = await ofHost(String(host!.id));
    expect(simulator.requests.byKind).toEqual({ application: 1, hosts: 1, metric_names: 1 });
    const byName = await ofHost(host!.host);
    expect(byId).toMatchObject({ status: 0, stderr: '' });
    expect(byName).toEqual(byId);
    expect(documentOf(byId)).toMatchObject({ host: { id: String(host!.id), name: host!.host } });
    expect(documentOf(byId).metrics.length).toBeGreaterThan(0);
    expect(await ofHost('nowhere')).toEqual({
      status: 1,
      stdout: '',
      stderr: `error: no host of application ${application!.id} (${application!.name}) has the id or name "nowhere": discover --app=${application!.id} lists them\n`,
    });
  });

  it('prints one name per line and no value names through NerdGraph', async () => {
    const overNerdGraph = commandsOn(nerdGraphAccount(simulator, 'shop'));
    const flags = ['metric-names', '--app=Storefront', '--name=Custom/Queue'];
    expect(await overNerdGraph(...flags)).toEqual({
      status: 0,
      stdout: 'Custom/Queue/invoices/depth\nCustom/Queue/mail/depth\nCustom/Queue/with "quotes" and \\/depth\n',
      stderr: '',
    });
    const { metrics } = documentOf(await overNerdGraph(...flags, '--format=json'));
    expect(metrics).toContainEqual({ name: 'Custom/Queue/mail/depth', values: null });
    // The day ends with the last minute that is whole, two minutes ago unless configured otherwise.
    const queries = simulator.requests.all('graphql_nrql').flatMap(({ operations = [] }) => operations);
    const ends = queries.flatMap(({ text }) =>
      text.includes('uniques(') ? [Number(/UNTIL (\d+)/.exec(text)?.[1])] : [],
    );
    expect(ends.length).toBeGreaterThan(0);
    for (const end of ends) expect(end).toBeLessThanOrEqual(Date.now() - 120_000);
  });

  it('prints names with brackets, percent signs and letters outside ASCII unchanged', async () => {
    const { metrics } = documentOf(await namesOf('--app=1000015', '--name=[bytes|host] 100%', '--format=json'));
    expect(metrics.map(({ name }) => name)).toEqual(['Custom/Gauge[bytes|host] 100%/Größe']);
  });

  it('names the accounts that share an application, by name and by id, and reads the selected account', async () => {
    const single = await simulatorForTest({ applications: 1 });
    const both = commandsOn(account(single, 'first'), account(single, 'second'));
    const ofBoth = (...flags: string[]) => both('metric-names', '--name=/allWeb', ...flags);
    expect(await ofBoth('--app=Storefront')).toMatchObject({
      status: 1,
      stderr:
        'error: 2 applications have the name "Storefront": choose one of their accounts with --account (first, second)\n',
    });
    expect(await ofBoth('--app=1000001')).toMatchObject({
      status: 1,
      stderr: 'error: application 1000001 is in several accounts: choose one with --account (first, second)\n',
    });
    const chosen = await ofBoth('--app=Storefront', '--account=second', '--format=json');
    expect(documentOf(chosen)).toMatchObject({ account: 'second', application: { id: 1_000_001 } });
  });

  it.each([
    [
      'storefrnt',
      'no application has the id or name "storefrnt": the command discover lists them; did you mean "Storefront"?',
    ],
    ['Nowhere', 'no application has the id or name "Nowhere": the command discover lists them'],
    [`NRAK-${'A1B'.repeat(9)}`, 'no application has the id or name "<secret>": the command discover lists them'],
    ['Checkout API', '2 applications have the name "Checkout API": give one of their ids (1000002, 1000014)'],
  ])('reports that no application or several applications have the id or name %s', async (app, words) => {
    expect(await namesOf(`--app=${app}`)).toEqual({ status: 1, stdout: '', stderr: `error: ${words}\n` });
  });

  it('finds an id although another account cannot be read, but does not guess with a name', async () => {
    const both = commandsOn(account(simulator, 'bad', { api_key: 'wrong' }), account(simulator, 'good'));
    const byId = await both('metric-names', '--app=1000001', '--name=Custom', '--format=json');
    const byName = await both('metric-names', '--app=Storefront', '--name=Custom');
    expect(byId).toMatchObject({ status: 0, stderr: '' });
    expect(documentOf(byId).application.id).toBe(1000001);
    expect(byName.status).toBe(1);
    expect(byName.stderr).toMatch(/^error: account bad: the application list cannot be read: GET .*401.*\nhint: .*\n$/);
  });
});
