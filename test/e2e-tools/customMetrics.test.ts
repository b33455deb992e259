import { afterAll, describe, expect, it } from 'vitest';
import type { ParsedFamily } from '../support/exposition.ts';
import { samplesOf, value } from '../support/exposition.ts';
import { account } from '../e2e/support/config.ts';
import { SAME_WINDOW } from '../e2e/support/movedClock.ts';
import { startExporter } from '../e2e/support/program.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { simulatorForFile } from '../support/simulator.ts';

const DEPTH = { help: 'Jobs waiting', match: 'Custom/Queue/{queue}/depth', value: 'average_value' };
const CUSTOM = [
  { ...DEPTH, name: 'custom_queue_depth' },
  { ...DEPTH, name: 'custom_queue_depth_of_host', scope: 'host' },
  { ...DEPTH, name: 'custom_few', match: 'Custom/Queue/{queue}/**', max_series: 1 },
  { ...DEPTH, name: 'custom_few_of_hosts', scope: 'host', max_series: 2 },
  { ...DEPTH, name: 'custom_gauge', match: 'Custom/{what}/Größe' },
  { ...DEPTH, name: 'custom_percent', match: 'Datastore/{store}/allWeb', value: 'call_count' },
  { ...DEPTH, name: 'custom_no_such_value', value: 'nonsense_value' },
  { ...DEPTH, name: 'custom_no_such_metric', match: 'Custom/Nothing/{what}' },
];

const QUEUES = ['invoices', 'mail', 'with "quotes" and \\'];

const simulator = await simulatorForFile({ applications: 16, hostsPerApplication: 2, hostMetrics: 'all' });
const applications = { include: [1000001, 1000011, 1000015].map((id) => ({ id })) };
const accounts = [account(simulator, 'default', { applications, custom_metrics: CUSTOM })];
const exporter = await startExporter({ ...SAME_WINDOW, config: { accounts } });
afterAll(() => exporter.stop());
const families = await scrapeUntilFresh(exporter);

function labelled(family: string, appId: string, label: string): (string | undefined)[] {
  return samplesOf(families, family, { app_id: appId }).map(({ labels }) => labels[label]);
}

describe('custom metrics', () => {
  it('turn captures into labels, besides the labels of the application', () => {
    expect(labelled('custom_queue_depth', '1000001', 'queue').toSorted()).toEqual(QUEUES);
    const [sample] = samplesOf(families, 'custom_queue_depth', { app_id: '1000001', queue: 'mail' });
    expect(sample?.labels).toEqual({ account: 'default', app: 'Storefront', app_id: '1000001', queue: 'mail' });
    expect(families.find(({ name }) => name === 'custom_queue_depth')?.help).toContain('Jobs waiting');
  });

  it('are read per host where the scope is hosts', () => {
    const samples = samplesOf(families, 'custom_queue_depth_of_host', { app_id: '1000001', queue: 'mail' });
    expect(samples).toHaveLength(2);
    expect(new Set(samples.map(({ labels }) => labels['host_id'])).size).toBe(2);
    expect(samplesOf(families, 'custom_queue_depth').every(({ labels }) => labels['host'] === undefined)).toBe(true);
  });

  it('accept names with brackets, bars, percent signs and letters outside ASCII', () => {
    expect(labelled('custom_gauge', '1000015', 'what')).toEqual(['Gauge[bytes|host] 100%']);
    expect(labelled('custom_percent', '1000015', 'store')).toEqual(['Odd [store] 50%']);
    expect(value(families, 'custom_gauge', { app_id: '1000015' })).toBeGreaterThan(0);
  });

  it('count the series that max_series drops once for each refresh; hosts share the cap of their application', async () => {
    expect(samplesOf(families, 'custom_few', { app_id: '1000001' })).toHaveLength(1);
    // The cap of 2 leaves each of the two hosts one of three queues.
    expect(samplesOf(families, 'custom_few_of_hosts', { app_id: '1000001' })).toHaveLength(2);
    const dropped = (scraped: readonly ParsedFamily[], family: string): number =>
      value(scraped, 'newrelic_exporter_series_dropped_total', { family }) ?? 0;
    for (const path of ['/metrics', '/probe?account=default&app_id=1000001']) {
      const ownMetrics = await exporter.scrape('/metrics?collect[]=exporter');
      expect([dropped(ownMetrics, 'custom_few'), dropped(ownMetrics, 'custom_few_of_hosts')]).toEqual([2, 4]);
      await exporter.scrape(path);
    }
    const ownMetrics = await exporter.scrape('/metrics?collect[]=exporter');
    expect([dropped(ownMetrics, 'custom_few'), dropped(ownMetrics, 'custom_few_of_hosts')]).toEqual([2, 4]);
  });

  it('need no metric data calls of their own, only a name list per filter and application', () => {
    const lists = simulator.requests
      .all()
      .filter(({ kind }) => kind === 'metric_names')
      .map(({ applicationId, query }) => `${applicationId} ${new URLSearchParams(query).get('name')}`);
    const filters = ['Custom/Queue/', 'Custom/Nothing/', 'Custom/', 'Datastore/'];
    const ofCustom = lists.filter((list) => !list.endsWith('/allWeb'));
    expect(new Set(ofCustom).size).toBe(ofCustom.length);
    expect(ofCustom).toContain('1000001 Custom/Queue/');
    expect(filters).toEqual(expect.arrayContaining(ofCustom.map((list) => list.slice('1000001 '.length))));
    expect(lists.filter((list) => list === '1000001 /allWeb')).toHaveLength(1);
    // Three applications and their six hosts, one call each.
    expect(simulator.requests.byKind['metric_data']).toBe(9);
    expect(simulator.requests.ranges()).toHaveLength(1);
  });

  it('can be selected alone with collect[]', async () => {
    const only = await exporter.scrape('/metrics?collect[]=custom_metrics');
    const names = only.map(({ name }) => name);
    expect(names).toContain('custom_queue_depth');
    expect(names.filter((name) => name.startsWith('newrelic_'))).toEqual([]);
    const without = await exporter.scrape('/metrics?collect[]=application_metrics');
    expect(without.filter(({ name }) => name.startsWith('custom_'))).toEqual([]);
  });

  it('have an interval for their names only, because their values come with the metric data', async () => {
    const status = JSON.parse(await exporter.text('/api/status')) as { accounts: { groups: { group: string }[] }[] };
    const group = status.accounts[0]?.groups.find((each) => each.group === 'custom_metrics');
    expect(group).toMatchObject({ interval_of: 'names', interval_seconds: 21_600, oldest_window_end: null });
    expect(await exporter.text('/')).toContain('custom_metrics (names)');
    const groups = samplesOf(families, 'newrelic_exporter_oldest_window_end_timestamp_seconds');
    expect(groups.map(({ labels }) => labels['group'])).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/custom_metrics|metric_names/)]),
    );
  });

  it('report on the status page a template that matches nothing, and an unknown value name', async () => {
    const page = await exporter.text('/');
    const status = JSON.parse(await exporter.text('/api/status')) as { accounts: { warnings: string[] }[] };
    expect(status.accounts[0]?.warnings.toSorted()).toEqual([
      'custom_metrics: "Custom/Nothing/{what}" (custom_no_such_metric) matches no metric of any application',
      expect.stringMatching(/^custom_metrics: New Relic has no value "nonsense_value" of .*\(custom_no_such_value\)/),
    ]);
    expect(page).toContain('(custom_no_such_metric) matches no metric of any application');
  });
});
