import { expect, test } from 'vitest';
import { samplesOf, value, type ParsedFamily } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account, nerdGraphAccount } from './support/config.ts';
import { clockForTest, exporterForTest } from './support/forTest.ts';
import { SAME_WINDOW } from './support/movedClock.ts';
import { scrapeUntil, scrapeUntilFresh } from './support/states.ts';

const LISTED = 'newrelic_exporter_applications';

test('a reload to the other interface and back drops the held values, and each interface has its own budget', async () => {
  const simulator = await simulatorForTest({ applications: 3 });
  const rest = { accounts: [account(simulator, 'one')] };
  const nerdGraph = { accounts: [nerdGraphAccount(simulator, 'one')] };
  const exporter = await exporterForTest({ ...SAME_WINDOW, config: rest, flags: ['--web.enable-lifecycle'] });
  const reload = async (config: typeof rest): Promise<ParsedFamily[]> => {
    exporter.writeConfig(config);
    expect((await fetch(`${exporter.url}/-/reload`, { method: 'POST' })).status).toBe(200);
    // Nothing of the other interface is shown before the new one has been read.
    expect(samplesOf(await exporter.scrape('/metrics?collect[]=exporter'), 'newrelic_up')[0]?.value ?? 0).toBe(0);
    return scrapeUntilFresh(exporter);
  };
  const apiOf = (families: readonly ParsedFamily[]): string[] =>
    samplesOf(families, 'newrelic_exporter_account_info').map(({ labels }) => String(labels['api']));
  const spent = async (): Promise<unknown> =>
    (JSON.parse(await exporter.text('/api/status')) as { accounts: { budget: unknown }[] }).accounts[0]?.budget;
  const first = await scrapeUntilFresh(exporter);
  expect(apiOf(first)).toEqual(['rest']);
  expect(samplesOf(first, 'newrelic_host_info').every(({ labels }) => /^\d+$/.test(labels['host_id'] ?? ''))).toBe(
    true,
  );
  expect(await spent()).toMatchObject({ requests_in_last_minute: simulator.requests.count() });

  simulator.requests.clear();
  const second = await reload(nerdGraph);
  expect(apiOf(second)).toEqual(['nerdgraph']);
  expect(samplesOf(second, 'newrelic_host_info').every(({ labels }) => labels['host_id'] === labels['host'])).toBe(
    true,
  );
  expect(samplesOf(second, 'newrelic_exporter_api_end_of_life_timestamp_seconds')).toEqual([]);
  expect(Object.keys(simulator.requests.byKind).every((kind) => kind.startsWith('graphql_'))).toBe(true);
  expect(await spent()).toMatchObject({ requests_in_last_minute: simulator.requests.count() });

  simulator.requests.clear();
  const third = await reload(rest);
  expect(apiOf(third)).toEqual(['rest']);
  expect(samplesOf(third, 'newrelic_host_info')).toEqual(samplesOf(first, 'newrelic_host_info'));
  expect(simulator.requests.byKind).not.toHaveProperty('graphql_nrql');
  expect(await spent()).toMatchObject({ requests_in_last_minute: simulator.requests.count() });
});

test('an application without data stops reporting, and its values decrease and end', async () => {
  const clock = clockForTest({ speed: 0.05 });
  const simulator = await simulatorForTest({ applications: 3, now: clock.now });
  const exporter = await exporterForTest({
    ...clock.program,
    config: { accounts: [nerdGraphAccount(simulator)], collection: { window: '5m' } },
  });
  const dead = { app_id: '1000001' };
  const seen = async (): Promise<Record<string, number | undefined>> => {
    const families = await scrapeUntilFresh(exporter);
    const valueOf = (name: string): number | undefined => samplesOf(families, name, dead)[0]?.value;
    return {
      reporting: valueOf('newrelic_application_reporting'),
      rate: valueOf('newrelic_application_web_requests_per_second'),
      rolling: valueOf('newrelic_application_rolling_requests_per_second'),
      hosts: samplesOf(families, 'newrelic_host_web_requests_per_second', dead).length,
    };
  };
  const alive = await seen();
  expect(alive).toMatchObject({ reporting: 1, hosts: 2 });
  simulator.change(1_000_001, { reporting: false });
  clock.minutesLater(4);
  const fading = await seen();
  expect(fading.reporting).toBe(1);
  // Part of the window is silent.
  expect(fading.rate).toBeLessThan(alive['rate'] ?? 0);
  clock.minutesLater(5);
  const silent = await seen();
  expect(silent.reporting).toBe(1);
  expect(silent).toMatchObject({ rate: undefined, rolling: undefined });
  clock.minutesLater(5);
  expect(await seen()).toEqual({ reporting: 0, rate: undefined, rolling: undefined, hosts: 0 });
  // What is not listed any more is counted at once, also where nothing is left: two alerts look at that.
  const listed = (families: readonly ParsedFamily[]): unknown => value(families, LISTED, { state: 'listed' });
  for (const [index, id] of [1_000_001, 1_000_002, 1_000_003].entries()) {
    simulator.change(id, { removed: true });
    clock.minutesLater(1);
    const families = await scrapeUntil(exporter, 'the smaller list', (found) => listed(found) === 2 - index);
    expect(value(families, 'newrelic_up')).toBe(1);
  }
});
