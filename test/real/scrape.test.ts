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
import type { Simulator } from '../../simulator/simulator.ts';
import { startSimulator } from '../../simulator/simulator.ts';
import { ACCOUNT_ID, accountBy } from '../e2e/support/config.ts';
import { clockForTest, exporterForTest } from '../e2e/support/forTest.ts';
import { MovedClock } from '../e2e/support/movedClock.ts';
import { startExporter, type Exporter } from '../e2e/support/program.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { parseOpenMetrics, type ParsedFamily } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { run } from './support/processes.ts';
import { INTERFACE_OF, REST_ONLY } from './incidents/fleet.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { startPrometheus, type PrometheusServer } from './support/servers.ts';
import { quickRecordingRules, quickRules, quickServiceLevels } from './support/rules.ts';
import { until } from './support/until.ts';

const OPENMETRICS = 'application/openmetrics-text;version=1.0.0';
const OURS =
  /^newrelic_(application|host|instance|key_transaction|alert_events|browser|deployment|entity|ext|infra|limit|service_level|synthetics|transaction|usage)_/;
/** The shipped packs, each with one of its families. */
const PACKS = {
  alert_events: 'newrelic_alert_events_open',
  browser: 'newrelic_browser_page_views',
  deployments: 'newrelic_deployment_timestamp_seconds',
  limits: 'newrelic_limit_used_per_minute',
  service_levels: 'newrelic_service_level_compliance_ratio',
  synthetics: 'newrelic_synthetics_checks',
  transactions: 'newrelic_transaction_duration_seconds',
  usage: 'newrelic_usage_ingested_bytes',
};

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
                query_packs: Object.keys(PACKS),
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

      test('promtool reports no problem of the exposition', async () => {
        const input = await exporter.text('/metrics');
        const check = await run(program('promtool'), ['check', 'metrics'], { input });
        // Golden metrics keep the units of New Relic's names, so the unit rule is no fault for their families.
        const unit =
          /^newrelic_(ext_service|browser_application|infra_host)_\w+ metric names should not contain abbreviated units$/;
        const problems = check.stderr.split('\n').filter((line) => line !== '' && !unit.test(line));
        expect([check.stdout, problems]).toEqual(['', []]);
      });

      test('every series can be queried with its value, and scrapes within the window make no calls', async () => {
        const inOpenMetrics = parseOpenMetrics(await exporter.text('/metrics', { Accept: OPENMETRICS }));
        const names = inOpenMetrics.map(({ name }) => name).filter((name) => OURS.test(name));
        const ours = families.filter(({ name }) => OURS.test(name));
        // OpenMetrics names a counter without the ending of its series.
        const inText = ours.map(({ name, type }) => (type === 'counter' ? name.replace(/_total$/, '') : name));
        expect(names.toSorted()).toEqual(inText.toSorted());
        const expected = [...Object.values(PACKS), ...Object.values(ENTITY_TYPES)];
        expect(expected.filter((name) => !names.includes(name))).toEqual([]);

        const samples = ours.flatMap((family) => family.samples);
        const all = `{__name__=~"${OURS.source.slice(1)}.+"}`;
        const queried = await plain.some(`${all} and on () (count(${all}) == ${samples.length})`);
        const found = new Map(queried.map(({ labels, value }) => [keyOf(labels['__name__'] ?? '', labels), value]));
        expect(samples.filter((sample) => found.get(keyOf(sample.name, sample.labels)) !== sample.value)).toEqual([]);
        for (const [type, family] of Object.entries(ENTITY_TYPES)) {
          const joined = `${family} * on (account, entity_guid) group_left (entity_type) newrelic_entity_info`;
          const types = (await plain.query(joined)).map(({ labels }) => labels['entity_type']);
          expect(new Set(types)).toEqual(new Set([type]));
        }
        const metadata = z.record(z.string(), z.unknown()).parse(await plain.api('/api/v1/metadata?limit=10000'));
        expect(names.filter((name) => !Object.hasOwn(metadata, name))).toEqual([]);
        await labelled.some('newrelic_up');
        expect(simulator.requests.count()).toBe(calls);
      });

      test('target labels with names of our labels change nothing: series, rules and alerts keep our labels', async () => {
        const zones = await labelled.some('count by (zone) (newrelic_application_apdex_requests)');
        const names = zones.map(({ labels }) => labels['zone']);
        expect(names.toSorted()).toEqual(['frustrated', 'satisfied', 'tolerating']);
        // One query, so that one scrape answers it: what is theirs, beside what is ours.
        const named = 'label_replace({__name__=~"newrelic_.+", exported_app=~".+"}, "theirs", "exported", "", "")';
        const host = 'label_replace(newrelic_host_info{host="scraper"}, "theirs", "host", "", "")';
        const storefront = await labelled.some(`${named} or ${host} or newrelic_application_info{app="Storefront"}`);
        expect(storefront.map(({ labels }) => [labels['app'], labels['theirs']])).toEqual([['Storefront', undefined]]);
        const alert = `alertname="NewRelicApplicationErrorRatioHigh", app_id="${FAILING}", alertstate="firing"`;
        expect(await labelled.some(`ALERTS{${alert}}`)).toMatchObject([{ labels: { app: 'Storefront' } }]);
        await labelled.some('account:newrelic_application_apdex_score:mean > 0');
      });

      test('every expression of the dashboards and of their variables returns series', async () => {
        // The next window brings the calls that rates are made of.
        clock.minutesLater(1);
        const expressions = [
          ...dashboardExpressions().map(({ dashboard, panel, description, expression }) => ({
            place: `${dashboard}: ${panel}`,
            // The panel says why it is empty: it asks for a family that NerdGraph does not have, or no rule is evaluated.
            excused:
              (by === 'nerdgraph' && /empty for .*NerdGraph/i.test(description) && isRestOnly(expression)) ||
              (/empty while no alert/i.test(description) && expression.includes('ALERTS{')),
            text: substitute(expression),
          })),
          ...variableQueries().map((query) => ({
            place: `${query.dashboard}: $${query.variable}`,
            excused: false,
            text: substitute(variableExpression(query)),
          })),
        ];
        // What has returned something once need not do so again.
        let waiting = expressions.filter(({ excused }) => !excused);
        await until('every expression to return something', async () => {
          const isEmpty = await Promise.all(waiting.map(async ({ text }) => (await plain.query(text)).length === 0));
          waiting = waiting.filter((_, index) => isEmpty[index]);
          return waiting.length === 0;
        }).catch(() => expect(waiting.map(({ place, text }) => `${place}: ${text}`)).toEqual([]));
        expect(expressions.length).toBeGreaterThan(50);
        const excused = expressions.filter((each) => each.excused);
        expect(excused.some(({ text }) => isRestOnly(text))).toBe(by === 'nerdgraph');
        for (const { place, text } of excused) expect([place, await plain.query(text)]).toEqual([place, []]);
      });
    });
  },
});

