import { expect, onTestFinished, test } from 'vitest';
import { samplesOf, value } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account } from './support/config.ts';
import { exporterForTest } from './support/forTest.ts';
import { Front } from './support/front.ts';
import { scrapeUntilFresh } from './support/states.ts';

/** A call that hangs does so for longer than any test: what is answered meanwhile did not wait for it. */
const HANGING = { request_timeout: '10m', max_retries: 0 };

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
