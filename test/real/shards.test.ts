import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { accountBy } from '../e2e/support/config.ts';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { MovedClock } from '../e2e/support/movedClock.ts';
import { startExporter, type Exporter } from '../e2e/support/program.ts';
import { describeReal } from './support/realPrograms.ts';
import { quickRules } from './support/rules.ts';
import { startPrometheus, type PrometheusServer } from './support/servers.ts';
import { until } from './support/until.ts';

const APPLICATIONS = 40;
const PROBED = 5;
const GROUPS = ['applications', 'application_metrics'];
/** A machine under load may take seconds for an answer. */
const SCRAPE = '5s';
const GLOBAL = { scrape_interval: SCRAPE, scrape_timeout: SCRAPE, evaluation_interval: '1s' };

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
        scrape_timeout: SCRAPE,
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

/** Nothing of what an exporter counts is stale or missing, in the answer of one scrape. */
const FRESH = 'sum(newrelic_exporter_collection_entities{state!="fresh"}) == 0';
/** How many applications with metric data an exporter counts, in any state, in the answer of one scrape. */
const READ = 'sum(newrelic_exporter_collection_entities{group="application_metrics"})';
/** What says that a scrape failed, which a machine under load may bring about, is none of the alerts on data. */
const ALERTS = 'max_over_time(ALERTS{alertname!="NewRelicExporterDown"}[5m])';

/** The groups of which an exporter counts anything. */
async function counted(server: PrometheusServer): Promise<string[]> {
  const found = await server.query('sum by (group) (newrelic_exporter_collection_entities) > 0');
  return found.map(({ labels }) => labels['group'] ?? '');
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
  define: (program) => {
    test('each exporter is judged by what it is asked for, and no alert fires while all is well', async () => {
      const clock = new MovedClock({ standsStill: true });
      const simulator = await startSimulator({ applications: APPLICATIONS, now: clock.now });
      calm(simulator);
      // Each budget carries two refreshes a minute of the requested applications; all of them would lengthen the intervals.
      const start = (budget: number): Promise<Exporter> =>
        startExporter({
          ...clock.program,
          config: { accounts: [accountBy('rest', simulator, { limits: { requests_per_minute: budget } })] },
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

        // Each is judged by one query, so by what it knew at one moment.
        const whole = (server: PrometheusServer, count: number, and = ''): Promise<true> =>
          until('it to be whole', async () =>
            (await server.query(`${READ} == ${count} and on () (${FRESH})${and}`)).length === 1 ? true : undefined,
          );
        await whole(shard, PROBED, ` and on () (count(probe_success == 1) == ${PROBED})`);
        await whole(part, reporting.length);
        expect(await shard.query('newrelic_exporter_effective_interval_seconds{group="host_metrics"}')).toMatchObject([
          { value: 60 },
        ]);
        expect(await counted(part)).not.toContain('host_metrics');

        // Only now come the rules: they wait for a second instead of minutes, so a first refresh would look like a fault.
        for (const server of servers) await loadRules(server);
        clock.minutesLater(1);
        const ends = 'newrelic_exporter_oldest_window_end_timestamp_seconds{group="application_metrics"}';
        for (const server of servers) {
          await until('a later window', async () => (await server.query(`changes(${ends}[5m]) > 0`))[0]);
        }
        await Promise.all(servers.map((server) => evaluatedAfter(server, Date.now() + 3000)));
        for (const server of servers) expect(await server.query(ALERTS)).toEqual([]);
        await whole(shard, PROBED);

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
        clock.close();
      }
    });
  },
});
