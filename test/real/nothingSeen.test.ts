import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { MovedClock } from '../e2e/support/movedClock.ts';
import { startExporter, type Exporter } from '../e2e/support/program.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { accountBy } from './support/accounts.ts';
import { describeReal } from './support/realPrograms.ts';
import { quickRules } from './support/rules.ts';
import { startPrometheus, type PrometheusServer, type QueriedSample } from './support/servers.ts';
import { until } from './support/until.ts';

/** The shipped alerts, for which an hour is twenty seconds. */
const RULES = quickRules().replaceAll('[1h]', '[20s]').replaceAll('< 3600', '< 20');

await describeReal('an account that shows less than before', {
  tools: ['prometheus'],
  define: (program) => {
    const clock = new MovedClock({ standsStill: true });
    let simulator: Simulator;
    let exporter: Exporter;
    let server: PrometheusServer;

    const firing = (name: string): Promise<QueriedSample[]> =>
      server.query(`ALERTS{alertname="${name}", alertstate="firing"}`);
    const fires = (name: string): Promise<QueriedSample> => until(name, async () => (await firing(name))[0]);

    beforeAll(async () => {
      simulator = await startSimulator({ applications: 12, now: clock.now });
      exporter = await startExporter({
        ...clock.program,
        config: { accounts: [accountBy('nerdgraph', simulator, { hosts: false, key_transactions: false })] },
      });
      await scrapeUntilFresh(exporter);
      server = await startPrometheus(program('prometheus'), {
        config:
          'global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [alerts.yaml]\n' +
          `scrape_configs: [{job_name: newrelic-apm-exporter, static_configs: [{targets: ['127.0.0.1:${exporter.port}']}]}]\n`,
        files: { 'alerts.yaml': RULES },
      });
    }, 300_000);

    afterAll(async () => {
      await server.stop();
      await exporter.stop();
      await simulator.close();
      clock.close();
    });

    test('one application that vanishes from the list is a ticket, which ends after its hour', async () => {
      const listed = 'newrelic_exporter_applications{state="listed"}';
      await until('a scrape', async () => (await server.query(`${listed} == 12`))[0]);
      // What the past shows counts once the start is as long ago as the rule looks back.
      await until(
        'an hour after the start',
        async () =>
          (await server.query(`time() - newrelic_exporter_config_last_reload_success_timestamp_seconds > 21`))[0],
      );
      expect(await firing('NewRelicApplicationVanished')).toEqual([]);
      expect(await firing('NewRelicNoApplications')).toEqual([]);
      simulator.change(1_000_003, { removed: true });
      clock.minutesLater(1);
      const { labels } = await fires('NewRelicApplicationVanished');
      expect(labels).toMatchObject({ account: 'default', severity: 'warning', state: 'listed' });
      expect(await server.query(listed)).toMatchObject([{ value: 11 }]);
      await until('its end', async () =>
        (await firing('NewRelicApplicationVanished')).length === 0 ? true : undefined,
      );
      expect(await firing('NewRelicNoApplications')).toEqual([]);
    });

    test('an account that lists none pages, although every call succeeds', async () => {
      for (const { id } of simulator.world.applications()) simulator.change(id, { removed: true });
      clock.minutesLater(1);
      const { labels } = await fires('NewRelicNoApplications');
      expect(labels).toMatchObject({ account: 'default', severity: 'critical' });
      expect(await server.query('newrelic_up')).toMatchObject([{ value: 1 }]);
      expect(await firing('NewRelicAccountUnreadable')).toEqual([]);
    });
  },
});
