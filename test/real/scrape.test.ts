import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import {
  dashboardExpressions,
  substitute,
  variableExpression,
  variableQueries,
} from '../../monitoring/dashboards/src/expressions.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { ACCOUNT_ID, accountBy } from '../e2e/support/config.ts';
import { MovedClock } from '../e2e/support/movedClock.ts';
import { startExporter, type Exporter } from '../e2e/support/program.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { parseOpenMetrics, type ParsedFamily } from '../support/exposition.ts';
import { run } from './support/processes.ts';
import { INTERFACE_OF, REST_ONLY } from './incidents/fleet.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { startPrometheus, type PrometheusServer } from './support/servers.ts';
import { quickRecordingRules, quickRules, quickServiceLevels } from './support/rules.ts';
import { until } from './support/until.ts';

const OPENMETRICS = 'application/openmetrics-text;version=1.0.0';
const OURS =
  /^newrelic_(application|host|instance|key_transaction|alert_events|browser|deployment|entity|ext|infra|limit|service_level|synthetics|transaction|usage)_/;
/** The families of the shipped packs, one of each. */
const OF_PACKS = [
  'newrelic_alert_events_open',
  'newrelic_browser_page_views',
  'newrelic_deployment_timestamp_seconds',
  'newrelic_limit_used_per_minute',
  'newrelic_service_level_compliance_ratio',
  'newrelic_synthetics_checks',
  'newrelic_transaction_duration_seconds',
  'newrelic_usage_ingested_bytes',
];
const PACKS = [
  'alert_events',
  'browser',
  'deployments',
  'limits',
  'service_levels',
  'synthetics',
  'transactions',
  'usage',
];

/** Types of entities, each with the family of one of its golden metrics. */
const ENTITY_TYPES = {
  'EXT-SERVICE': 'newrelic_ext_service_response_time_ms',
  'BROWSER-APPLICATION': 'newrelic_browser_application_largest_contentful_paint75_percentile_s',
  'INFRA-HOST': 'newrelic_infra_host_cpu_usage',
};

/** The scrape job of deploy/prometheus/prometheus.yaml for the exporter at this port, at another interval. */
function configOf(port: number, interval: string, labels: Readonly<Record<string, string>> = {}): string {
  const shipped = readFileSync(new URL('../../deploy/prometheus/prometheus.yaml', import.meta.url), 'utf8');
  const job = SHIPPED.parse(parse(shipped)).scrape_configs[0];
  return stringify({
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: '1s' },
    rule_files: ['*.rules.yaml'],
    scrape_configs: [
      { ...job, scrape_timeout: interval, static_configs: [{ targets: [`127.0.0.1:${port}`], labels }] },
    ],
  });
}

const SHIPPED = z.object({ scrape_configs: z.array(z.looseObject({ job_name: z.string() })).min(1) });

/** Target labels named like labels of ours. */
const THEIRS = { zone: 'eu-1', app: 'monitoring', host: 'scraper', port: '9126', endpoint: 'http' };
/** An application that fails a tenth of its requests. */
const FAILING = 1_000_001;

