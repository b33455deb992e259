import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { planCalls } from '../../src/collect/schedule/due.ts';
import type { Group } from '../../src/reads/reads.ts';
import { renderConfiguration } from '../../src/tools/init.ts';
import { parseFault } from '../../simulator/faults/faultRules.ts';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import type { SimulatorOptions } from '../../simulator/simulator.ts';
import { temporaryFolders } from '../config/folder.ts';
import { complaintsOf, runInProcess } from '../support/inProcess.ts';
import { simulatorForTest } from '../support/simulator.ts';

/** A folder, and commands in it on a simulator of its own. */
async function world(options: Partial<SimulatorOptions> = {}) {
  const simulator = await simulatorForTest(options);
  const folder = newFolder();
  const env = { NEW_RELIC_API_KEY: DEMO_API_KEY };
  return {
    file: join(folder, 'config.yaml'),
    init: (...flags: readonly string[]) => {
      const address = flags.includes('--api=rest') ? simulator.url : `${simulator.url}/graphql`;
      return runInProcess(['init', `--base-url=${address}`, ...flags], { folder, env });
    },
    /** Expects that `check --live` accepts the file without a complaint, and gives what it says. */
    checkLive: async (): Promise<string> => {
      const { status, stdout, stderr } = await runInProcess(['check', '--live'], { folder, env });
      expect({ status, complaints: complaintsOf(stderr) }).toEqual({ status: 0, complaints: [] });
      expect(stdout).not.toMatch(/warning|problem/);
      return stdout;
    },
  };
}

const newFolder = temporaryFolders();

describe('init', () => {
  test('writes a configuration that check --live reads without a warning', async () => {
    const { file, init, checkLive } = await world();
    const { status, stdout, stderr } = await init();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(
      /^Wrote config\.yaml: 1 account, 16 applications, \d+ hosts, 8 key transactions\. Next: newrelic-apm-exporter check --live\n$/,
    );
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('- name: Simulator\n    account_id: 1234567\n');
    expect(text).toContain('${NEW_RELIC_API_KEY}');
    expect(text).not.toContain(DEMO_API_KEY);
    expect(text).toMatch(/hosts: true # \d+\.\d calls a minute/);
    expect(text).toMatch(/counters: false # .*: \d+\.\d calls a minute more/);
    expect(text).toMatch(/# {2}- type: EXT-SERVICE # \d+ entities: from \d+\.\d calls a minute/);
    expect(text.split('\n').length).toBeLessThan(31);
    await checkLive();
  });

  test('writes account_ids: all where the key sees several accounts', async () => {
    const accounts = [1, 2, 3].map((id) => ({ id, name: `Shop ${id}` }));
    const { file, init, checkLive } = await world({ applications: 4, accounts });
    const { status, stdout, stderr } = await init();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^Wrote config\.yaml: 3 accounts, \d+ applications, /);
    expect(readFileSync(file, 'utf8')).toMatch(/^ {2}- account_ids: all$/m);
    expect(await checkLive()).toContain('3 accounts visible, 3 exported');
  });

  test('leaves out unreadable accounts, and says so', async () => {
    const accounts = [1, 2, 3].map((id) => ({ id: 7_000_000 + id, name: `Shop ${id}` }));
    const faults = [parseFault('graphql-error=FORBIDDEN,on=graphql_applications,path=*7000002*')];
    const { file, init, checkLive } = await world({ applications: 2, accounts, faults });
    const { status, stdout, stderr } = await init();
    expect(status).toBe(0);
    expect(stdout).toContain('2 accounts, 4 applications');
    expect(stdout).toContain(', without 1 account that cannot be read. Next: ');
    expect(stderr).toMatch(/^error: account Shop 2: the application list cannot be read: .*\nhint: .*\n$/);
    expect(readFileSync(file, 'utf8')).toContain('exclude_accounts: [ { id: 7000002 } ] # cannot be read\n');
    expect(await checkLive()).toContain('3 accounts visible, 2 exported');
  });

  test('disables applications for an account without applications', async () => {
    const { file, init, checkLive } = await world({ applications: 0, keyTransactions: 0 });
    expect(await init()).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(file, 'utf8')).toContain('applications: false');
    await checkLive();
  });

  test('does not replace a file without --force', async () => {
    const { file, init } = await world({ applications: 2 });
    writeFileSync(file, 'mine');
    const refused = await init();
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toContain('config.yaml would be replaced: give --force');
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(await init('--force')).toMatchObject({ status: 0 });
    expect(readFileSync(file, 'utf8')).toContain('accounts:');
  });

  test('writes the full path of the key file, and reads REST when asked to', async () => {
    const { file, init, checkLive } = await world();
    writeFileSync(join(file, '../key'), `${DEMO_API_KEY}\n`);
    expect(await init('--api=rest', '--api-key-file=key')).toMatchObject({ status: 0, stderr: '' });
    const text = readFileSync(file, 'utf8');
    expect(text).toContain(`api_key_file: ${join(file, '../key')}\n`);
    expect(text).not.toContain('NEW_RELIC_API_KEY');
    await checkLive();
  });

  test('writes nothing without a key or with a refused key', async () => {
    const { file, init } = await world({ apiKeys: ['NRAK-ANOTHER'] });
    const refused = await init();
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^error: the accounts of the key cannot be read: .*\n(?:.*\n)?hint: /);
    const without = await runInProcess(['init']);
    expect(without).toMatchObject({ status: 2, stdout: '' });
    expect(without.stderr).toContain('there is no key: set NEW_RELIC_API_KEY');
    const rest = await init('--base-url=https://api.newrelic.com/v2');
    expect(rest).toMatchObject({ status: 2, stderr: expect.stringContaining('give --api=rest too') as unknown });
    expect(existsSync(file)).toBe(false);
  });
});

test('init writes longer intervals and disables hosts where everything does not fit the budget', () => {
  const calls = new Map<Group, number>([
    ['applications', 4],
    ['application_metrics', 700],
    ['host_metrics', 2100],
    ['counters', 700],
  ]);
  const capacity = { perMinute: 600, concurrencySlowdown: 1, concurrencyCapacity: undefined };
  const plan = planCalls(calls, () => 60_000, capacity);
  const read = {
    applications: [{ id: 1, name: 'Shop', language: undefined, reporting: true }],
    tasks: [],
    keyTransactions: 0,
  };
  const text = renderConfiguration({ api: 'rest' }, [{ ...read, plan }], []);
  expect(text).toContain('hosts: false # 2100.0 calls a minute');
  expect(parse(text)).toMatchObject({ collection: { intervals: { applications: '2m', application_metrics: '2m' } } });
  const few = planCalls(new Map([['applications', 600]]), () => 60_000, capacity);
  const fitting = renderConfiguration({}, [{ ...read, plan: few }], []);
  expect(fitting).toContain('hosts: true');
  expect(fitting).not.toContain('intervals');
});
