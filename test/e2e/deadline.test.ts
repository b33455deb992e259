import { expect, onTestFinished, test } from 'vitest';
import { samplesOf, value } from '../support/exposition.ts';
import { until } from '../real/support/until.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account } from './support/config.ts';
import { clockForTest, exporterForTest } from './support/forTest.ts';
import { Front } from './support/front.ts';
import { entities, scrapeUntil, scrapeUntilFresh } from './support/states.ts';

/** A call that hangs does so for longer than any test: what is answered meanwhile did not wait for it. */
const HANGING = { request_timeout: '10m', max_retries: 0 };

test('with one application hanging, a scrape answers before its deadline with everything else', async () => {
  const simulator = await simulatorForTest({ applications: 3 });
  simulator.faults.add({ effect: 'hang', app: 1_000_001, on: 'metric_data' });
  const exporter = await exporterForTest({
    config: { accounts: [account(simulator, 'default', { limits: HANGING })] },
  });
  const families = await scrapeUntil(
    exporter,
    'the others',
    (answer) => entities(answer, 'fresh', { group: 'application_metrics' }) === 2,
  );
  expect(value(families, 'newrelic_exporter_api_requests_in_flight')).toBeGreaterThan(0);
  const withMemory = samplesOf(families, 'newrelic_application_memory_used_bytes').map(
    ({ labels }) => labels['app_id'],
  );
  expect(withMemory.toSorted()).toEqual(['1000002', '1000003']);
  expect(value(families, 'newrelic_up')).toBe(1);
  expect(entities(families, 'missing', { group: 'application_metrics' })).toBe(1);
  const after = await exporter.scrape('/metrics?collect[]=exporter');
  expect(value(after, 'newrelic_exporter_scrapes_total', { result: 'partial' })).toBeGreaterThanOrEqual(1);
});

test('with everything hanging, every scrape still answers in time, and healing takes no restart', async () => {
  const simulator = await simulatorForTest({ applications: 2 });
  const front = await Front.open(Number(new URL(simulator.url).port));
  onTestFinished(() => front.close());
  simulator.faults.add({ effect: 'hang' });
  const upstream = { url: `http://127.0.0.1:${front.port}/v2` };
  const exporter = await exporterForTest({ config: { accounts: [account(upstream, 'default', { limits: HANGING })] } });
  const both = await Promise.all([exporter.scrape('/metrics', 2), exporter.scrape('/metrics', 3)]);
  for (const families of both) {
    expect(value(families, 'newrelic_up')).toBe(0);
    expect(value(families, 'newrelic_exporter_api_requests_in_flight')).toBeGreaterThan(0);
    expect(samplesOf(families, 'newrelic_exporter_api_failures_total').filter((sample) => sample.value > 0)).toEqual(
      [],
    );
  }
  simulator.faults.clear();
  front.drop();
  const healed = await scrapeUntilFresh(exporter);
  expect(value(healed, 'newrelic_up')).toBe(1);
  const failures = { endpoint: '/applications.json', reason: 'network' };
  expect(value(healed, 'newrelic_exporter_api_failures_total', failures)).toBeGreaterThan(0);
});

test('a fleet that the budget cannot carry at once: scrapes do not wait in vain, and no minute has more calls', async () => {
  // Within a minute that lasts an hour, so that the budget is spent once.
  const clock = clockForTest({ standsStill: true });
  const simulator = await simulatorForTest({ applications: 40, hostsPerApplication: 1, now: clock.now });
  const limits = { requests_per_minute: 30 };
  const exporter = await exporterForTest({
    ...clock.program,
    config: { accounts: [account(simulator, 'default', { limits })], collection: { window: '5m' } },
  });
  await until('the budget to be spent', async () => {
    await exporter.scrape('/metrics', 2);
    return simulator.requests.count() === 30 ? true : undefined;
  });
  // A scrape that waited for its deadline would not be back before this test is ended.
  const families = await exporter.scrape('/metrics', 120);
  expect(entities(families, 'missing')).toBeGreaterThan(0);
  expect(samplesOf(families, 'newrelic_application_info')).toHaveLength(40);
  const slowed = value(families, 'newrelic_exporter_effective_interval_seconds', { group: 'application_metrics' });
  expect(slowed).toBeGreaterThan(60);
  for (let scrape = 0; scrape < 10; scrape += 1) await exporter.scrape('/metrics', 2);
  expect(simulator.requests.count()).toBe(30);
  expect(simulator.requests.busiest()).toBe(30);
});
