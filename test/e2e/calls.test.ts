import { expect, test } from 'vitest';
import { samplesOf, value } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account } from './support/config.ts';
import { clockForTest, exporterForTest } from './support/forTest.ts';
import { entities, scrapeUntilFresh } from './support/states.ts';

test('250 applications and 230 key transactions on pages of 200 are all exported', async () => {
  const clock = clockForTest({ standsStill: true });
  const fleet = { applications: 250, hostsPerApplication: 1, keyTransactions: 230 };
  const simulator = await simulatorForTest({ ...fleet, now: clock.now });
  const exporter = await exporterForTest({
    ...clock.program,
    config: {
      accounts: [account(simulator, 'default', { hosts: false, limits: { requests_per_minute: 5000 } })],
      collection: { window: '5m' },
    },
  });
  const families = await scrapeUntilFresh(exporter);
  const reporting = simulator.world.applications().filter(({ archetype }) => archetype.reporting).length;
  const ids = (family: string, label: string): number =>
    new Set(samplesOf(families, family).map(({ labels }) => labels[label])).size;
  expect({
    applications: ids('newrelic_application_info', 'app_id'),
    keyTransactions: ids('newrelic_key_transaction_info', 'key_transaction_id'),
    withMetrics: ids('newrelic_application_memory_used_bytes', 'app_id'),
  }).toEqual({ applications: 250, keyTransactions: 230, withMetrics: reporting });
  expect(simulator.requests.counts()).toEqual({
    applications: 2,
    key_transactions: 2,
    metric_names: reporting,
    metric_data: reporting,
  });
});

test('a refresh makes the fewest calls there can be, two scrapers share them, and the next scrape makes none', async () => {
  const clock = clockForTest({ standsStill: true });
  const simulator = await simulatorForTest({ hostsPerApplication: 2, latencyMs: 40, now: clock.now });
  const exporter = await exporterForTest({ ...clock.program, config: { accounts: [account(simulator)] } });
  // However slow the machine is, the first scrapes have the time that a refresh takes.
  const [first, second] = await Promise.all([exporter.scrape('/metrics', 120), exporter.scrape('/metrics', 120)]);
  const reporting = simulator.world.applications().filter(({ archetype }) => archetype.reporting).length;
  const least = {
    applications: 1,
    key_transactions: 1,
    metric_names: reporting,
    hosts: reporting,
    metric_data: reporting + 2 * reporting,
  };
  expect(simulator.requests.counts()).toEqual(least);
  for (const families of [first, second]) {
    expect(value(families, 'newrelic_up')).toBe(1);
    expect({ stale: entities(families, 'stale'), missing: entities(families, 'missing') }).toEqual({
      stale: 0,
      missing: 0,
    });
  }
  for (let scrape = 0; scrape < 3; scrape += 1) await exporter.scrape();
  await exporter.text('/api/status');
  await exporter.text('/');
  expect(simulator.requests.counts()).toEqual(least);
  expect(simulator.requests.ranges()).toHaveLength(1);
  expect(simulator.requests.maxConcurrency).toBeLessThanOrEqual(8);
  expect(simulator.requests.all().map(({ keyHeader }) => keyHeader)).toEqual(
    Array.from({ length: simulator.requests.count() }, () => 'X-Api-Key'),
  );
});

test('exporter metrics alone, and pages that show what is held, call nothing upstream', async () => {
  const simulator = await simulatorForTest({ applications: 2 });
  const exporter = await exporterForTest({ config: { accounts: [account(simulator)] } });
  const families = await exporter.scrape('/metrics?collect[]=exporter');
  expect(value(families, 'newrelic_exporter_config_last_reload_successful')).toBe(1);
  for (const path of ['/', '/api/status', '/config', '/-/healthy', '/-/ready']) await exporter.text(path);
  expect((await exporter.get('/metrics?collect[]=nonsense')).status).toBe(400);
  expect(simulator.requests.count()).toBe(0);

  await exporter.scrape('/metrics?collect[]=key_transactions');
  expect(Object.keys(simulator.requests.counts()).sort()).toEqual(['applications', 'key_transactions']);
});
