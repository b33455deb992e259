import { expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { samplesOf, value } from '../support/exposition.ts';
import { delayUntilNextWindow, nerdGraphAccount } from './support/config.ts';
import { expectNerdGraph } from './support/expectedNerdGraph.ts';
import { differences, SeriesMap } from './support/expectedSeries.ts';
import { ManyTypes } from './support/manyTypes.ts';
import { MovedClock } from './support/movedClock.ts';
import { startExporter } from './support/program.ts';
import { severitiesOf } from './support/severities.ts';
import { scrapeUntilFresh } from './support/states.ts';

const WINDOW_END = 'newrelic_exporter_window_end_timestamp_seconds';
const FLEETS = [
  { applications: 100, hosts: 10, first: 20, steady: 14 },
  { applications: 1_000, hosts: 5, first: 90, steady: 60 },
];

/** How many minutes each window is after the one before; in the last, hosts are read again. */
const MINUTES = [0, 1, 1, 4];

test.each(FLEETS)(
  '$applications applications with $hosts hosts each are all fresh every minute in at most $steady calls, the first in $first',
  async ({ applications, hosts, first, steady }) => {
    const clock = new MovedClock({ speed: 0.05 });
    const simulator = await startSimulator({
      nrqlSnapping: true,
      applications,
      hostsPerApplication: hosts,
      now: clock.now,
    });
    const exporter = await startExporter({
      ...clock.program,
      config: { accounts: [nerdGraphAccount(simulator)], collection: { delay: delayUntilNextWindow(59) } },
    });
    const reporting = simulator.world.applications().filter(({ archetype }) => archetype.reporting);
    const names = reporting.map(({ archetype }) => (archetype.hostsShareOneName ? 1 : hosts));
    const expected = {
      applications: reporting.length,
      hosts: names.reduce((sum, count) => sum + count, 0),
    };
    const calls: number[] = [];
    const windowEnds = new Set<number | undefined>();
    try {
      for (const [window, minutes] of MINUTES.entries()) {
        if (minutes > 0) clock.minutesLater(minutes);
        const before = simulator.requests.count();
        await scrapeUntilFresh(exporter, 120_000);
        calls.push(simulator.requests.count() - before);
        // An answer in which the last entities arrived while it was written may lack their series: the next one has them.
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
    } finally {
      await exporter.stop();
      await simulator.close();
      clock.close();
    }
  },
  300_000,
);

/** The components beside the database. */
const OTHERS = /component="(?:Memcache|External)"/;

test.each([
  { what: '600 hosts', hosts: 600, types: 1, truncate: 0 },
  { what: '60 hosts and 120 datastore types', hosts: 60, types: 120, truncate: 0 },
  { what: '40 hosts, while answers are cut', hosts: 40, types: 1, truncate: 3 },
])(
  'one application with $what is complete in spite of the limit of rows',
  async ({ hosts, types, truncate }) => {
    const now = Date.now();
    const simulator = await startSimulator({
      nrqlSnapping: true,
      applications: 1,
      hostsPerApplication: hosts,
      now: () => now,
    });
    if (truncate > 0) simulator.faults.add({ effect: 'truncate', on: 'graphql_nrql', times: truncate });
    const upstream = await ManyTypes.open(simulator.url, types);
    const exporter = await startExporter({
      config: { accounts: [nerdGraphAccount(upstream)], collection: { delay: delayUntilNextWindow(59) } },
    });
    try {
      const families = await scrapeUntilFresh(exporter, 50_000);
      const to = (value(families, WINDOW_END) ?? NaN) / 60;
      const severities = await severitiesOf(simulator);
      const expected = expectNerdGraph(simulator.world, { now, window: { from: to - 30, to }, severities });
      const actual = new SeriesMap();
      const components = { application: 0, host: 0 };
      for (const { name, samples } of families.filter(({ name: family }) =>
        /^newrelic_(application|host)_/.test(family),
      )) {
        for (const sample of samples) {
          if (types > 1 && /_(component_|total_time)/.test(name)) {
            if (/^newrelic_host_component_calls/.test(name)) components.host += 1;
            if (/^newrelic_application_component_calls/.test(name)) components.application += 1;
          } else actual.add(name, sample.labels, sample.value);
        }
      }
      const wrong = differences(expected, actual, 1e-9).filter(
        (line) => !line.includes('newrelic_key_transaction') && !(types > 1 && /_(component_|total_time)/.test(line)),
      );
      expect(wrong).toEqual([]);
      // At night some hosts of the simulated world call neither a cache nor another service.
      const others = (scope: string): number =>
        expected.keys().filter((key) => key.startsWith(`newrelic_${scope}_component_calls`) && OTHERS.test(key)).length;
      expect(others('host')).toBeGreaterThan(0);
      const all = { application: types + others('application'), host: hosts * types + others('host') };
      if (types > 1) expect(components).toEqual(all);
      const split = value(families, 'newrelic_exporter_api_batches_split_total', { reason: 'truncated' });
      // The types were seen before hosts were asked, so those parts were small enough from the start.
      if (truncate > 0) expect(split).toBeGreaterThan(0);
      expect(value(families, 'newrelic_exporter_collection_success', { group: 'host_metrics' })).toBe(1);
    } finally {
      await exporter.stop();
      await upstream.close();
      await simulator.close();
    }
  },
  90_000,
);

test('a probe asks for its application alone, and costs nothing where a scrape has read everything', async () => {
  const simulator = await startSimulator({ applications: 12 });
  const exporter = await startExporter({
    config: { accounts: [nerdGraphAccount(simulator)], collection: { delay: delayUntilNextWindow(58) } },
  });
  try {
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
  } finally {
    await exporter.stop();
    await simulator.close();
  }
});

/** The ids of the applications in the NRQL queries so far. */
function applicationsAsked(simulator: Simulator): string[] {
  const texts = simulator.requests
    .all('graphql_nrql')
    .flatMap(({ operations = [] }) => operations.map(({ text }) => text));
  return [...new Set(texts.flatMap((text) => [...text.matchAll(/\b10000\d\d\b/g)].map(([id]) => id)))].sort();
}
