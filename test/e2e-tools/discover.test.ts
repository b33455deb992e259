import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { simulatorForFile, simulatorForTest } from '../support/simulator.ts';
import { account, nerdGraphAccount } from '../e2e/support/config.ts';
import { commandsOn, complaintsOf } from '../support/inProcess.ts';

const simulator = await simulatorForFile({ applications: 16, hostsPerApplication: 2 });
const run = commandsOn(account(simulator, 'shop'));
const discover = (...flags: readonly string[]) => run('discover', ...flags);

describe('discover', () => {
  it('prints YAML that selects the same applications under applications.include', async () => {
    const { status, stdout, stderr } = await discover('--format=yaml');
    expect({ status, complaints: complaintsOf(stderr) }).toEqual({ status: 0, complaints: [] });
    const include = parse(stdout) as { readonly id: number }[];
    const all = simulator.world.applications().map(({ id }) => id);
    expect(include.map(({ id }) => id).toSorted()).toEqual(all.toSorted());
    const included = commandsOn(account(simulator, 'shop', { applications: { include }, hosts: false }));
    const checked = await included('check', '--live');
    expect(checked.stdout).toContain(`applications: ${all.length} visible, ${all.length} exported`);
    expect(checked.stdout).not.toContain('warning');
    expect(stdout).toContain('- id: 1000013 # Retired intranet, php, not reporting, 0 hosts\n');
  });

  it('prints a table with state, hosts, instances and key transactions', async () => {
    const { stdout } = await discover();
    const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    expect(rows).toContainEqual(['ID', 'NAME', 'LANGUAGE', 'STATE', 'HEALTH', 'HOSTS', 'INSTANCES']);
    expect(stdout).toMatch(/^1000013 +Retired intranet +php +not reporting /m);
    expect(stdout).toMatch(/^Account shop: 16 applications$/m);
    expect(stdout).toMatch(/^Account shop: 30 hosts$/m);
    expect(stdout).toMatch(/^Account shop: 8 key transactions$/m);
    expect(stdout).toContain('(not visible)');
  });

  it('prints JSON with every id', async () => {
    const { stdout } = await discover('--format=json');
    const { accounts } = JSON.parse(stdout) as {
      accounts: { applications: { id: number; hosts: { id: number }[] }[]; key_transactions: { id: number }[] }[];
    };
    const applications = simulator.world.applications().filter(({ archetype }) => archetype.reporting);
    const hosts = applications.flatMap((application) => simulator.world.hosts(application, Date.now()));
    const found = accounts[0]?.applications.flatMap((application) => application.hosts).map(({ id }) => id);
    expect(found?.toSorted()).toEqual(hosts.map(({ id }) => id).toSorted());
    expect(accounts[0]?.key_transactions).toHaveLength(8);
  });

  it('reads an application named by id directly, without a list of the account', async () => {
    simulator.requests.clear();
    const [keyTransaction] = simulator.world.keyTransactions();
    const flags = ['--app=1000001', '--app=1000003', `--key-transaction=${keyTransaction!.id}`, '--format=json'];
    const { status, stdout, stderr } = await discover(...flags);
    expect({ status, complaints: complaintsOf(stderr) }).toEqual({ status: 0, complaints: [] });
    expect(simulator.requests.byKind).toEqual({ application: 2, key_transaction: 1, hosts: 2, instances: 2 });
    const { accounts } = JSON.parse(stdout) as {
      accounts: { applications: { id: number; hosts: unknown[] }[]; key_transactions: { id: number }[] }[];
    };
    expect(accounts[0]?.applications.map(({ id }) => id)).toEqual([1000001, 1000003]);
    expect(accounts[0]?.applications[0]?.hosts).toHaveLength(2);
    expect(accounts[0]?.key_transactions.map(({ id }) => id)).toEqual([keyTransaction!.id]);
  });

  it('shows the hosts and key transactions of a named application, and reports an id that no account has', async () => {
    const both = commandsOn(account(simulator, 'one'), account(simulator, 'bad', { api_key: 'wrong' }));
    const table = await discover('--app=Storefront');
    const nothing = await discover('--key-transaction=5');
    const several = await both('discover', '--app=1000001');
    expect(table.stdout).toMatch(
      /^Account shop: 1 application$[^]*^Account shop: 2 hosts$[^]*^Account shop: 8 instances$/m,
    );
    expect(table.stdout).not.toContain('key transactions');
    expect(nothing).toEqual({
      status: 1,
      stdout: '',
      stderr: 'error: no key transaction has the id 5: the command discover lists them\n',
    });
    expect([several.status, complaintsOf(several.stderr)]).toEqual([0, []]);
  });

  it('reads an account through NerdGraph, which has no instances and no ids of hosts', async () => {
    const overNerdGraph = commandsOn(nerdGraphAccount(simulator, 'shop'));
    const table = await overNerdGraph('discover');
    const json = await overNerdGraph('discover', '--format=json');
    const one = await overNerdGraph('discover', '--app=1000001', '--format=json');
    expect([table.status, complaintsOf(table.stderr)]).toEqual([0, []]);
    expect(table.stdout).toMatch(/^Account shop: 16 applications$/m);
    expect(table.stdout).toMatch(/^Account shop: 8 key transactions$/m);
    expect(table.stdout).not.toMatch(/instances/i);
    expect(table.stdout).toMatch(/^ +ID +NAME .* HOSTS +TAGS$/m);
    expect(table.stdout).toMatch(/^1000001 .*\bteam=\w/m);
    expect(table.stdout).not.toMatch(/account=|trustedAccountId=/);
    expect(table.stdout).toMatch(/^HOST +APPLICATION ID/m);
    const { accounts } = JSON.parse(json.stdout) as {
      accounts: { applications: { id: number; hosts: { id: unknown; host: string }[]; instances: null }[] }[];
    };
    const [storefront] = accounts[0]!.applications.filter(({ id }) => id === 1000001);
    const tags: unknown = expect.arrayContaining([expect.objectContaining({ key: 'team' })]);
    expect(storefront).toMatchObject({ instances: null, tags });
    expect(storefront!.hosts.map(({ id }) => id)).toEqual(storefront!.hosts.map(({ host }) => host));
    expect(storefront!.hosts).toHaveLength(2);
    expect(JSON.parse(one.stdout)).toMatchObject({ accounts: [{ applications: [storefront] }] });
  });

  it('keeps a hostile name in its table row and YAML comment, and its control characters out of JSON and errors', async () => {
    const hostile = await simulatorForTest({ applications: 1, hostsPerApplication: 1 });
    hostile.change(1000001, { name: 'a\n- id: 666 # b\u001b[2J\u0085c\u2028d\u202e' });
    const ofHostile = commandsOn(account(hostile, 'two\nlines'));
    const [table, yaml, json] = await Promise.all(
      ['table', 'yaml', 'json'].map((format) => ofHostile('discover', `--format=${format}`)),
    );
    const error = await ofHostile('metric-names', '--app=1000001', '--host=none');
    expect(parse(yaml!.stdout)).toEqual([{ id: 1000001 }]);
    expect(yaml!.stdout).toMatch(
      /^# account two\\u000alines: under applications.include\n- id: 1000001 # .*, reporting, 1 host\n$/,
    );
    expect(table!.stdout).toContain('a\\u000a- id: 666 # b\\u001b[2J\\u0085c\\u2028d\\u202e');
    const shown = [table!, yaml!, json!, error].map(({ stdout, stderr }) => stdout + stderr);
    for (const each of shown) expect(each).not.toMatch(/[^\P{Cc}\n]|\p{Cf}|\u2028/u);
    expect(error.stderr).toContain('b\\u001b[2J');
  });

  it('lists readable accounts, reports unreadable ones without a number, and ends with 1', async () => {
    const faulty = await simulatorForTest({
      applications: 2,
      hostsPerApplication: 1,
      faults: [{ effect: 'status', status: 404, on: 'hosts', app: 1000002 }],
    });
    // A name that holds what could be the beginning of a key.
    faulty.change(1000001, { name: 'conrad-shop' });
    const both = commandsOn(account(faulty, 'bad', { api_key: 'wrong' }), account(faulty, 'good'));
    const { status, stdout, stderr } = await both('discover', '--format=json');
    expect(status).toBe(1);
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(
        /^error: account bad: the application list cannot be read: GET \/applications\.json: status 401/,
      ),
      expect.stringMatching(
        /^error: account good: the host list of application 1000002 \(Checkout API\) cannot be read: GET .*404/,
      ),
      expect.stringMatching(/^hint: use a valid user key/),
      '',
    ]);
    const document = JSON.parse(stdout) as { accounts: { account: string; applications: { hosts: unknown }[] }[] };
    expect(document.accounts.map(({ account: name }) => name)).toEqual(['good']);
    expect(document.accounts[0]?.applications.map(({ hosts }) => hosts)).toEqual([[expect.anything()], null]);
    expect(stdout).toContain('"conrad-shop"');
  });
});