await describeReal('a real Prometheus that does not wait for a collection', {
  tools: ['prometheus'],
  define: (program) => {
    test('a timeout shorter than the refresh loses no scrape, and a removed application disappears at once', async ({
      onTestFinished,
    }) => {
      const clock = clockForTest({ standsStill: true }, onTestFinished);
      const simulator = await simulatorForTest({ applications: 16, now: clock.now }, onTestFinished);
      simulator.faults.add({ effect: 'delay', milliseconds: 1000, times: 40 });
      const exporter = await exporterForTest(
        {
          ...clock.program,
          config: { accounts: [accountBy('rest', simulator)], collection: { scrape_timeout_offset: '6s' } },
        },
        onTestFinished,
      );
      const server = await startPrometheus(program('prometheus'), { config: configOf(exporter.port, '8s') });
      onTestFinished(server.stop);
      await server.some('newrelic_application_info{app_id="1000003"}');
      // A call in flight would seem to last a minute, and the exporter would slow down for such calls.
      await scrapeUntilFresh(exporter);
      simulator.change(1_000_003, { removed: true });
      clock.minutesLater(1);
      // The other one is there: what is queried was scraped. Five minutes are how long Prometheus looks back for a series that
      // merely fails to come.
      const [other, removed] = [2, 3].map((id) => `newrelic_application_info{app_id="100000${id}"}`);
      await server.some(`${other} unless on () ${removed}`);
      await server.some('max_over_time(newrelic_exporter_scrapes_total{result="partial"}[5m]) > 0');
      expect(await server.query('min_over_time(up[5m])')).toMatchObject([{ value: 1 }]);
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
