import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { simulatorForTest } from '../support/simulator.ts';
import { until } from '../real/support/until.ts';
import { account } from './support/config.ts';
import { clockForTest, exporterForTest } from './support/forTest.ts';

const PROBE = '/probe?account=default&app_id=1000001';
const VALUE = 'newrelic_application_response_time_seconds{';
/** Probes of 12 s, at five a second. */
const PROBES = 60;
const GAP_MS = 200;
/** Probes that may wait at once: far fewer than come in the 8 s that New Relic takes. */
const PLACES = 10;

test('300 probes a minute get values and no 503 while New Relic takes 8 s for a response', async () => {
  const clock = clockForTest();
  const simulator = await simulatorForTest({ applications: 2, now: clock.now });
  const exporter = await exporterForTest({
    ...clock.program,
    config: { accounts: [account(simulator, 'default', { hosts: false })] },
    flags: [`--web.max-requests=${PLACES}`],
  });
  await until('the first values', async () => (await exporter.text(PROBE)).includes(VALUE));
  simulator.faults.add({ effect: 'delay', on: 'metric_data', milliseconds: 8_000 });
  clock.minutesLater(1);

  let answered = 0;
  let answeredBeforeFirst: number | undefined;
  const probe = async (isFirst: boolean): Promise<void> => {
    const response = await exporter.get(PROBE);
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toContain(VALUE);
    if (isFirst) answeredBeforeFirst = answered;
    answered += 1;
  };
  const probes: Promise<void>[] = [];
  for (let sent = 0; sent < PROBES; sent += 1) {
    probes.push(probe(sent === 0));
    await pause(GAP_MS);
  }
  await Promise.all(probes);
  expect(answered).toBe(PROBES);
  // Only the probes of the first places wait for New Relic; others have their answer before it.
  expect(answeredBeforeFirst).toBeGreaterThanOrEqual(PLACES);
});
