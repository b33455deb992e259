import { expect, test } from 'vitest';
import { until } from '../real/support/until.ts';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import type { Simulator, SimulatorOptions } from '../../simulator/simulator.ts';
import { samplesOf } from '../support/exposition.ts';
import { complaintsOf, runInProcess } from '../support/inProcess.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { exporterForTest } from './support/forTest.ts';
import type { Exporter } from './support/program.ts';

const ID = 1_234_567;

function accountsOf(...names: readonly string[]): SimulatorOptions['accounts'] {
  return names.map((name, index) => ({ id: ID + index, name }));
}

function configOf({ url }: Simulator, keys = 'account_ids: all'): string {
  return `accounts:
  - {name: org, base_url: "${url}/graphql", api_key: ${DEMO_API_KEY}, key_transactions: false, hosts: false, ${keys}}
collection: {intervals: {accounts: 1s}}
`;
}

/** Scrapes until the accounts that have applications are these. */
async function applicationsOf(exporter: Exporter, ...accounts: readonly string[]): Promise<void> {
  await until(`applications of ${accounts.join(', ')}`, async () => {
    const found = samplesOf(await exporter.scrape(), 'newrelic_application_info').map(
      ({ labels }) => labels['account'],
    );
    return [...new Set(found)].sort().join() === [...accounts].sort().join();
  });
}

async function control(simulator: Simulator, path: string, method: string, body?: object): Promise<void> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  expect((await fetch(`${simulator.url}/control/accounts${path}`, { method, ...sent })).ok).toBe(true);
}

test('the program follows the list of accounts through an added, a renamed and a removed account and a failing list', async () => {
  const simulator = await simulatorForTest({ applications: 2, accounts: accountsOf('One', 'Two', 'Two') });
  const exporter = await exporterForTest({ config: configOf(simulator) });
  const first = await exporter.text('/metrics');
  expect(first).toContain(
    `newrelic_exporter_account_info{account="Two (${ID + 1})",api="nerdgraph",region="",account_id="${ID + 1}"} 1`,
  );
  expect(first).toContain(
    'newrelic_exporter_api_requests_total{account="org",endpoint="graphql:accounts",code="200"} 1',
  );
  expect(first).not.toContain('newrelic_up{account="org"}');
  await applicationsOf(exporter, 'One', `Two (${ID + 1})`, `Two (${ID + 2})`);
  await control(simulator, '', 'POST', { name: 'Three "x"\n' });
  await control(simulator, `/${ID}`, 'POST', { name: 'Uno' });
  await control(simulator, `/${ID + 2}`, 'DELETE');
  await applicationsOf(exporter, 'Uno', `Two (${ID + 1})`, 'Three "x" ');
  const exported = 'newrelic_exporter_accounts{entry="org",state="exported"} 3\n';
  expect(await exporter.text('/metrics')).toContain(exported);
  simulator.faults.add({ effect: 'null-alias', level: 'actor', on: 'graphql_accounts' });
  const failed = 'newrelic_exporter_account_list_success{entry="org"} 0\n';
  await until('the list to fail', async () => (await exporter.text('/metrics')).includes(failed));
  expect(await exporter.text('/metrics')).toContain(exported);
  expect(await exporter.text('/')).toContain('org, the list of its accounts');
  const status = JSON.parse(await exporter.text('/api/status')) as Record<string, unknown>;
  expect(status['account_lists']).toMatchObject([{ entry: 'org', success: false, listed: 3, exported: 3 }]);
  expect(status['accounts']).toMatchObject([{ name: 'Uno', account_id: ID, entry: 'org' }, {}, {}]);
});

test('a list of accounts with an unreadable member keeps the other accounts and counts as failing', async () => {
  const simulator = await simulatorForTest({ applications: 2, accounts: accountsOf('One', 'Two') });
  simulator.faults.add({ effect: 'bad-record', on: 'graphql_accounts' });
  const exporter = await exporterForTest({ config: configOf(simulator) });
  await applicationsOf(exporter, 'Two');
  const metrics = await exporter.text('/metrics');
  expect(metrics).toContain('newrelic_exporter_account_list_success{entry="org"} 0\n');
  expect(metrics).toContain('newrelic_exporter_accounts_left_out{entry="org"} 1\n');
  expect(metrics).toContain('newrelic_exporter_accounts{entry="org",state="listed"} 2\n');
  expect(metrics).not.toContain('newrelic_up{account="org"}');
  const page = await exporter.text('/');
  expect(page).toContain('cannot be read whole');
  expect(page).not.toContain('proxy');
});

