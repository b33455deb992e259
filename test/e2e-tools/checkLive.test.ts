import { describe, expect, it } from 'vitest';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import type { SimulatorOptions } from '../../simulator/simulator.ts';
import { simulatorForFile, simulatorForTest } from '../support/simulator.ts';
import { account } from '../e2e/support/config.ts';
import { commandsOn, complaintsOf, runInProcess } from '../support/inProcess.ts';

const CHECK_LIVE = ['check', '--live'];

const simulator = await simulatorForFile({ applications: 6, hostsPerApplication: 1 });

const OVER_NERDGRAPH = { api: 'nerdgraph', account_id: 1_234_567 };
const TWO_ACCOUNTS = [
  { id: 1_234_567, name: 'Shop' },
  { id: 7_654_321, name: 'Blog' },
];

/** Runs the command with one account of a service of its own. */
async function runOnService(service: SimulatorOptions, settings: Readonly<Record<string, unknown>> = {}) {
  const started = await simulatorForTest(service);
  const { url } = started;
  const address = settings['api'] === 'nerdgraph' ? { base_url: `${url}/graphql` } : {};
  return { ...(await commandsOn(account(started, 'shop', { ...settings, ...address }))(...CHECK_LIVE)), url };
}

/** Runs the command with one account of the service of all tests. */
const checkLive = (settings: Readonly<Record<string, unknown>>) =>
  commandsOn(account(simulator, 'shop', settings))(...CHECK_LIVE);

const DEPTH = { name: 'custom_depth', match: 'Custom/Queue/{queue}/depth', value: 'average_value' };

