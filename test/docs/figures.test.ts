import { describe, expect, test } from 'vitest';
import { planCalls } from '../../src/collect/schedule/due.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Group } from '../../src/reads/reads.ts';
import { nerdGraphAccount } from '../e2e/support/config.ts';
import { commandsOn } from '../support/inProcess.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { pageAt, rowsOf, sectionOf } from './pages.ts';

const PAGE_SIZE = 200;

/** The cost of a steady state over REST, by the number of applications, with default intervals. */
function planOf(applications: number, hostsEach: number) {
  const loaded = loadConfig({ path: 'config.yaml', text: 'accounts: [{api: rest, api_key: k}]' }, {});
  if ('diagnostics' in loaded) throw new Error('the smallest configuration is not valid');
  const { collection, accounts } = loaded.config;
  const hosts = applications * hostsEach;
  const calls = new Map<Group, number>([
    ['applications', Math.ceil(applications / PAGE_SIZE)],
    ['key_transactions', 1],
    ['application_metrics', applications],
    ['metric_names', applications],
    ['host_metrics', hosts],
    ['hosts', hosts === 0 ? 0 : applications],
  ]);
  const intervalOf = (group: Group): number =>
    group in collection.intervals
      ? collection.intervals[group as keyof typeof collection.intervals]
      : collection.intervals.application_metrics;
  const perMinute = accounts[0]?.limits.requests_per_minute ?? 0;
  return planCalls(calls, intervalOf, { perMinute, concurrencySlowdown: 1, concurrencyCapacity: undefined });
}

const SCALING = pageAt('docs/scaling.md');

const numberIn = (cell: string): number => Number(/[\d,]+(?:\.\d+)?/.exec(cell)?.[0].replaceAll(',', ''));

describe('docs/scaling.md', () => {
  const rows = rowsOf(sectionOf(SCALING, '## REST'));

  test('has examples', () => {
    expect(rows.length).toBeGreaterThan(3);
  });

  test.each(rows)(
    'has the figures of plan for %s applications with %s hosts',
    (applications = '', hosts = '', calls = '', verdict = '') => {
      const plan = planOf(numberIn(applications), hosts.startsWith('none') ? 0 : numberIn(hosts));
      expect(numberIn(calls)).toBe(Math.round(plan.callsPerMinute));
      if (plan.slowdown === 1) expect(verdict).toBe('fits');
      else expect(verdict).toMatch(new RegExp(`^${plan.slowdown.toFixed(1)} times slower`));
    },
  );
});

describe('README.md', () => {
  test.each([
    ['2 hosts each', 2],
    ['no hosts', 0],
  ])('has the figures of plan for 200 applications with %s', (hosts, hostsEach) => {
    const rows = rowsOf(pageAt('README.md').text).filter(([cell]) => cell?.startsWith(`200 applications, ${hosts}`));
    const planned = Math.round(planOf(200, hostsEach).callsPerMinute);
    expect(rows.map(([, , calls = '']) => numberIn(calls))).toEqual([planned]);
  });
});

/** What `plan` says of a fleet that is read through NerdGraph. */
async function planOverNerdGraph(applications: number, hostsEach: number): Promise<number> {
  const simulator = await simulatorForTest({ applications, hostsPerApplication: hostsEach, keyTransactions: 100 });
  const account = nerdGraphAccount(simulator, 'default', { applications: { reporting_only: false } });
  const { status, stdout } = await commandsOn(account)('plan', '--format=json');
  expect(status).toBe(0);
  const plans = JSON.parse(stdout) as { readonly accounts: readonly { readonly callsPerMinute: number }[] };
  return plans.accounts[0]?.callsPerMinute ?? NaN;
}

describe('the figures for NerdGraph', () => {
  test.each([
    [200, 2],
    [100, 10],
  ])('are the figures of plan for %i applications with %i hosts each', async (applications, hostsEach) => {
    const rows = rowsOf(sectionOf(SCALING, '## NerdGraph'));
    const ofScaling = rows.find(([a = '', h = '']) => numberIn(a) === applications && numberIn(h) === hostsEach)?.[2];
    const inReadme = rowsOf(pageAt('README.md').text);
    const ofReadme = inReadme.find(([cell]) => cell === `${applications} applications, ${hostsEach} hosts each`)?.[1];
    const planned = await planOverNerdGraph(applications, hostsEach);
    for (const said of [ofScaling, ofReadme].filter((text) => text !== undefined)) {
      // How many hosts of the world report is another number in another hour.
      expect(Math.abs(planned - numberIn(said))).toBeLessThan(1.5);
    }
    expect(ofScaling).toBeDefined();
  });
});

describe('the example in money of docs/scaling.md', () => {
  const rows = rowsOf(sectionOf(SCALING, '### An example in money'));
  const copy = (window: string, interval: string) => ({
    queries: [
      {
        name: 'copy',
        nrql: 'SELECT count(*) AS events FROM NrAiIncident',
        metrics: [{ name: 'shop_alert_events', help: 'Alert events', value: 'events' }],
        window,
        interval,
      },
    ],
  });

  test('has the minutes of plan, and divides the price by them', async () => {
    const simulator = await simulatorForTest({ applications: 5 });
    const settings = [{ query_packs: ['alert_events'] }, copy('30d', '30m'), copy('1d', '5m'), {}];
    const minutes: number[] = [];
    for (const each of settings) {
      const account = nerdGraphAccount(simulator, 'default', { ...each, counters: true });
      const { stdout } = await commandsOn(account)('plan', '--format=json');
      const [plan] = (JSON.parse(stdout) as { readonly accounts: readonly Scanned[] }).accounts;
      minutes.push((plan?.scannedMinutes ?? []).reduce((sum, row) => sum + row.minutes, 0));
    }
    expect(rows.map(([, read = '']) => numberIn(read))).toEqual(minutes.map(Math.round));
    const [dearest = NaN] = minutes;
    expect(rows.map(([, , money = '']) => money)).toEqual(minutes.map((each) => ((each / dearest) * 100).toFixed(2)));
  });
});

interface Scanned {
  readonly scannedMinutes: readonly { readonly minutes: number }[];
}
