import { afterEach, describe, expect, it } from 'vitest';
import type { Comparison } from '../../src/tools/compare/compare.ts';
import { parseFault } from '../../simulator/faults/faultRules.ts';
import { account, accountBy } from '../e2e/support/config.ts';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { simulatorForFile } from '../support/simulator.ts';
import { commandsOn } from '../support/inProcess.ts';

const simulator = await simulatorForFile({});
afterEach(() => simulator.faults.clear());

const run = commandsOn(account(simulator, 'prod'));
const compare = (...flags: readonly string[]) => run('compare', ...flags);

describe('compare', () => {
  it.each(['rest', 'nerdgraph'] as const)('finds that both interfaces agree, from an account over %s', async (api) => {
    const configured = accountBy(api, simulator, { name: 'prod', account_id: undefined });
    const { status, stdout } = await commandsOn(configured)('compare', '--hosts', '--format=json');
    const comparison = JSON.parse(stdout) as Comparison;
    expect(comparison).toMatchObject({ account: 'prod', tolerance: 0.01, unexpected: 0 });
    expect(comparison.window.to - comparison.window.from).toBe(300);
    const compared = comparison.families.reduce((sum, family) => sum + family.compared, 0);
    expect(compared).toBeGreaterThan(800);
    expect(comparison.differences.length).toBeGreaterThan(100);
    expect(comparison.differences.every(({ expected, reason }) => expected && reason !== null)).toBe(true);
    expect(status).toBe(0);
  });

  it('prints expected differences with their reasons and a verdict; every family with --all', async () => {
    const { status, stdout } = await compare('--app=Storefront');
    expect(stdout).toMatch(
      /^Account prod, window from \S+Z to \S+Z, tolerance 1 %\n\nDifferences that nothing explains: none\n/,
    );
    expect(stdout).toMatch(/Differences that are expected: \d+\nSERIES +FAMILIES +REASON\n +\d+ +\d+ +\S/);
    expect(stdout).toMatch(/Both interfaces agree: \d+ series compared/);
    expect(stdout).not.toContain('newrelic_');
    expect(status).toBe(0);
    const { stdout: all } = await compare('--app=Storefront', '--all');
    expect(all).toMatch(/\nSERIES +FAMILIES +REASON\n +\d+ +\d+ +\S.*\n +\d+ +(?:application|key_transaction)_\w+\n/);
    expect(all).toMatch(/\nFAMILY +COMPARED +DIFFER +WORST\n[^]*\napplication_response_time_seconds +1 +0 +0 %\n/);
  });

  it.each([
    ['both readings, which fails', '', /Differences that nothing explains: [1-9][^]*The interfaces differ/, 1],
    ['one reading, which passes', ',times=1', /Differences that nothing explains: none/, 0],
  ])('judges a difference without a reason in %s', async (_, times, words, status) => {
    simulator.faults.add(parseFault(`nulls,on=metric_data${times}`));
    const result = await compare('--app=1000001');
    expect(result.stdout).toMatch(words);
    expect(result.status).toBe(status);
  });

  it('fails with 1, and names the unreadable interface and the probable cause', async () => {
    simulator.faults.add(parseFault('graphql-error=SERVER_ERROR,on=graphql_nrql'));
    const { status, stdout, stderr } = await compare('--app=Storefront');
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^error: the data cannot be read over NerdGraph: graphql:\w+: .*\(reason server\)\nhint: New Relic itself fails/m,
    );
    expect(stderr).not.toContain(DEMO_API_KEY);
  });

  it('fails with 1 and names the probable cause where the interfaces share nothing', async () => {
    const { status, stderr } = await compare('--account-id=99');
    expect(status).toBe(1);
    expect(stderr).toMatch(/no reporting application in common|account/);
  });

  it.each([
    [['--app=no such application'], /--app matches no reporting application: "no such application"/],
    [['--app=Storefront', '--app=Storefrnot'], /--app matches no reporting application: "Storefrnot"/],
    [['--app=1000001', '--app=999'], /--app matches no reporting application: "999"/],
    [['--account=other'], /there is no account "other": the accounts are prod/],
    [['--tolerance=2'], /ratio from 0 to 1/],
    [['--account-id=x'], /whole number, 1 or more/],
  ])('rejects %j as wrong usage', async (flags, words) => {
    const { status, stderr } = await compare(...flags);
    expect(stderr).toMatch(words);
    expect(status).toBe(2);
  });
});
