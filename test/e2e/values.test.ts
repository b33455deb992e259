import { expect, test } from 'vitest';
import { lint } from '../support/expositionLint.ts';
import { value, type ParsedFamily } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account, nerdGraphAccount } from './support/config.ts';
import { expectNerdGraph } from './support/expectedNerdGraph.ts';
import { differences, SeriesMap } from './support/expectedSeries.ts';
import { expectWorld } from './support/expectedWorld.ts';
import { exporterForTest } from './support/forTest.ts';
import { SAME_WINDOW } from './support/movedClock.ts';
import { scrapeUntilFresh } from './support/states.ts';

const RELATIVE_ERROR = 1e-9;
const WORLD = { seed: 20, hostsPerApplication: 3 };
const OURS = /^newrelic_(application|host|instance|key_transaction)_/;

function seriesOf(families: readonly ParsedFamily[]): SeriesMap {
  const series = new SeriesMap();
  for (const { name, samples } of families) {
    if (OURS.test(name)) for (const sample of samples) series.add(sample.name, sample.labels, sample.value);
  }
  return series;
}

test.each(['documented', 'all'] as const)(
  'every series has the value that the world gives, and there is no other one: host metrics %s',
  async (hostMetrics) => {
    const now = Date.now();
    const simulator = await simulatorForTest({
      ...WORLD,
      hostMetrics,
      keyTransactions: 17,
      rounding: false,
      now: () => now,
    });
    const exporter = await exporterForTest({
      ...SAME_WINDOW,
      config: { accounts: [account(simulator, 'default', { instances: true })] },
    });
    const families = await scrapeUntilFresh(exporter);
    const ranges = simulator.requests.ranges();
    expect(ranges).toHaveLength(1);
    const [from, to] = [Date.parse(ranges[0]?.from ?? ''), Date.parse(ranges[0]?.to ?? '')];
    expect(to - from).toBe(5 * 60_000);
    const window = { from: from / 60_000, to: to / 60_000 };

    const actual = seriesOf(families);
    const expected = expectWorld(simulator.world, { now, window });
    expect(differences(expected, actual, RELATIVE_ERROR)).toEqual([]);
    expect(expected.keys().length).toBeGreaterThan(1_800);
    expect(lint(families)).toEqual([]);
    process.stderr.write(`values: ${expected.keys().length} series compared (host metrics ${hostMetrics})\n`);
  },
);

test('every series of an account that is read through NerdGraph has the value that the world gives', async () => {
  const now = Date.now();
  const simulator = await simulatorForTest({
    ...WORLD,
    nrqlSnapping: true,
    keyTransactions: 17,
    now: () => now,
  });
  const exporter = await exporterForTest({
    ...SAME_WINDOW,
    config: { accounts: [nerdGraphAccount(simulator)] },
  });
  const families = await scrapeUntilFresh(exporter);
  const to = (value(families, 'newrelic_exporter_window_end_timestamp_seconds') ?? NaN) / 60;
  const expected = expectNerdGraph(simulator.world, { now, window: { from: to - 5, to } });
  expect(differences(expected, seriesOf(families), RELATIVE_ERROR)).toEqual([]);
  expect(expected.keys().length).toBeGreaterThan(1_300);
  expect(lint(families)).toEqual([]);
  process.stderr.write(`values: ${expected.keys().length} series compared (NerdGraph)\n`);
});

/** Families about a window, which both interfaces have. */
const WINDOW =
  /^newrelic_(application|host)_(?!rolling|end_user_rolling|info|reporting|health|last|hosts|instances|settings|real|server)/;
/** Two of its hosts have one name, so NerdGraph has one host where REST has two. */
const SHARED_NAME = 'search-6-01';
/** What only one interface has, by the rules of docs/nerdgraph.md: series that are 0, or a threshold. */
const ONLY_REST = /_(component_(time_seconds|calls_per_second)|apdex_(requests|threshold_seconds))$/;
const ONLY_NERDGRAPH = /_(web_requests_per_second|non_web_requests_per_second|error_ratio|errors_per_second)$/;

/** The series of one account without what tells accounts and hosts of one name apart. */
function windowSeries(families: readonly ParsedFamily[], accountName: string): SeriesMap {
  const series = new SeriesMap();
  for (const { samples } of families.filter(({ name }) => WINDOW.test(name))) {
    for (const { name, labels, value: found } of samples) {
      if (labels['account'] !== accountName || labels['host'] === SHARED_NAME) continue;
      series.add(name, { ...labels, account: '', host_id: '' }, found);
    }
  }
  return series;
}

test('one process reads one world through both interfaces and publishes the same numbers', async () => {
  const now = Date.now();
  const simulator = await simulatorForTest({ ...WORLD, hostMetrics: 'all', now: () => now });
  const exporter = await exporterForTest({
    ...SAME_WINDOW,
    config: {
      accounts: [account(simulator, 'rest'), nerdGraphAccount(simulator, 'nerdgraph')],
      collection: { raw_values: true },
    },
  });
  const families = await scrapeUntilFresh(exporter);
  const [rest, nerdGraph] = [windowSeries(families, 'rest'), windowSeries(families, 'nerdgraph')];
  const both = rest.keys().filter((key) => nerdGraph.get(key) !== undefined);
  const apart = both.map((key) => {
    const [a = NaN, b = NaN] = [rest.get(key), nerdGraph.get(key)];
    return { key, relative: a === b ? 0 : Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b)) };
  });
  expect(apart.filter(({ relative }) => !(relative <= RELATIVE_ERROR))).toEqual([]);
  expect(both.length).toBeGreaterThan(600);
  const alone = (one: SeriesMap, other: SeriesMap, expected: RegExp): string[] =>
    one
      .keys()
      .filter((key) => other.get(key) === undefined)
      .filter((key) => !expected.test(key.split('{')[0] ?? '') || (one.get(key) !== 0 && !key.includes('threshold')));
  expect(alone(rest, nerdGraph, ONLY_REST)).toEqual([]);
  expect(alone(nerdGraph, rest, ONLY_NERDGRAPH)).toEqual([]);
  const most = Math.max(...apart.map(({ relative }) => relative));
  process.stderr.write(`parity: ${both.length} series, at most ${most} apart\n`);
});