test('service discovery and probes wait for the list of accounts, and leave out an account without applications', async () => {
  const simulator = await simulatorForTest({
    applications: 2,
    accounts: [...accountsOf('One')!, { id: ID + 1, name: 'Empty', applications: 0 }],
  });
  const [refused] = [simulator.faults.add({ effect: 'graphql-error', class: 'SERVER_ERROR', on: 'graphql_accounts' })];
  const config = configOf(simulator).replace('hosts: false', 'hosts: false, limits: {max_retries: 0}');
  const exporter = await exporterForTest({ config });
  expect((await exporter.get('/sd')).status).toBe(503);
  expect((await exporter.get('/sd?account=One')).status).toBe(503);
  expect(await exporter.text('/probe?account=One&app_id=1000001')).toContain('probe_success 0');
  expect(await exporter.text('/metrics')).toContain('newrelic_up{account="org"} 0\n');
  simulator.faults.remove(refused);
  const targets = await until('the list', () => exporter.text('/sd'));
  const instances = (JSON.parse(targets) as { labels: Record<string, string> }[]).map(
    ({ labels }) => labels['instance'],
  );
  expect(instances).toEqual(['One/1000001', 'One/1000002']);
  expect(await exporter.text('/probe?account=One&app_id=1000001')).toContain('probe_success 1');
  expect((await exporter.get('/probe?account=Other&app_id=1000001')).status).toBe(404);
  expect((await exporter.get('/sd?account=Other')).status).toBe(404);
  expect(
    simulator.requests
      .all()
      .flatMap(({ operations = [] }) => operations)
      .filter(({ kind }) => kind === 'graphql_accounts').length,
  ).toBeLessThan(9);
  const text = await exporter.text('/metrics');
  expect(text).toContain('newrelic_up{account="Empty"} 1\n');
  expect(text).not.toContain('newrelic_exporter_applications{account="Empty"');
  const { accounts } = JSON.parse(await exporter.text('/api/status')) as { accounts: { warnings: unknown[] }[] };
  expect(accounts.flatMap(({ warnings }) => warnings)).toEqual([]);
});

test('commands accept names and numbers of listed accounts, and the entry for all of its accounts', async () => {
  const simulator = await simulatorForTest({ applications: 2, accounts: accountsOf('Shop', 'Billing', 'Sandbox') });
  const config = configOf(simulator, 'account_ids: all, exclude_accounts: [{name: Sand*}]');
  const run = (...args: readonly string[]) => runInProcess(args, { config });
  const found = async (account: string): Promise<string[]> => {
    const { status, stdout } = await run('discover', `--account=${account}`, '--format=json');
    expect(status).toBe(0);
    return (JSON.parse(stdout) as { accounts: { account: string }[] }).accounts.map(({ account: name }) => name);
  };
  expect(await found('Billing')).toEqual(['Billing']);
  expect(await found(String(ID))).toEqual(['Shop']);
  expect(await found('org')).toEqual(['Shop', 'Billing']);
  expect(complaintsOf((await run('discover', '--account=Biling')).stderr)).toEqual([
    'error: there is no account "Biling": the accounts are Shop, Billing; did you mean "Billing"?',
  ]);
  expect((await run('discover', '--accounts', '--format=yaml')).stdout).toBe(`# entry org: under include_accounts
- id: ${ID} # Shop
- id: ${ID + 1} # Billing
# - id: ${ID + 2} # Sandbox, in exclude_accounts
`);
  const plan = JSON.parse((await run('plan', '--format=json')).stdout) as Record<string, object>;
  expect(plan).toMatchObject({
    accounts: [{ account: 'Shop' }, { account: 'Billing' }],
    total: { accounts: 2, counted: { applications: 4 } },
  });
  const live = await run('check', '--live');
  expect(live.status).toBe(0);
  expect(live.stdout).toMatch(/^entry org: 3 accounts visible, 2 exported$/m);
  expect(live.stdout.match(/^account .*: the key is accepted$/gm)).toHaveLength(2);
  expect(await run('check', '--live', '--facts')).toMatchObject({
    status: 2,
    stderr: 'error: there are several accounts (Shop, Billing): choose one with --account\n',
  });
  const calls = simulator.requests.count();
  expect((await run('check')).status).toBe(0);
  expect(simulator.requests.count()).toBe(calls);
});

test('check --live reports once for the entry the names in its filters that match nothing in any account', async () => {
  const simulator = await simulatorForTest({ applications: 2, accounts: accountsOf('Shop', 'Billing', 'Sandbox') });
  const filters =
    'include: [{name: "*"}, {id: 5}], exclude: [{name: none}], settings: [{match: {name: gone}, hosts: false}]';
  const config = configOf(
    simulator,
    `account_ids: [${ID}, ${ID + 1}, 99], include_accounts: [{name: "*"}, {id: 7}], exclude_accounts: [{name: Old*}],
     applications: {${filters}}`,
  );
  const { status, stdout } = await runInProcess(['check', '--live'], { config });
  expect(status).toBe(0);
  const complaints = [...stdout.matchAll(/warning: (.*?: .*?)[:,\n]/g)].map(([, complaint]) => complaint);
  expect(complaints).toEqual([
    'account_ids: the key does not list account 99',
    'include_accounts: no account has the id 7',
    'exclude_accounts: no account has the name "Old*"',
    'applications.include: no application has the id 5',
    'applications.settings: no application has the name "gone"',
    'applications.exclude: no application has the name "none"',
  ]);
});