describe('check --live', () => {
  it('reports what each key can read and which entries match nothing, and ends with 0 without faults', async () => {
    const settings = {
      applications: {
        include: [{ name: 'S*' }, { name: 'nix-*' }, { id: 77 }],
        exclude: [{ name: 'Forum' }, { name: 'old-*' }],
      },
      custom_metrics: [DEPTH, { ...DEPTH, name: 'custom_nothing', match: 'Custom/Nothing/{what}' }],
    };
    const result = await checkLive(settings);
    expect(complaintsOf(result.stderr)).toEqual([]);
    expect(result.stdout.split('\n')).toEqual([
      'config.yaml: valid',
      `account shop (${simulator.url}/v2): the key is accepted`,
      expect.stringMatching(
        /^ {2}interface: REST, which New Relic ends on 2027-07-31, in \d+ days: remove "api: rest" to read NerdGraph/,
      ),
      '  applications: 6 visible, 2 exported, 2 of them reporting',
      '  key transactions: 8 visible, 3 exported',
      '  plan: 6.4 of 600 calls per minute, every group keeps its interval',
      '  warning: applications.include: no application has the name "nix-*": correct the entry or remove it',
      '  warning: applications.include: no application has the id 77: correct the entry or remove it',
      '  warning: custom_metrics: "Custom/Nothing/{what}" (custom_nothing) matches no metric of any application',
      '  warning: applications.exclude: no application has the name "old-*": correct the entry or remove it',
      '',
    ]);
    expect(result.status).toBe(0);
  });

  it('reports how much data is read, and which group reads more than half of it', async () => {
    const few = { applications: false, key_transactions: false, counters: false };
    const { status, stdout } = await runOnService(
      { applications: 1 },
      { api: 'nerdgraph', query_packs: ['alert_events'], ...few },
    );
    expect(stdout).toMatch(
      /^ {2}Data read: 8,\d+ minutes .*\n {2}Most expensive: queries alert_events\/open, 8,640 \(\d+(\.\d)? %\)\.$/m,
    );
    expect(status).toBe(0);
  });

  it('warns of a custom metric whose value name New Relic does not have', async () => {
    const { status, stdout } = await checkLive({ custom_metrics: [{ ...DEPTH, value: 'averge_value' }] });
    expect(stdout).toMatch(
      /warning: custom_metrics: New Relic has no value "averge_value" of Custom\/Queue\/.* \(custom_depth\): correct .*; did you mean "average_value"\?$/m,
    );
    expect(status).toBe(0);
  });

  it('warns of a query without rows and of a query without numbers, which may have a misspelt event or attribute', async () => {
    const query = (name: string, nrql: string) => ({ name, nrql, metrics: [{ name: `test_${name}`, value: 'n' }] });
    const queries = [
      query('event', 'SELECT count(*) AS n FROM Transactoin FACET appName'),
      query('attribute', 'SELECT average(duraton) AS n FROM Transaction'),
      query('good', 'SELECT count(*) AS n FROM Transaction'),
    ];
    const { stdout } = await runOnService({ applications: 1 }, { api: 'nerdgraph', queries });
    expect(stdout).toContain('warning: query event: no rows: check the spelling and case of the event after FROM');
    expect(stdout).toContain('warning: query attribute: no numbers: check the spelling');
    expect(stdout).not.toContain('warning: query good');
  });

  it.each<[slip: string, settings: object, warning: string]>([
    [
      'a name in another case',
      { applications: { include: [{ name: 'checkout*' }] } },
      'applications.include: no application has the name "checkout*" (case counts: there is "Checkout API"): correct',
    ],
    [
      'an entity in another case',
      { entities: [{ type: 'EXT-SERVICE', include: [{ name: 'storeFront' }] }] },
      'entities.include: no entity of EXT-SERVICE has the name "storeFront" (case counts: there is "storefront"): correct',
    ],
    [
      'an id that no application has',
      { applications: { include: [{ id: 77 }] } },
      'applications.include: no application has the id 77: correct the entry or remove it',
    ],
    [
      'a column that the query does not have',
      {
        queries: [
          { name: 'q', nrql: 'SELECT count(*) AS n FROM Transaction', metrics: [{ name: 'test_q', value: 'm' }] },
        ],
      },
      'queries: "q" has rows without a number in "m": the columns are "n"',
    ],
  ])('gives one warning for one mistake: %s', async (_, settings, warning) => {
    const { stdout } = await runOnService({ applications: 6 }, { ...OVER_NERDGRAPH, ...settings });
    const warnings = stdout.split('\n').filter((line) => line.includes('warning:'));
    expect(warnings).toEqual([expect.stringContaining(`  warning: ${warning}`)]);
  });

  it('names the entries of key_transactions that match nothing', async () => {
    const include = [{ name: '*checkout*' }, { name: 'nix-*' }, { id: 77 }];
    const key_transactions = { include, exclude: [{ name: 'old-*' }] };
    const { status, stdout } = await checkLive({ key_transactions });
    expect(stdout.match(/(?<=warning: ).*(?=: correct the entry or remove it)/g)).toEqual([
      'key_transactions.include: no key transaction has the name "nix-*"',
      'key_transactions.include: no key transaction has the id 77',
      'key_transactions.exclude: no key transaction has the name "old-*"',
    ]);
    expect(status).toBe(0);
  });

  it('reports every account in one line, also refused and unreachable accounts, and ends with 1', async () => {
    const forbidding = await simulatorForTest({ applications: 1, faults: [{ effect: 'forbidden-page' }] });
    const run = commandsOn(
      account(simulator, 'refused', { api_key: 'NRAK-WRONG0000000000000000000000' }),
      account(forbidding, 'forbidden'),
      account({ url: 'http://127.0.0.1:1' }, 'gone', { limits: { max_retries: 0 } }),
      account(simulator, 'good', { key_transactions: false }),
    );
    const { status, stdout, stderr } = await run(...CHECK_LIVE);
    expect(status).toBe(1);
    expect(stdout).toContain(
      `account refused (${simulator.url}/v2): the key is refused: GET /applications.json: status 401`,
    );
    expect(stdout).toMatch(
      /^account forbidden .*: the key cannot read this account: GET \/applications\.json: status 403.*$/m,
    );
    expect(stdout).toMatch(/^account gone .*: the application list cannot be read: .*connection refused.*$/m);
    expect(stdout).toMatch(/^account good .*: the key is accepted$/m);
    expect(stdout).toContain('  key transactions: not read\n');
    for (const key of [DEMO_API_KEY, 'NRAK-WRONG']) expect(stdout + stderr).not.toContain(key);
  });

  it('reports one reason once for all applications and for a list of entities', async () => {
    const { status, stdout } = await runOnService(
      {
        applications: 3,
        faults: [
          { effect: 'graphql-error', on: 'graphql_nrql', message: 'no rows today' },
          { effect: 'graphql-error', on: 'graphql_entity_list', message: 'no list today' },
        ],
      },
      { ...OVER_NERDGRAPH, entities: [{ type: 'EXT-SERVICE' }], limits: { max_retries: 0 } },
    );
    expect(status).toBe(1);
    expect(stdout).toMatch(/^ {2}problem: hosts of "Storefront" and 2 more: graphql:hosts: .*no rows today/m);
    expect(stdout).toMatch(/^ {2}entities EXT-SERVICE: problem: .*no list today/m);
    expect(stdout.match(/problem: hosts/g)).toHaveLength(1);
    expect(stdout.match(/no list today/g)).toHaveLength(1);
  });

  it('makes no call when the configuration is invalid, and ends with 2', async () => {
    const before = simulator.requests.count();
    const config = `accounts: [{base_url: "${simulator.url}/graphql", api_key: abc, hots: true}]`;
    const { status, stdout, stderr } = await runInProcess(CHECK_LIVE, { config });
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining('accounts[0].hots: ')]);
    expect(simulator.requests.count()).toBe(before);
  });

  it('names the accounts of a key over NerdGraph, and reports no problem where timeslices are available', async () => {
    const { status, stdout, stderr, url } = await runOnService(
      { applications: 2, hostsPerApplication: 1, accounts: TWO_ACCOUNTS },
      OVER_NERDGRAPH,
    );
    expect(complaintsOf(stderr)).toEqual([]);
    expect(stdout.split('\n')).toEqual([
      'config.yaml: valid',
      `account shop (${url}/graphql): the key is accepted`,
      '  interface: NerdGraph',
      '  account: the key sees 1234567 (Shop), 7654321 (Blog); account 1234567 is read',
      '  applications: 2 visible, 2 exported, 2 of them reporting',
      '  key transactions: 8 visible, 8 exported',
      expect.stringMatching(/^ {2}plan: \d+\.\d of 600 calls per minute, every group keeps its interval$/),
      '  Data read: 36.8 minutes of data per minute (applications 4.0, key_transactions 10.0, application_metrics 5.0, ' +
        'hosts 12.8, host_metrics 5.0). Price plans by compute charge for them.',
      '  Most expensive: hosts, 12.8 (34.8 %).',
      '',
    ]);
    expect(status).toBe(0);
  });

  it.each<[string, SimulatorOptions, object, number, readonly (string | RegExp)[]]>([
    [
      'names a list of an application that cannot be read',
      {
        applications: 2,
        faults: [
          { effect: 'status', status: 404, on: 'hosts', app: 1000002 },
          { effect: 'forbidden-page', on: 'key_transactions' },
        ],
      },
      {},
      1,
      [
        'the key is accepted',
        '  key transactions: cannot be read\n',
        /^ {2}problem: hosts of "Checkout API": GET .*status 404.*$/m,
        /^ {2}problem: key_transactions: GET \/key_transactions\.json: status 403.*$/m,
      ],
    ],
    [
      'reports that a plan does not fit, and which setting to change',
      { applications: 1, hostsPerApplication: 40 },
      { limits: { requests_per_minute: 10 } },
      0,
      [
        'of 10 calls per minute, which does not fit',
        /warning: limits\.requests_per_minute: a refresh of everything needs \d+ calls per minute/,
      ],
    ],
    [
      'reports that a plan does not fit because the measured calls are slow',
      { applications: 2, hostsPerApplication: 80, latencyMs: 500 },
      { limits: { max_concurrent_requests: 1 }, key_transactions: false },
      0,
      [
        'of 600 calls per minute, which does not fit',
        /warning: limits\.max_concurrent_requests: .* and 1 at once allow (?:\d\d|1[01]\d) while one takes \d\.\d s/,
      ],
    ],
    [
      'names an account that the key does not list, and blames no entry that cannot match there',
      { applications: 2, accounts: [{ id: 99, name: 'Another' }] },
      { api: 'nerdgraph', account_id: 7654321, key_transactions: { include: [{ name: '*checkout*' }] } },
      1,
      [
        /^(?![^]*correct the entry)/,
        /: the key cannot read this account: .*the key does not list account 7654321/,
        '99 (Another)',
      ],
    ],
    [
      'warns of NRQL that answers no timeslice at all: they end long before the window',
      { applications: 2, hostsPerApplication: 1, now: () => Date.now() - 7_200_000 },
      OVER_NERDGRAPH,
      0,
      [
        /warning: NRQL has no timeslice of 2 reporting applications in account 1234567: .*role/,
        /^(?![^]*warning:[^]*warning:)/,
      ],
    ],
    [
      'names the accounts of a key that sees several where none is chosen',
      { applications: 1, accounts: TWO_ACCOUNTS },
      { api: 'nerdgraph' },
      1,
      [
        /the application list cannot be read: .*1234567 \(Shop\), 7654321 \(Blog\)/,
        /^ {2}hint: correct what the message names/m,
      ],
    ],
    [
      'says that NRQL cannot be read',
      { applications: 1, faults: [{ effect: 'graphql-error', class: 'ACCESS_DENIED', on: 'graphql_nrql' }] },
      { api: 'nerdgraph' },
      1,
      [/^ {2}problem: graphql:applications: /m],
    ],
    [
      'says that the accounts of a key cannot be read although every list can',
      { applications: 1, faults: [{ effect: 'graphql-error', class: 'ACCESS_DENIED', on: 'graphql_accounts' }] },
      OVER_NERDGRAPH,
      1,
      [
        '  applications: 1 visible, 1 exported, 1 of them reporting\n',
        /^ {2}problem: /m,
        /^(?![^]*problem:[^]*problem:)/,
      ],
    ],
  ])('%s', async (_, service, settings, status, expected) => {
    const result = await runOnService(service, { ...settings });
    for (const each of expected) expect(result.stdout).toMatch(each);
    expect(result.status).toBe(status);
  });
});
