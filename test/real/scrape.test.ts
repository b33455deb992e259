import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
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
import { delayUntilNextWindow } from '../e2e/support/config.ts';
import { startExporter, type Exporter } from '../e2e/support/program.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { parseOpenMetrics } from '../support/exposition.ts';
import { run } from './support/processes.ts';
import { INTERFACES, REST_ONLY, type Interface } from './incidents/fleet.ts';
import { accountBy } from './support/accounts.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { startPrometheus } from './support/servers.ts';
import { quickRecordingRules, quickRules } from './support/rules.ts';
import { until } from './support/until.ts';

const OPENMETRICS = 'application/openmetrics-text;version=1.0.0';
const OURS = /^newrelic_(application|host|instance|key_transaction)_/;

/** The scrape job of deploy/prometheus/prometheus.yaml for the exporter at this port, at another interval. */
function configOf(port: number, interval = '1s', labels: Readonly<Record<string, string>> = {}): string {
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

/** Runs the body with a simulator and an exporter that reads it through an interface, within one window of `seconds`. */
async function withExporter(
  seconds: number,
  by: Interface,
  body: (exporter: Exporter, simulator: Simulator) => Promise<void>,
): Promise<void> {
  const simulator = await startSimulator({ applications: 16, rounding: false, hostMetrics: 'all' });
  const exporter = await startExporter({
    config: {
      accounts: [accountBy(by, simulator, by === 'rest' ? { instances: true } : {})],
      collection: { delay: delayUntilNextWindow(seconds), scrape_timeout_offset: '1500ms' },
    },
  });
  try {
    await body(exporter, simulator);
  } finally {
    await exporter.stop();
    await simulator.close();
  }
}

await describeReal('a real Prometheus that scrapes the exporter', {
  tools: ['prometheus', 'promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    describe.each(INTERFACES)('%s', (by) => {
      test('promtool finds nothing to complain about', () =>
        withExporter(55, by, async (exporter) => {
          await scrapeUntilFresh(exporter);
          const input = await exporter.text('/metrics');
          const check = await run(program('promtool'), ['check', 'metrics'], { input });
          expect(check).toEqual({ status: 0, stdout: '', stderr: '' });
        }));

      test('every series is queried back with its value, by two servers that cause no call', () =>
        withExporter(58, by, async (exporter, simulator) => {
          const families = await scrapeUntilFresh(exporter);
          const calls = simulator.requests.count();
          const inOpenMetrics = parseOpenMetrics(await exporter.text('/metrics', { Accept: OPENMETRICS }));
          const names = inOpenMetrics.map(({ name }) => name).filter((name) => OURS.test(name));
          expect(names.toSorted()).toEqual(
            families
              .map(({ name }) => name)
              .filter((name) => OURS.test(name))
              .toSorted(),
          );

          const config = configOf(exporter.port);
          const servers = await Promise.all([
            startPrometheus(program('prometheus'), { config }),
            startPrometheus(program('prometheus'), { config }),
          ]);
          try {
            for (const server of servers) {
              await until('a scrape', async () => ((await server.query('up == 1')).length === 1 ? true : undefined));
              const metadata = z
                .record(z.string(), z.unknown())
                .parse(await server.api('/api/v1/metadata?limit=10000'));
              expect(names.filter((name) => !Object.hasOwn(metadata, name))).toEqual([]);
              const queried = await server.query(
                '{__name__=~"newrelic_(application|host|instance|key_transaction)_.+"}',
              );
              const found = new Map(
                queried.map(({ labels, value }) => [keyOf(labels['__name__'] ?? '', labels), value]),
              );
              const ours = families.filter(({ name }) => OURS.test(name)).flatMap(({ samples }) => samples);
              expect(found.size).toBe(ours.length);
              const wrong = ours.filter((sample) => found.get(keyOf(sample.name, sample.labels)) !== sample.value);
              expect(wrong).toEqual([]);
            }
            expect(simulator.requests.count()).toBe(calls);
          } finally {
            await Promise.all(servers.map((server) => server.stop()));
          }
        }));

      test(
        'target labels named like ours change nothing: series, rules and alerts keep the labels of the exporter',
        () =>
          withExporter(40, by, async (exporter, simulator) => {
            const failing = { requests_per_minute: 600, response_milliseconds: 100, errors_per_minute: 60 };
            simulator.change(1_000_001, { traffic: { ...failing, background_per_minute: 0 } });
            await scrapeUntilFresh(exporter);
            const theirs = { zone: 'eu-1', app: 'monitoring', host: 'scraper', port: '9126', endpoint: 'http' };
            const server = await startPrometheus(program('prometheus'), {
              config: configOf(exporter.port, '1s', theirs),
              files: { 'alerts.rules.yaml': quickRules(), 'recording.rules.yaml': quickRecordingRules() },
            });
            try {
              const zones = await until('a scrape', async () => {
                const found = await server.query('count by (zone) (newrelic_application_apdex_requests)');
                return found.length > 0 ? found : undefined;
              });
              expect(zones.map(({ labels }) => labels['zone']).toSorted()).toEqual([
                'frustrated',
                'satisfied',
                'tolerating',
              ]);
              expect(await server.query('{__name__=~"newrelic_.+", exported_app=~".+"}')).toEqual([]);
              expect(await server.query('newrelic_application_info{app="Storefront"}')).toHaveLength(1);
              expect(await server.query('newrelic_host_info{host="scraper"}')).toEqual([]);
              const alert = await until('the alert', async () => {
                const name = 'alertname="NewRelicApplicationErrorRatioHigh", app_id="1000001"';
                return (await server.query(`ALERTS{${name}, alertstate="firing"}`))[0];
              });
              expect(alert.labels['app']).toBe('Storefront');
              const recorded = await until('a recording rule', async () => {
                const mean = await server.query('account:newrelic_application_apdex_score:mean');
                return mean[0];
              });
              expect(recorded.value).toBeGreaterThan(0);
            } finally {
              await server.stop();
            }
          }),
        120_000,
      );

      test(
        'every expression of the dashboards and of their variables returns series',
        () =>
          withExporter(15, by, async (exporter) => {
            await scrapeUntilFresh(exporter);
            const server = await startPrometheus(program('prometheus'), { config: configOf(exporter.port) });
            try {
              const expressions = [
                ...dashboardExpressions().map(({ dashboard, panel, description, expression }) => ({
                  of: `${dashboard}: ${panel}`,
                  // The panel says why it is empty, and asks for a family that NerdGraph does not have.
                  excused: by === 'nerdgraph' && /empty for .*NerdGraph/i.test(description) && isRestOnly(expression),
                  text: substitute(expression),
                })),
                ...variableQueries().map((query) => ({
                  of: `${query.dashboard}: $${query.variable}`,
                  excused: false,
                  text: substitute(variableExpression(query)),
                })),
              ];
              let empty: string[] = [];
              await until(
                'every expression to return something',
                async () => {
                  const answers = await Promise.all(
                    expressions.map(async (each) => ({ ...each, series: await server.query(each.text) })),
                  );
                  empty = answers
                    .filter(({ series, excused }) => series.length === 0 && !excused)
                    .map(({ of, text }) => `${of}: ${text}`);
                  return empty.length === 0 ? true : undefined;
                },
                25_000,
              ).catch(() => undefined);
              expect(empty).toEqual([]);
              expect(expressions.length).toBeGreaterThan(50);
              const excused = expressions.filter((each) => each.excused);
              expect(excused.length > 0).toBe(by === 'nerdgraph');
              for (const { of, text } of excused) expect([of, await server.query(text)]).toEqual([of, []]);
            } finally {
              await server.stop();
            }
          }),
        120_000,
      );
    });

    test(
      'a timeout shorter than the collection loses no scrape, and an application that is removed goes at once',
      () =>
        withExporter(25, 'rest', async (exporter, simulator) => {
          simulator.faults.add({ effect: 'delay', milliseconds: 1500, times: 40 });
          const server = await startPrometheus(program('prometheus'), { config: configOf(exporter.port, '3s') });
          try {
            const removed = 'newrelic_application_info{app_id="1000003"}';
            await until('the application', async () => ((await server.query(removed)).length === 1 ? true : undefined));
            simulator.change(1_000_003, { removed: true });
            // Well before the five minutes that Prometheus looks back for a series that merely fails to come.
            await until(
              'the application to be gone',
              async () => ((await server.query(removed)).length === 0 ? true : undefined),
              60_000,
            );
            expect(await server.query('newrelic_application_info{app_id="1000002"}')).toHaveLength(1);
            expect(await server.query('min_over_time(up[1m])')).toMatchObject([{ value: 1 }]);
          } finally {
            await server.stop();
          }
        }),
      120_000,
    );
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
