import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  dashboardExpressions,
  substitute,
  variableExpression,
  variableQueries,
} from '../../monitoring/dashboards/src/expressions.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { account, delayUntilNextWindow } from '../e2e/support/config.ts';
import { startExporter, type Exporter } from '../e2e/support/program.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { parseOpenMetrics } from '../support/exposition.ts';
import { run } from './support/processes.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { startPrometheus } from './support/servers.ts';
import { until } from './support/until.ts';

const OPENMETRICS = 'application/openmetrics-text;version=1.0.0';
const OURS = /^newrelic_(application|host|instance|key_transaction)_/;

function configOf(port: number, interval = '1s'): string {
  return `global: {scrape_interval: ${interval}, scrape_timeout: ${interval}}
scrape_configs:
  - job_name: newrelic-apm-exporter
    static_configs: [{targets: ['127.0.0.1:${port}']}]
`;
}

/** Runs the body with a simulator and an exporter that reads it, within one window of `seconds`. */
async function withExporter(
  seconds: number,
  body: (exporter: Exporter, simulator: Simulator) => Promise<void>,
): Promise<void> {
  const simulator = await startSimulator({ applications: 16, rounding: false, hostMetrics: 'all' });
  const exporter = await startExporter({
    config: {
      accounts: [account(simulator, 'default', { instances: true })],
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
    test('promtool finds nothing to complain about', () =>
      withExporter(55, async (exporter) => {
        await scrapeUntilFresh(exporter);
        const input = await exporter.text('/metrics');
        const check = await run(program('promtool'), ['check', 'metrics'], { input });
        expect(check).toEqual({ status: 0, stdout: '', stderr: '' });
      }));

    test('every series is queried back with its value, by two servers that cause no call', () =>
      withExporter(58, async (exporter, simulator) => {
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
            const metadata = z.record(z.string(), z.unknown()).parse(await server.api('/api/v1/metadata?limit=10000'));
            expect(names.filter((name) => !Object.hasOwn(metadata, name))).toEqual([]);
            const queried = await server.query('{__name__=~"newrelic_(application|host|instance|key_transaction)_.+"}');
            const found = new Map(queried.map(({ labels, value }) => [keyOf(labels['__name__'] ?? '', labels), value]));
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
      'a timeout shorter than the collection loses no scrape, and an application that is removed goes at once',
      () =>
        withExporter(25, async (exporter, simulator) => {
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

    test(
      'every expression of the dashboards and of their variables returns series',
      () =>
        withExporter(15, async (exporter) => {
          await scrapeUntilFresh(exporter);
          const server = await startPrometheus(program('prometheus'), { config: configOf(exporter.port) });
          try {
            const expressions = [
              ...dashboardExpressions().map(({ dashboard, panel, expression }) => ({
                of: `${dashboard}: ${panel}`,
                text: substitute(expression),
              })),
              ...variableQueries().map((query) => ({
                of: `${query.dashboard}: $${query.variable}`,
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
                empty = answers.filter(({ series }) => series.length === 0).map(({ of, text }) => `${of}: ${text}`);
                return empty.length === 0 ? true : undefined;
              },
              25_000,
            ).catch(() => undefined);
            expect(empty).toEqual([]);
            expect(expressions.length).toBeGreaterThan(50);
          } finally {
            await server.stop();
          }
        }),
      120_000,
    );
  },
});

/** Labels that Prometheus adds. */
const ADDED = new Set(['__name__', 'job', 'instance']);

/** Name and labels as the exporter wrote them; Prometheus keeps no label that is empty. */
function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).filter(([label, value]) => value !== '' && !ADDED.has(label));
  return JSON.stringify([name, pairs.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
