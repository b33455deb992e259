import { expect, onTestFinished, test } from 'vitest';
import { samplesOf, value } from '../support/exposition.ts';
import { lint } from '../support/expositionLint.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account } from './support/config.ts';
import { clockForTest, exporterForTest } from './support/forTest.ts';
import { Front } from './support/front.ts';
import { entities, scrapeUntil, scrapeUntilFresh } from './support/states.ts';

const MEMORY = 'newrelic_application_memory_used_bytes';
/** A call that hangs does so for longer than any test: what is answered meanwhile did not wait for it. */
const HANGING = { request_timeout: '10m', max_retries: 0 };

// Every fault and its reason: test/api. What a failed read is to values, states and success: test/collect.
test('the exporter answers scrapes in time while calls hang, keeps values while calls fail, and recovers without a restart', async () => {
  const clock = clockForTest();
  const simulator = await simulatorForTest({ applications: 2, now: clock.now });
  const front = await Front.open(Number(new URL(simulator.url).port));
  onTestFinished(() => front.close());
  simulator.faults.add({ effect: 'hang' });
  const upstream = { url: `http://127.0.0.1:${front.port}/v2` };
  const exporter = await exporterForTest({
    ...clock.program,
    config: { accounts: [account(upstream, 'default', { limits: HANGING })] },
  });
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
  await scrapeUntil(exporter, 'a failed call', (families) => {
    const failures = { endpoint: '/applications.json', reason: 'network' };
    return (value(families, 'newrelic_exporter_api_failures_total', failures) ?? 0) > 0;
  });
  // The pause after a failure is over.
  clock.minutesLater(1);
  const healed = await scrapeUntilFresh(exporter);
  expect(value(healed, 'newrelic_up')).toBe(1);

  simulator.faults.add({ effect: 'status', status: 500, on: 'metric_data' });
  clock.minutesLater(1);
  const held = await scrapeUntil(exporter, 'failed calls', (families) => entities(families, 'stale') > 0);
  expect(value(held, 'newrelic_exporter_collection_success', { group: 'application_metrics' })).toBe(0);
  expect(samplesOf(held, MEMORY)).toEqual(samplesOf(healed, MEMORY));
  expect((await exporter.get('/-/healthy')).status).toBe(200);
  simulator.faults.clear();
  clock.minutesLater(1);
  expect(lint(await scrapeUntilFresh(exporter))).toEqual([]);
  expect(exporter.output()).not.toMatch(/unhandled|uncaught|Unexpected error|could not be answered/i);
});
