import { expect, test } from 'vitest';
import { lint } from '../support/expositionLint.ts';
import { value, type ParsedFamily } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { WINDOW_FAMILIES } from '../../src/metrics/windowFamilies.ts';
import type { Simulator } from '../../simulator/simulator.ts';
import { account, nerdGraphAccount } from './support/config.ts';
import { expectNerdGraph } from './support/expectedNerdGraph.ts';
import { differences, SeriesMap } from './support/expectedSeries.ts';
import { expectWorld } from './support/expectedWorld.ts';
import { exporterForTest } from './support/forTest.ts';
import { SAME_WINDOW } from './support/movedClock.ts';
import { scrapeUntilFresh } from './support/states.ts';

const RELATIVE_ERROR = 1e-9;
const WORLD = { seed: 20, hostsPerApplication: 3, keyTransactions: 17, rounding: false, nrqlSnapping: true };
const OURS = /^newrelic_(application|host|instance|key_transaction)_/;

const WINDOW = new Set([...WINDOW_FAMILIES.application, ...WINDOW_FAMILIES.host].map(({ name }) => name));

/**
 * The series of one account, as if its name were `default`. It leaves out window families of which the world is not asked: their
 * values are judged in test/metrics.
 */
function seriesOf(families: readonly ParsedFamily[], account: string, expected: SeriesMap): SeriesMap {
  const series = new SeriesMap();
  const asked = new Set(expected.keys().map((key) => key.replace(/\{.*/s, '')));
  const judged = families.filter(({ name }) => OURS.test(name) && (asked.has(name) || !WINDOW.has(name)));
  for (const { samples } of judged) {
    for (const { name, labels, value: found } of samples.filter(({ labels }) => labels['account'] === account))
      series.add(name, { ...labels, account: 'default' }, found);
  }
  return series;
}

/** Expects that an account which is read through REST has every series of the world, with its value, and no other one. */
function expectRest(simulator: Simulator, families: readonly ParsedFamily[], now: number): void {
  const ranges = simulator.requests.ranges();
  expect(ranges).toHaveLength(1);
  const [from, to] = [Date.parse(ranges[0]?.from ?? ''), Date.parse(ranges[0]?.to ?? '')];
  expect(to - from).toBe(5 * 60_000);
  const window = { from: from / 60_000, to: to / 60_000 };
  const expected = expectWorld(simulator.world, { now, window });
  expect(differences(expected, seriesOf(families, 'rest', expected), RELATIVE_ERROR)).toEqual([]);
  expect(expected.keys().length).toBeGreaterThan(1_800);
  expect(lint(families)).toEqual([]);
}

test('every series has the value of the simulated world, and there is no other series: REST, documented metrics of hosts', async () => {
  const now = Date.now();
  const simulator = await simulatorForTest({ ...WORLD, hostMetrics: 'documented', now: () => now });
  const config = { accounts: [account(simulator, 'rest', { instances: true })] };
  const exporter = await exporterForTest({ ...SAME_WINDOW, config });
  expectRest(simulator, await scrapeUntilFresh(exporter), now);
});

test('one process reads one simulated world through both interfaces and publishes the values that its agents reported', async () => {
  const now = Date.now();
  const simulator = await simulatorForTest({ ...WORLD, hostMetrics: 'all', now: () => now });
  const accounts = [account(simulator, 'rest', { instances: true }), nerdGraphAccount(simulator, 'nerdgraph')];
  const exporter = await exporterForTest({ ...SAME_WINDOW, config: { accounts, collection: { raw_values: true } } });
  const families = await scrapeUntilFresh(exporter);
  expectRest(simulator, families, now);
  const end = 'newrelic_exporter_window_end_timestamp_seconds';
  const to = (value(families, end, { account: 'nerdgraph' }) ?? NaN) / 60;
  const expected = expectNerdGraph(simulator.world, { now, window: { from: to - 5, to } });
  expect(differences(expected, seriesOf(families, 'nerdgraph', expected), RELATIVE_ERROR)).toEqual([]);
  expect(expected.keys().length).toBeGreaterThan(1_300);
});
