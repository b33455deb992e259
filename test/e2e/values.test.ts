import { expect, test } from 'vitest';
import { z } from 'zod';
import { DEMO_API_KEY } from '../../src/simulator/settings.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { lint } from '../support/expositionLint.ts';
import type { ParsedFamily } from '../support/exposition.ts';
import { account, delayUntilNextWindow } from './support/config.ts';
import { differences, SeriesMap } from './support/expectedSeries.ts';
import { expectWorld, type Health } from './support/expectedWorld.ts';
import { startExporter } from './support/program.ts';
import { scrapeUntilFresh } from './support/states.ts';

const RELATIVE_ERROR = 1e-9;
const OURS = /^newrelic_(application|host|instance|key_transaction)_/;
const records = z.array(z.object({ id: z.number(), health_status: z.string().optional() }));

/** What the upstream bodies say of every entity's health. */
async function healthOf(simulator: Simulator): Promise<Health> {
  const read = async (path: string, envelope: string): Promise<[number, string][]> => {
    const answer = await fetch(`${simulator.url}/v2/${path}.json`, {
      headers: { Accept: 'application/json', 'X-Api-Key': DEMO_API_KEY },
    });
    const body = z.looseObject({ [envelope]: records }).parse(await answer.json());
    const list = records.parse(body[envelope]);
    return list.flatMap(({ id, health_status: status }) => (status === undefined ? [] : [[id, status]]));
  };
  const parts = simulator.world
    .applications()
    .flatMap(({ id }) => [
      read(`applications/${id}/hosts`, 'application_hosts'),
      read(`applications/${id}/instances`, 'application_instances'),
    ]);
  const lists = [read('applications', 'applications'), read('key_transactions', 'key_transactions'), ...parts];
  return new Map((await Promise.all(lists)).flat());
}

function seriesOf(families: readonly ParsedFamily[]): SeriesMap {
  const series = new SeriesMap();
  for (const { name, samples } of families) {
    if (OURS.test(name)) for (const sample of samples) series.add(sample.name, sample.labels, sample.value);
  }
  return series;
}

test.each([
  { seed: 1, hostMetrics: 'documented', hosts: 2 },
  { seed: 20, hostMetrics: 'all', hosts: 3 },
] as const)(
  'every series has the value that the world gives, and there is no other one: seed $seed, host metrics $hostMetrics',
  async ({ seed, hostMetrics, hosts }) => {
    const now = Date.now();
    const simulator = await startSimulator({
      seed,
      hostMetrics,
      hostsPerApplication: hosts,
      keyTransactions: 17,
      rounding: false,
      now: () => now,
    });
    const collection = { delay: delayUntilNextWindow(58) };
    const exporter = await startExporter({
      config: { accounts: [account(simulator, 'default', { instances: true })], collection },
    });
    try {
      const families = await scrapeUntilFresh(exporter);
      const ranges = simulator.requests.ranges();
      expect(ranges).toHaveLength(1);
      const [from, to] = [Date.parse(ranges[0]?.from ?? ''), Date.parse(ranges[0]?.to ?? '')];
      expect(to - from).toBe(30 * 60_000);
      const window = { from: from / 60_000, to: to / 60_000 };
      const health = await healthOf(simulator);

      const actual = seriesOf(families);
      const expected = expectWorld(simulator.world, { now, window, health });
      expect(differences(expected, actual, RELATIVE_ERROR)).toEqual([]);
      expect(expected.keys().length).toBeGreaterThan(1_800);
      expect(lint(families)).toEqual([]);
      process.stderr.write(`values: ${expected.keys().length} series compared (seed ${seed}, ${hostMetrics})\n`);
    } finally {
      await exporter.stop();
      await simulator.close();
    }
  },
);
