import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { delayUntilNextWindow } from '../e2e/support/config.ts';
import { startExporter, type Exporter } from '../e2e/support/program.ts';
import { INTERFACES } from './incidents/fleet.ts';
import { accountBy } from './support/accounts.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { quickRules } from './support/rules.ts';
import { startPrometheus, type PrometheusServer } from './support/servers.ts';
import { until } from './support/until.ts';

const APPLICATIONS = 40;
const PROBED = 5;
const GROUPS = ['applications', 'application_metrics'];
const GLOBAL = { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' };

const JOBS = z.object({ scrape_configs: z.tuple([z.looseObject({}), z.looseObject({})]) });
const TARGETS = z.array(z.object({ labels: z.record(z.string(), z.string()) }));
const RULES = z.object({ groups: z.array(z.object({ lastEvaluation: z.coerce.date() })).min(1) });

/** The jobs of deploy/prometheus/service-discovery.yaml, which keep the given applications of one account. */
function probing(port: number, ids: readonly string[]): string {
  const shipped = readFileSync(new URL('../../deploy/prometheus/service-discovery.yaml', import.meta.url), 'utf8');
  const [own, applications] = JOBS.parse(parse(shipped)).scrape_configs;
  const kept = { source_labels: ['__meta_newrelic_app_id'], regex: ids.join('|'), action: 'keep' };
  return stringify({
    global: GLOBAL,
    rule_files: ['*.rules.yaml'],
    scrape_configs: [
      { ...own, static_configs: [{ targets: [`127.0.0.1:${port}`] }] },
      {
        ...applications,
        scrape_timeout: '1s',
        http_sd_configs: [{ url: `http://127.0.0.1:${port}/sd?account=default`, refresh_interval: '5s' }],
        relabel_configs: [kept],
      },
    ],
  });
}

/** A job that reads some groups only, and what the exporter says of itself. */
function subset(port: number): string {
  const params = { 'collect[]': [...GROUPS, 'exporter'] };
  const job = { job_name: 'newrelic-apm-exporter', honor_labels: true, params };
  return stringify({
    global: GLOBAL,
    rule_files: ['*.rules.yaml'],
    scrape_configs: [{ ...job, static_configs: [{ targets: [`127.0.0.1:${port}`] }] }],
  });
}

/** Every application answers quickly and without errors. */
function calm(simulator: Simulator): void {
  const traffic = {
    requests_per_minute: 600,
    response_milliseconds: 10,
    errors_per_minute: 0,
    background_per_minute: 0,
  };
  for (const { id } of simulator.world.applications()) simulator.change(id, { traffic });
}

/** How many entities of each group an exporter counts, in any state, as a server has scraped it. */
async function counted(server: PrometheusServer): Promise<Record<string, number>> {
  const found = await server.query('sum by (group) (newrelic_exporter_collection_entities) > 0');
  return Object.fromEntries(found.map(({ labels, value }) => [labels['group'] ?? '', value]));
}

/** Gives a running server the alerts, and waits until it evaluates them. */
async function loadRules(server: PrometheusServer): Promise<void> {
  writeFileSync(join(server.folder, 'alerts.rules.yaml'), quickRules());
  server.signal('SIGHUP');
  await evaluatedAfter(server, Date.now());
}

/** Waits until every group of rules was evaluated after a time (Unix milliseconds). */
function evaluatedAfter(server: PrometheusServer, time: number): Promise<true> {
  return until('an evaluation of the rules', async () => {
    const { groups } = RULES.parse(await server.api('/api/v1/rules'));
    return groups.every(({ lastEvaluation }) => lastEvaluation.getTime() > time) ? true : undefined;
  });
}

await describeReal('a server that probes a few applications, and one that reads a few groups', {
  tools: ['prometheus'],
  lines: BOTH_LINES,
  define: (program) => {
    test.concurrent.each(INTERFACES)(
      '%s: each exporter is judged by what it is asked for, and no alert fires while all is well',
      async (by) => {
        const simulator = await startSimulator({ applications: APPLICATIONS });
        calm(simulator);
        // Each budget carries two refreshes a minute of what is asked for; all that there is would stretch the intervals.
        const start = (budget: number): Promise<Exporter> =>
          startExporter({
            config: {
              accounts: [accountBy(by, simulator, { limits: { requests_per_minute: budget } })],
              collection: { delay: delayUntilNextWindow(25) },
            },
          });
        const [probed, scraped] = await Promise.all([start(60), start(130)]);
        const servers: PrometheusServer[] = [];
        try {
          const targets = TARGETS.parse(JSON.parse(await probed.text('/sd?account=default')));
          const reporting = targets.filter(({ labels }) => labels['__meta_newrelic_reporting'] === 'true');
          const ids = reporting.map(({ labels }) => labels['__param_app_id'] ?? '').slice(-PROBED);
          expect(targets).toHaveLength(APPLICATIONS);
          servers.push(await startPrometheus(program('prometheus'), { config: probing(probed.port, ids) }));
          servers.push(await startPrometheus(program('prometheus'), { config: subset(scraped.port) }));
          const [shard, part] = servers as [PrometheusServer, PrometheusServer];

          await until('the shard to be whole', async () =>
            (await shard.query('probe_success == 1')).length === PROBED &&
            (await shard.query('newrelic_exporter_collection_entities{state!="fresh"} > 0')).length === 0 &&
            (await counted(shard))['application_metrics'] === PROBED
              ? true
              : undefined,
          );
          await until('the subset to be whole', async () =>
            (await part.query('newrelic_exporter_collection_entities{state!="fresh"} > 0')).length === 0 &&
            (await counted(part))['application_metrics'] === reporting.length
              ? true
              : undefined,
          );
          expect(await shard.query('newrelic_exporter_effective_interval_seconds{group="host_metrics"}')).toMatchObject(
            [{ value: 60 }],
          );
          expect(Object.keys(await counted(part))).not.toContain('host_metrics');

          // Only now come the rules: they wait for a second instead of minutes, so a first refresh would look like a fault.
          for (const server of servers) await loadRules(server);
          await Promise.all(
            servers.map((server) =>
              until(
                'a later window',
                async () => {
                  const ends = 'newrelic_exporter_oldest_window_end_timestamp_seconds{group="application_metrics"}';
                  return (await server.query(`changes(${ends}[2m]) > 0`)).length > 0 ? true : undefined;
                },
                60_000,
              ),
            ),
          );
          await Promise.all(servers.map((server) => evaluatedAfter(server, Date.now() + 3000)));
          for (const server of servers) expect(await server.query('max_over_time(ALERTS[5m])')).toEqual([]);
          expect((await counted(shard))['application_metrics']).toBe(PROBED);

          // The rules do watch: what is wrong is said.
          await probed.stop();
          await until('the alert', async () => {
            const [alert] = await shard.query('ALERTS{alertname="NewRelicExporterDown", alertstate="firing"}');
            return alert;
          });
        } finally {
          await Promise.all(servers.map((server) => server.stop()));
          await Promise.all([probed.stop(), scraped.stop()]);
          await simulator.close();
        }
      },
      120_000,
    );
  },
});
