import { describe, expect, test } from 'vitest';
import { planCalls } from '../../src/collect/due.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Group } from '../../src/reads/reads.ts';
import { DEMO_API_KEY } from '../../src/simulator/simulatorSettings.ts';
import { runInProcess } from '../support/inProcess.ts';
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
    ...(hosts === 0
      ? []
      : ([
          ['host_metrics', hosts],
          ['hosts', applications],
        ] as const)),
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
    'says what the plan says of %s applications with %s hosts',
    (applications = '', hosts = '', calls = '', verdict = '') => {
      const plan = planOf(numberIn(applications), hosts.startsWith('none') ? 0 : numberIn(hosts));
      expect(numberIn(calls)).toBe(Math.round(plan.callsPerMinute));
      if (plan.slowdown === 1) expect(verdict).toBe('fits');
      else expect(verdict).toMatch(new RegExp(`^${plan.slowdown.toFixed(1)} times slower`));
    },
  );
});

describe('README.md', () => {
  const rows = rowsOf(pageAt('README.md').text);
  const rowOf = (beginning: string): readonly string[] => {
    const found = rows.filter(([cell]) => cell?.startsWith(beginning));
    expect(found).toHaveLength(1);
    return found[0] ?? [];
  };

  test('say what the plan says', () => {
    expect(numberIn(rowOf('200 applications, 2 hosts each')[2] ?? '')).toBe(Math.round(planOf(200, 2).callsPerMinute));
    expect(numberIn(rowOf('200 applications, no hosts')[2] ?? '')).toBe(Math.round(planOf(200, 0).callsPerMinute));
  });
});

/** What `plan` says of a fleet that is read through NerdGraph. */
async function planOverNerdGraph(applications: number, hostsEach: number): Promise<number> {
  const simulator = await simulatorForTest({
    applications,
    hostsPerApplication: Math.max(1, hostsEach),
    keyTransactions: 100,
  });
  const config = `accounts:
  - account_id: 1234567
    base_url: ${new URL('/graphql', simulator.url).href}
    api_key: ${DEMO_API_KEY}
    applications: {reporting_only: false}
    hosts: ${hostsEach > 0}
`;
  const { status, stdout } = await runInProcess(['plan', '--format=json'], { config });
  expect(status).toBe(0);
  const plans = JSON.parse(stdout) as { readonly accounts: readonly { readonly callsPerMinute: number }[] };
  return plans.accounts[0]?.callsPerMinute ?? NaN;
}

describe('with NerdGraph', () => {
  test.each([
    [200, 2],
    [100, 10],
  ])('plan says of %i applications with %i hosts each what the pages say', async (applications, hostsEach) => {
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