await describeReal('a real Prometheus that scrapes the exporter', {
  tools: ['prometheus', 'promtool'],
  lines: BOTH_LINES,
  define: (program, line) => {
    const by = INTERFACE_OF[line];
    // One exporter and two servers for all tests of an interface. The time of the exporter stands still until a test moves
    // it on, so that no window ends in between.
    describe(by, () => {
      const clock = new MovedClock({ standsStill: true });
      let simulator: Simulator;
      let exporter: Exporter;
      let plain: PrometheusServer;
      let labelled: PrometheusServer;
      let families: readonly ParsedFamily[];
      let calls: number;

      beforeAll(async () => {
        simulator = await startSimulator({ applications: 16, rounding: false, hostMetrics: 'all', now: clock.now });
        const traffic = { requests_per_minute: 600, response_milliseconds: 100, errors_per_minute: 60 };
        simulator.change(FAILING, { traffic: { ...traffic, background_per_minute: 0 } });
        exporter = await startExporter({
          ...clock.program,
          config: {
            accounts: [
              accountBy(by, simulator, {
                account_id: ACCOUNT_ID,
                query_packs: PACKS,
                entities: Object.keys(ENTITY_TYPES).map((type) => ({ type })),
                counters: true,
                instances: by === 'rest',
              }),
            ],
          },
        });
        families = await scrapeUntilFresh(exporter);
        calls = simulator.requests.count();
        const recording = { 'recording.rules.yaml': quickRecordingRules() };
        plain = await startPrometheus(program('prometheus'), {
          config: configOf(exporter.port, '2s'),
          files: { ...recording, 'slo.rules.yaml': quickServiceLevels() },
        });
        labelled = await startPrometheus(program('prometheus'), {
          config: configOf(exporter.port, '2s', THEIRS),
          files: { ...recording, 'alerts.rules.yaml': quickRules() },
        });
      }, 300_000);

      afterAll(async () => {
        await Promise.all([plain, labelled].map((server) => server.stop()));
        await exporter.stop();
        await simulator.close();
        clock.close();
      });

      test('promtool finds nothing to complain about', async () => {
        const input = await exporter.text('/metrics');
        const check = await run(program('promtool'), ['check', 'metrics'], { input });
        // Golden metrics keep the units of New Relic's names, so the unit rule is no fault for their families.
        const unit =
          /^newrelic_(ext_service|browser_application|infra_host)_\w+ metric names should not contain abbreviated units$/;
        const problems = check.stderr.split('\n').filter((line) => line !== '' && !unit.test(line));
        expect([check.stdout, problems]).toEqual(['', []]);
      });

      test('every series is queried back with its value, and the servers cause no call', async () => {
        const inOpenMetrics = parseOpenMetrics(await exporter.text('/metrics', { Accept: OPENMETRICS }));
        const names = inOpenMetrics.map(({ name }) => name).filter((name) => OURS.test(name));
        const ours = families.filter(({ name }) => OURS.test(name));
        // OpenMetrics names a counter without the ending of its series.
        const inText = ours.map(({ name, type }) => (type === 'counter' ? name.replace(/_total$/, '') : name));
        expect(names.toSorted()).toEqual(inText.toSorted());
        const expected = [...OF_PACKS, ...Object.values(ENTITY_TYPES)];
        expect(expected.filter((name) => !names.includes(name))).toEqual([]);

        const samples = ours.flatMap((family) => family.samples);
        const found = await until('every series', async () => {
          const queried = await plain.query(`{__name__=~"${OURS.source.slice(1)}.+"}`);
          const byKey = queried.map(({ labels, value }) => [keyOf(labels['__name__'] ?? '', labels), value] as const);
          return byKey.length === samples.length ? new Map(byKey) : undefined;
        });
        expect(samples.filter((sample) => found.get(keyOf(sample.name, sample.labels)) !== sample.value)).toEqual([]);
        for (const [type, family] of Object.entries(ENTITY_TYPES)) {
          const joined = `${family} * on (account, entity_guid) group_left (entity_type) newrelic_entity_info`;
          const types = (await plain.query(joined)).map(({ labels }) => labels['entity_type']);
          expect(new Set(types)).toEqual(new Set([type]));
        }
        const metadata = z.record(z.string(), z.unknown()).parse(await plain.api('/api/v1/metadata?limit=10000'));
        expect(names.filter((name) => !Object.hasOwn(metadata, name))).toEqual([]);
        await until('the other server to have scraped', async () => (await labelled.query('newrelic_up'))[0]);
        expect(simulator.requests.count()).toBe(calls);
      });

      test('target labels named like ours change nothing: series, rules and alerts keep the labels of the exporter', async () => {
        const zones = await until('a scrape', async () => {
          const found = await labelled.query('count by (zone) (newrelic_application_apdex_requests)');
          return found.length > 0 ? found : undefined;
        });
        const names = zones.map(({ labels }) => labels['zone']);
        expect(names.toSorted()).toEqual(['frustrated', 'satisfied', 'tolerating']);
        // One query, so that one scrape answers it: what is theirs, beside what is ours.
        const named = 'label_replace({__name__=~"newrelic_.+", exported_app=~".+"}, "theirs", "exported", "", "")';
        const host = 'label_replace(newrelic_host_info{host="scraper"}, "theirs", "host", "", "")';
        const storefront = await until('the application', async () => {
          const all = await labelled.query(`${named} or ${host} or newrelic_application_info{app="Storefront"}`);
          return all.length > 0 ? all : undefined;
        });
        expect(storefront.map(({ labels }) => [labels['app'], labels['theirs']])).toEqual([['Storefront', undefined]]);
        const alert = await until('the alert', async () => {
          const name = `alertname="NewRelicApplicationErrorRatioHigh", app_id="${FAILING}"`;
          return (await labelled.query(`ALERTS{${name}, alertstate="firing"}`))[0];
        });
        expect(alert.labels['app']).toBe('Storefront');
        const recorded = await until('a recording rule', async () => {
          const mean = await labelled.query('account:newrelic_application_apdex_score:mean');
          return mean[0];
        });
        expect(recorded.value).toBeGreaterThan(0);
      });

      test('every expression of the dashboards and of their variables returns series', async () => {
        // The next window brings the calls that rates are made of.
        clock.minutesLater(1);
        const expressions = [
          ...dashboardExpressions().map(({ dashboard, panel, description, expression }) => ({
            of: `${dashboard}: ${panel}`,
            // The panel says why it is empty: it asks for a family that NerdGraph does not have, or no rule is evaluated.
            excused:
              (by === 'nerdgraph' && /empty for .*NerdGraph/i.test(description) && isRestOnly(expression)) ||
              (/empty while no alert/i.test(description) && expression.includes('ALERTS{')),
            text: substitute(expression),
          })),
          ...variableQueries().map((query) => ({
            of: `${query.dashboard}: $${query.variable}`,
            excused: false,
            text: substitute(variableExpression(query)),
          })),
        ];
        // What has returned something once need not do so again.
        let waiting = expressions.filter(({ excused }) => !excused);
        await until('every expression to return something', async () => {
          const answers = await Promise.all(
            waiting.map(async (each) => ({ each, series: await plain.query(each.text) })),
          );
          waiting = answers.flatMap(({ each, series }) => (series.length === 0 ? [each] : []));
          return waiting.length === 0 ? true : undefined;
        }).catch(() => expect(waiting.map(({ of, text }) => `${of}: ${text}`)).toEqual([]));
        expect(expressions.length).toBeGreaterThan(50);
        const excused = expressions.filter((each) => each.excused);
        expect(excused.some(({ text }) => isRestOnly(text))).toBe(by === 'nerdgraph');
        for (const { of, text } of excused) expect([of, await plain.query(text)]).toEqual([of, []]);
      });
    });
  },
});

