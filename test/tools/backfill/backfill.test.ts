import { afterAll, describe, expect, it } from 'vitest';
import { INTERFACE_DEFAULTS } from '../../../src/config/interfaces.ts';
import { accountConfig, config } from '../../collect/support/config.ts';
import { simulatorForFile, simulatorForTest } from '../../support/simulator.ts';
import { publishedAt } from './asTheExporter.ts';
import { readDocument, valuesAt } from './readDocument.ts';
import { isoTime, minutesAgo, NOW, openSession, runOn } from './support.ts';

const DAY = 24 * 60;

const EXACT = { nrqlSnapping: true, rounding: false };
const simulator = await simulatorForFile({ ...EXACT, now: () => NOW, hostMetrics: 'all', hostsPerApplication: 1 });

/** Every value relative 1e-9, and no series more or less. */
function expectSame(found: ReadonlyMap<string, number>, expected: ReadonlyMap<string, number>): void {
  expect([...found.keys()].sort()).toEqual([...expected.keys()].sort());
  for (const [key, value] of expected) {
    const error = Math.abs(found.get(key)! - value);
    if (error > 1e-9 * Math.abs(value) + 1e-15) expect({ key, value: found.get(key) }).toEqual({ key, value });
  }
}

describe.each(['rest', 'nerdgraph'] as const)('over %s', (api) => {
  const ofInterface = { api, api_key_header: INTERFACE_DEFAULTS[api].api_key_header };
  const ofAccount = config(accountConfig({ ...ofInterface, labels: { team: 'a "b"' } }));
  const session = openSession(simulator, { config: ofAccount }, afterAll);

  it('reports that there is no data where no application reported', async () => {
    const wish = { from: isoTime(minutesAgo(30)), to: isoTime(minutesAgo(2)), app: ['1000013'] };
    const { document, notes } = await runOn(session, wish);
    expect(document).toBe('# EOF\n');
    expect(notes.join()).toContain('There was no data in this range');
  });

  describe('a backfilled range', () => {
    it.each([
      // Four hours take two calls for each, and a window lies across the two; a few applications show it.
      { window: 1_800_000, seconds: 1800, from: minutesAgo(240), times: [minutesAgo(80), minutesAgo(2)], most: 2 },
      { window: 60_000, seconds: 60, from: minutesAgo(20), times: [minutesAgo(19), minutesAgo(2)], most: 5 },
    ])(
      'has the values of the running exporter at the same minutes, with windows of $seconds s',
      async ({ window, seconds, from, times, most }) => {
        const to = minutesAgo(2);
        const account = session.accounts[0]!;
        const listed = await account.reader.listApplications({}, account.call);
        const applications = listed.filter(({ reporting }) => reporting === true).slice(0, most);
        const apps = applications.map(({ id }) => String(id));
        const wish = { from: isoTime(from), to: isoTime(to), window, hosts: true, app: apps };
        const series = readDocument((await runOn(session, wish)).document);
        for (const time of times) {
          const found = valuesAt(series, time);
          const expected = new Map<string, number>();
          for (const application of applications) {
            const published = await publishedAt(account, application, { time, window: seconds, range: [from, to] });
            for (const [key, value] of published) expected.set(key, value);
          }
          expectSame(found, expected);
          expect(found.size).toBeGreaterThan(apps.length * 25);
        }
      },
    );

    it('has a sample per minute after --from, up to and including --to', async () => {
      const [from, to] = [minutesAgo(70), minutesAgo(10)];
      const { document } = await runOn(session, { from: isoTime(from), to: isoTime(to), app: ['Storefront'] });
      const times = Array.from({ length: 60 }, (_, index) => from + (index + 1) * 60);
      const series = readDocument(document);
      expect(series.size).toBeGreaterThan(20);
      for (const [key, points] of series) expect([key, [...points.keys()]]).toEqual([key, times]);
    });
  });

  describe('the range of a backfill', () => {
    it('covers applications only without --hosts, and only named applications with --app', async () => {
      const id = simulator.world.applications()[1]!.id;
      const app = ['Storefront', String(id)];
      const { document } = await runOn(session, { from: '12m', app });
      const keys = [...readDocument(document).keys()];
      expect(keys.filter((key) => key.includes('host_id='))).toEqual([]);
      expect(new Set(keys.map((key) => /app_id="(\d+)"/.exec(key)?.[1])).size).toBe(2);
    });

    it('has the labels of --label after the static labels of the account', async () => {
      const { document } = await runOn(session, { from: '12m', app: ['Storefront'], label: { job: 'newrelic' } });
      for (const key of readDocument(document).keys()) expect(key).toContain('team="a \\"b\\"",job="newrelic"');
    });

    it('skips queries, and says so once', async () => {
      const metrics = [{ name: 'shop_orders', help: 'Orders', value: 'count', scale: 1 }];
      const nrql = 'SELECT count(*) FROM Transaction';
      const queries = [{ name: 'orders', nrql, metrics, interval: 60_000, max_series: 10 }];
      const withQueries = { ...session, config: config(accountConfig({ ...ofInterface, queries })) };
      const { document, notes } = await runOn(withQueries, { from: '5m', app: ['Storefront'] });
      expect(notes.filter((note) => note.startsWith('Skipping queries'))).toHaveLength(1);
      const counting = { ...session, config: config(accountConfig({ ...ofInterface, counters: true })) };
      const said = (await runOn(counting, { from: '5m', app: ['Storefront'] })).notes;
      expect(said.filter((note) => note.startsWith('Skipping counters'))).toHaveLength(1);
      expect(document).not.toContain('shop_orders');
    });

    it('is refused when --label names a label of the account', async () => {
      const wish = { from: '12m', label: { team: 'x' } };
      await expect(runOn(session, wish)).rejects.toThrow('--label team: account main has a label of that name');
    });

    it('is refused when no application has the name', async () => {
      await expect(runOn(session, { from: '12m', app: ['Nowhere'] })).rejects.toThrow('the id or name "Nowhere"');
    });
  });

  describe('times older than 8 days', () => {
    it('give a sample per hour, each with its timeslice as window, until minutes are available', async () => {
      const from = minutesAgo(9 * DAY);
      const to = minutesAgo(8 * DAY - 240);
      const wish = { from: isoTime(from), to: isoTime(to), app: ['Storefront'] };
      const { document, notes } = await runOn(session, wish);
      const requests = [...readDocument(document)].find(([key]) =>
        key.startsWith('newrelic_application_web_requests_'),
      )!;
      const times = [...requests[1].keys()];
      const gaps = times.slice(1).map((time, index) => time - times[index]!);
      const firstMinute = gaps.indexOf(60);
      expect(firstMinute).toBeGreaterThan(20);
      expect(new Set(gaps.slice(0, firstMinute))).toEqual(new Set([3600]));
      expect(new Set(gaps.slice(firstMinute))).toEqual(new Set([60]));
      expect(times.at(-1)).toBe(to);
      expect(times[0]).toBe(from + 3600);
      expect(notes.join()).toMatch(
        /a sample per hour, .* no minutes for longer than 8 days, and from .* a sample per minute/,
      );

      const account = session.accounts[0]!;
      const application = (await account.reader.listApplications({}, account.call)).find(
        ({ name }) => name === 'Storefront',
      )!;
      const series = readDocument(document);
      for (const [time, window] of [
        [times[0]!, 3600],
        [times[firstMinute]!, 3600],
        [times[firstMinute + 1]!, 300],
      ] as const) {
        const published = await publishedAt(account, application, { time, window, range: [from, to] });
        const ofApplication = [...published].filter(([key]) => !key.includes('host_id='));
        expectSame(valuesAt(series, time), new Map(ofApplication));
      }
    });

    it('are refused where no complete hour ends between --from and --to', async () => {
      const hour = Math.floor(minutesAgo(10 * DAY) / 3600) * 3600;
      const wish = { from: isoTime(hour + 600), to: isoTime(hour + 1800) };
      await expect(runOn(session, wish)).rejects.toThrow('keeps only hours');
    });
  });

  describe('an application that stopped reporting', () => {
    it('has no series in windows without its data', async () => {
      let now = minutesAgo(60) * 1000;
      const silent = await simulatorForTest({ ...EXACT, now: () => now, applications: 1 });
      const silentSession = openSession(silent, { config: config(accountConfig(ofInterface)) });
      const { id } = silent.world.applications()[0]!;
      silent.change(id, { reporting: false });
      now = NOW;
      const { document } = await runOn(silentSession, { from: isoTime(minutesAgo(100)), app: [String(id)] });
      const series = [...readDocument(document)];
      const latest = Math.max(...series.flatMap(([, points]) => [...points.keys()]));
      expect(latest).toBe(minutesAgo(60) + 4 * 60);
      const memory = series.find(([key]) => key.startsWith('newrelic_application_memory_used_bytes'))![1];
      expect(Math.min(...memory.values())).toBeGreaterThan(1e6);
    });
  });
});
