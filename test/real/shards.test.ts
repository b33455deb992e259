import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { Simulator } from '../../simulator/simulator.ts';
import { accountBy } from '../e2e/support/config.ts';
import { clockForTest, exporterForTest } from '../e2e/support/forTest.ts';
import type { Exporter } from '../e2e/support/program.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { describeReal } from './support/realPrograms.ts';
import { quickRules } from './support/rules.ts';
import { startPrometheus } from './support/servers.ts';
import { until } from './support/until.ts';

const APPLICATIONS = 40;
const PROBED = 5;
const GROUPS = ['applications', 'application_metrics'];
/** A machine under load may take seconds for a scrape. */
const SCRAPE = '5s';

const JOBS = z.object({ scrape_configs: z.tuple([z.looseObject({}), z.looseObject({})]) });
const TARGETS = z.array(z.object({ labels: z.record(z.string(), z.string()) }));
const RULES = z.object({ groups: z.array(z.object({ lastEvaluation: z.coerce.date() })).min(1) });

/**
 * The jobs of deploy/prometheus/service-discovery.yaml, which keep the given applications of one exporter, and a job that reads
 * some groups of another, and what that says of itself.
 */
function configOf(probed: number, ids: readonly string[], scraped: number): string {
  const shipped = readFileSync(new URL('../../deploy/prometheus/service-discovery.yaml', import.meta.url), 'utf8');
  const [exporterJob, applications] = JOBS.parse(parse(shipped)).scrape_configs;
  const shardRule = { source_labels: ['__meta_newrelic_app_id'], regex: ids.join('|'), action: 'keep' };
  const targetOn = (port: number) => ({ static_configs: [{ targets: [`127.0.0.1:${port}`] }] });
  const params = { 'collect[]': [...GROUPS, 'exporter'] };
  return stringify({
    global: { scrape_interval: SCRAPE, scrape_timeout: SCRAPE, evaluation_interval: '1s' },
    rule_files: ['*.rules.yaml'],
    scrape_configs: [
      { ...exporterJob, ...targetOn(probed) },
      {
        ...applications,
        scrape_timeout: SCRAPE,
        http_sd_configs: [{ url: `http://127.0.0.1:${probed}/sd?account=probed`, refresh_interval: '5s' }],
        relabel_configs: [shardRule],
      },
      { job_name: 'newrelic-apm-exporter-groups', honor_labels: true, params, ...targetOn(scraped) },
    ],
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

/** What says that a scrape failed, which a machine under load may bring about, is none of the alerts on data. */
const ALERTS = 'max_over_time(ALERTS{alertname!="NewRelicExporterDown"}[5m])';

await describeReal('applications that are probed, and groups that are read alone', {
  tools: ['prometheus'],
  define: (program) => {
    test('an exporter is judged by the groups that it serves, and no alert fires without a problem', async ({
      onTestFinished,
    }) => {
      const clock = clockForTest({ standsStill: true }, onTestFinished);
      const simulator = await simulatorForTest({ applications: APPLICATIONS, now: clock.now }, onTestFinished);
      calm(simulator);
      // Each budget carries two refreshes a minute of the requested applications; all of them would lengthen the intervals.
      const start = (name: string, requests_per_minute: number): Promise<Exporter> => {
        const accounts = [accountBy('rest', simulator, { name, limits: { requests_per_minute } })];
        return exporterForTest({ ...clock.program, config: { accounts } }, onTestFinished);
      };
      const [probed, scraped] = await Promise.all([start('probed', 60), start('scraped', 130)]);
      const targets = TARGETS.parse(JSON.parse(await probed.text('/sd?account=probed')));
      const reporting = targets.filter(({ labels }) => labels['__meta_newrelic_reporting'] === 'true');
      const ids = reporting.map(({ labels }) => labels['__param_app_id'] ?? '').slice(-PROBED);
      expect(targets).toHaveLength(APPLICATIONS);
      const server = await startPrometheus(program('prometheus'), {
        config: configOf(probed.port, ids, scraped.port),
      });
      onTestFinished(server.stop);

      const counted = (account: string, labels: string): string =>
        `sum by (group) (newrelic_exporter_collection_entities{account="${account}", ${labels}})`;
      /** Waits until as many applications with metric data are counted, nothing of which is stale or missing, by one scrape. */
      const whole = (account: string, count: number, and = '') =>
        server.some(
          `${counted(account, 'group="application_metrics"')} == ${count}` +
            ` and on () (sum(${counted(account, 'state!="fresh"')}) == 0)${and}`,
        );
      await whole('probed', PROBED, ` and on () (count(probe_success == 1) == ${PROBED})`);
      await whole('scraped', reporting.length);
      const interval = 'newrelic_exporter_effective_interval_seconds{account="probed", group="host_metrics"}';
      expect(await server.query(interval)).toMatchObject([{ value: 60 }]);
      const groups = await server.query(`${counted('scraped', 'state=~".+"')} > 0`);
      expect(groups.map(({ labels }) => labels['group'])).not.toContain('host_metrics');

      // Only now come the rules: they wait for a second instead of minutes, so a first refresh would look like a fault.
      const evaluatedAfter = (time: number) =>
        until('an evaluation of the rules', async () =>
          RULES.parse(await server.api('/api/v1/rules')).groups.every((each) => each.lastEvaluation.getTime() > time),
        );
      writeFileSync(join(server.folder, 'alerts.rules.yaml'), quickRules());
      server.signal('SIGHUP');
      await evaluatedAfter(Date.now());
      clock.minutesLater(1);
      const ends = 'newrelic_exporter_oldest_window_end_timestamp_seconds{group="application_metrics"}';
      await server.some(`count(count by (account) (changes(${ends}[5m]) > 0)) == 2`);
      await evaluatedAfter(Date.now() + 3000);
      expect(await server.query(ALERTS)).toEqual([]);
      await whole('probed', PROBED);

      // The rules do watch: what is wrong is said.
      await probed.stop();
      await server.some('ALERTS{alertname="NewRelicExporterDown", alertstate="firing"}');
    });
  },
});
