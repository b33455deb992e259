import { describe, expect, it } from 'vitest';
import { exporterForTest } from '../e2e/support/forTest.ts';
import type { ParsedFamily } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account, nerdGraphAccount } from '../e2e/support/config.ts';
import { SAME_WINDOW } from '../e2e/support/movedClock.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { commandsOn, complaintsOf, runInProcess } from '../support/inProcess.ts';

interface PlanDocument {
  readonly accounts: readonly {
    readonly account: string;
    readonly callsPerMinute: number;
    readonly stretch: number;
    readonly series: number;
    readonly groups: readonly { readonly group: string; readonly callsPerMinute: number }[];
  }[];
}

const DEPTH = { name: 'custom_depth', match: 'Custom/Queue/{queue}/depth', value: 'average_value' };
const STATEMENTS = { match: 'Datastore/statement/{store}/{table}/{operation}', value: 'call_count' };
/** Of one application, more metric names than one call carries. */
const CUSTOM = [
  DEPTH,
  { ...DEPTH, name: 'custom_depth_of_host', scope: 'host' },
  { ...STATEMENTS, name: 'custom_transactions', max_series: 60 },
];

const seriesOf = (families: readonly ParsedFamily[]): number =>
  families
    .filter(({ name }) => !/^(?:newrelic_exporter_|newrelic_up$|process_|nodejs_)/.test(name))
    .reduce((sum, { samples }) => sum + samples.length, 0);

describe('plan', () => {
  it('agrees with the calls of serve within one call per minute, and gives an upper bound of its series', async () => {
    const simulator = await simulatorForTest({ applications: 5, hostsPerApplication: 2, hostMetrics: 'all' });
    const accounts = [account(simulator, 'default', { custom_metrics: CUSTOM, instances: true })];
    const { status, stdout, stderr } = await commandsOn(...accounts)('plan', '--format=json');
    expect([status, complaintsOf(stderr)]).toEqual([0, []]);
    expect(simulator.requests.byKind['metric_data']).toBeUndefined();
    const [plan] = (JSON.parse(stdout) as PlanDocument).accounts;
    expect(plan?.stretch).toBe(1);

    simulator.requests.clear();
    const exporter = await exporterForTest({ ...SAME_WINDOW, config: { accounts } });
    const families = await scrapeUntilFresh(exporter);
    const counts = simulator.requests.byKind;
    const perMinute = (...groups: string[]): number =>
      (plan?.groups ?? [])
        .filter(({ group }) => groups.includes(group))
        .reduce((sum, { callsPerMinute }) => sum + callsPerMinute, 0);
    const expected: [readonly string[], string, number][] = [
      [['applications'], 'applications', 1],
      [['key_transactions'], 'key_transactions', 1],
      [['application_metrics', 'host_metrics'], 'metric_data', 1],
      [['hosts'], 'hosts', 5],
      [['instances'], 'instances', 5],
      [['metric_names', 'custom_metrics'], 'metric_names', 360],
    ];
    for (const [groups, kind, minutes] of expected) {
      const daemon = (counts[kind] ?? 0) / minutes;
      expect(Math.abs(perMinute(...groups) - daemon), `${kind}: ${daemon} per minute`).toBeLessThanOrEqual(1);
    }
    // Of an application with more names than one call carries, each refresh takes several.
    expect(counts['metric_data']).toBeGreaterThan(5 + 5 * 2);
    expect(plan?.callsPerMinute).toBeCloseTo(
      plan?.groups.reduce((sum, { callsPerMinute }) => sum + callsPerMinute, 0) ?? NaN,
    );
    const served = seriesOf(families);
    expect(plan?.series).toBeGreaterThanOrEqual(served);
    expect(plan?.series).toBeLessThan(served * 1.5);
  });

  it('prints a table, and says what to change where the plan does not fit', async () => {
    const simulator = await simulatorForTest({ applications: 1, hostsPerApplication: 40 });
    const shop = account(simulator, 'shop', { limits: { requests_per_minute: 12 } });
    const { status, stdout } = await commandsOn(shop)('plan');
    expect(status).toBe(0);
    const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    expect(rows).toContainEqual(['GROUP', 'CALLS/MIN', 'SHARE', 'INTERVAL', 'EFFECTIVE']);
    expect(rows).toContainEqual(['host_metrics', '40.00', '333 %', '1m', '3m36s']);
    expect(stdout).toMatch(/^Budget: 12 calls per minute\. It does not fit\.$/m);
    expect(stdout).toContain('Reads metric data of 1 application and 40 hosts.\n');
    expect(stdout).toMatch(/^Expected series: at most \d+\.$/m);
    // What does not fit is said once, and what to change once.
    expect(stdout.match(/times slower/g)).toHaveLength(1);
    expect(stdout.match(/limits\.requests_per_minute/g)).toHaveLength(1);
    expect(stdout).toContain(
      'warning: limits.requests_per_minute: a refresh of everything needs 44 calls per minute and the budget is 12, so every group is refreshed 3.6 times slower: raise it',
    );
  });

  it('reports the minutes of data read per minute, and the group that reads most of them', async () => {
    const simulator = await simulatorForTest({ applications: 2 });
    const read = async (window: string, settings: Readonly<Record<string, unknown>> = {}): Promise<string> => {
      const config = { accounts: [nerdGraphAccount(simulator, 'default', settings)], collection: { window } };
      return (await runInProcess(['plan'], { config })).stdout;
    };
    expect(await read('30m')).toContain(
      '(applications 4.0, key_transactions 10.0, application_metrics 30.0, hosts 12.8, host_metrics 30.0)',
    );
    const short = await read('5m');
    expect(short).toContain('Data read: 36.8 minutes of data per minute');
    expect(short).toContain('\nMost expensive: hosts, 12.8 (34.8 %).\n');
    const custom = { custom_metrics: [DEPTH], query_packs: ['limits', 'alert_events'] };
    expect(await read('5m', custom)).toMatch(
      /^Data read: .*, custom_metrics \(names\) 4\.0.*\nMost expensive: queries alert_events\/open, 8,640 \(99\.\d %\)\.$/m,
    );
  });

  it('plans readable accounts, reports why the others are unreadable, and ends with 1', async () => {
    const simulator = await simulatorForTest({ applications: 1 });
    const both = commandsOn(account(simulator, 'bad', { api_key: 'wrong' }), account(simulator, 'good'));
    const { status, stdout, stderr } = await both('plan', '--format=json');
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^error: account bad: the application list cannot be read: GET .* 401: Invalid API Key \(reason auth\)\nhint: use a valid user key .*\n$/,
    );
    expect((JSON.parse(stdout) as PlanDocument).accounts.map(({ account: name }) => name)).toEqual(['good']);
  });
});