await describeReal('a real Prometheus that does not wait for a collection', {
  tools: ['prometheus'],
  define: (program) => {
    test('a timeout shorter than the collection loses no scrape, and an application that is removed goes at once', async () => {
      const clock = new MovedClock({ standsStill: true });
      const simulator = await startSimulator({ applications: 16, now: clock.now });
      simulator.faults.add({ effect: 'delay', milliseconds: 1500, times: 40 });
      const exporter = await startExporter({
        ...clock.program,
        config: { accounts: [accountBy('rest', simulator)], collection: { scrape_timeout_offset: '9s' } },
      });
      const server = await startPrometheus(program('prometheus'), { config: configOf(exporter.port, '12s') });
      try {
        const removed = 'newrelic_application_info{app_id="1000003"}';
        await until('the application', async () => ((await server.query(removed)).length === 1 ? true : undefined));
        // A call in flight would seem to last a minute, and the exporter would slow down for such calls.
        await scrapeUntilFresh(exporter);
        simulator.change(1_000_003, { removed: true });
        clock.minutesLater(1);
        // The other one is there: the answer is one of a scrape that was read. Five minutes are how long Prometheus looks
        // back for a series that merely fails to come.
        await until('the application to be gone', async () => {
          const both = await server.query('newrelic_application_info{app_id=~"1000002|1000003"}');
          return both.length === 1 && both[0]?.labels['app_id'] === '1000002' ? true : undefined;
        });
        const partial = 'max_over_time(newrelic_exporter_scrapes_total{result="partial"}[5m]) > 0';
        expect(await server.query(partial)).toHaveLength(1);
        expect(await server.query('min_over_time(up[5m])')).toMatchObject([{ value: 1 }]);
      } finally {
        await server.stop();
        await exporter.stop();
        await simulator.close();
        clock.close();
      }
    });
  },
});

/** Whether an expression asks for a family that only an account read through the REST API has. */
function isRestOnly(expression: string): boolean {
  return (expression.match(/\bnewrelic_\w+/g) ?? []).some((family) => REST_ONLY.has(family));
}

/** Labels that Prometheus adds. */
const ADDED = new Set(['__name__', 'job', 'instance']);

/** Name and labels as the exporter wrote them; Prometheus keeps no label that is empty. */
function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).filter(([label, value]) => value !== '' && !ADDED.has(label));
  return JSON.stringify([name, pairs.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
