import { expect, test } from 'vitest';
import { type Simulator } from '../../src/simulator/simulator.ts';
import { samplesOf, value } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { nerdGraphAccount } from './support/config.ts';
import { expectCalls } from './support/fleetCalls.ts';
import { exporterForTest } from './support/forTest.ts';
import { SAME_WINDOW } from './support/movedClock.ts';
import { scrapeUntilFresh } from './support/states.ts';

// A thousand applications: test/soak.
test('30 applications with 10 hosts each are all fresh every minute in at most 10 calls, the first in 12', () =>
  expectCalls({ applications: 30, hosts: 10, first: 12, steady: 10 }));

test('a probe asks for its application alone, and costs nothing where a scrape has read everything', async () => {
  const simulator = await simulatorForTest({ applications: 12 });
  const exporter = await exporterForTest({
    ...SAME_WINDOW,
    config: { accounts: [nerdGraphAccount(simulator)] },
  });
  const probe = await exporter.scrape('/probe?account=default&app_id=1000002');
  expect(value(probe, 'probe_success')).toBe(1);
  expect(new Set(samplesOf(probe, 'newrelic_application_info').map(({ labels }) => labels['app_id']))).toEqual(
    new Set(['1000002']),
  );
  expect(applicationsAsked(simulator)).toEqual(['1000002']);
  expect(simulator.requests.count('graphql_applications')).toBe(1);

  await scrapeUntilFresh(exporter);
  const calls = simulator.requests.count();
  const again = await exporter.scrape('/probe?account=default&app_id=1000003');
  expect(value(again, 'probe_success')).toBe(1);
  await exporter.scrape();
  await exporter.text('/probe?account=default&app_id=1000002&debug=true');
  await exporter.text('/api/status');
  await exporter.text('/');
  expect(simulator.requests.count()).toBe(calls);
  expect(new Set(simulator.requests.all().map(({ keyHeader }) => keyHeader))).toEqual(new Set(['Api-Key']));
});

/** The ids of the applications in the NRQL queries so far. */
function applicationsAsked(simulator: Simulator): string[] {
  const texts = simulator.requests
    .all('graphql_nrql')
    .flatMap(({ operations = [] }) => operations.map(({ text }) => text));
  return [...new Set(texts.flatMap((text) => [...text.matchAll(/\b10000\d\d\b/g)].map(([id]) => id)))].sort();
}
