import { expect } from 'vitest';
import { samplesOf, value } from '../../support/exposition.ts';
import { simulatorForTest } from '../../support/simulator.ts';
import { nerdGraphAccount } from './config.ts';
import { scrapeUntilFresh } from './states.ts';
import { clockForTest, exporterForTest } from './forTest.ts';

const WINDOW_END = 'newrelic_exporter_window_end_timestamp_seconds';

/** How many minutes each window is after the one before; in the last, hosts are read again. */
const MINUTES = [0, 1, 4];

/** Expects that a fleet is fresh every minute, over NerdGraph, with at most a number of calls. */
export async function expectCalls(fleet: {
  readonly applications: number;
  readonly hosts: number;
  /** The most calls of the first refresh, and of any later one. */
  readonly first: number;
  readonly steady: number;
}): Promise<void> {
  const { applications, hosts, first, steady } = fleet;
  const clock = clockForTest({ standsStill: true, speed: 0.05 });
  const simulator = await simulatorForTest({
    nrqlSnapping: true,
    applications,
    hostsPerApplication: hosts,
    now: clock.now,
  });
  const exporter = await exporterForTest({
    ...clock.program,
    config: { accounts: [nerdGraphAccount(simulator)] },
  });
  const reporting = simulator.world.applications().filter(({ archetype }) => archetype.reporting);
  const names = reporting.map(({ archetype }) => (archetype.hostsShareOneName ? 1 : hosts));
  const expected = {
    applications: reporting.length,
    hosts: names.reduce((sum, count) => sum + count, 0),
  };
  const calls: number[] = [];
  const windowEnds = new Set<number | undefined>();
  for (const [window, minutes] of MINUTES.entries()) {
    if (minutes > 0) clock.minutesLater(minutes);
    const before = simulator.requests.count();
    await scrapeUntilFresh(exporter, 120_000);
    calls.push(simulator.requests.count() - before);
    // An exposition in which the last entities arrived while it was written may lack their series: the next one has them.
    const families = await exporter.scrape();
    windowEnds.add(value(families, WINDOW_END));
    const ends = new Set(
      samplesOf(families, 'newrelic_exporter_oldest_window_end_timestamp_seconds')
        .filter(({ labels }) => labels['group'] !== 'hosts')
        .map((sample) => sample.value),
    );
    expect([...ends]).toEqual([value(families, WINDOW_END)]);
    expect({
      applications: samplesOf(families, 'newrelic_application_memory_used_bytes').length,
      hosts: samplesOf(families, 'newrelic_host_memory_used_bytes').length,
    }).toEqual(expected);
    expect(simulator.requests.count() - before).toBe(calls[window]);
  }
  process.stderr.write(
    `calls over NerdGraph: ${applications} applications, ${hosts} hosts each: ${calls.join(', ')}\n`,
  );
  expect(windowEnds.size).toBe(MINUTES.length);
  expect(calls[0]).toBeLessThanOrEqual(first);
  for (const count of calls.slice(1)) expect(count).toBeLessThanOrEqual(steady);
  expect(simulator.requests.maxConcurrency).toBeLessThanOrEqual(5);
}
