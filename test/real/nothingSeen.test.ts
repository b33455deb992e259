import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountBy } from '../e2e/support/config.ts';
import { describeReal } from './support/realPrograms.ts';
import { quickRules } from './support/rules.ts';
import type { QueriedSample } from './support/servers.ts';
import { until } from './support/until.ts';
import { startWatched, type Watched } from './support/watched.ts';

/** The shipped alerts, for which an hour is twenty seconds. */
const RULES = quickRules().replaceAll('[1h]', '[20s]').replaceAll('< 3600', '< 20');

await describeReal('an account that shows less than before', {
  tools: ['prometheus'],
  define: (program) => {
    let watched: Watched;

    const firing = (name: string): Promise<QueriedSample[]> =>
      watched.server.query(`ALERTS{alertname="${name}", alertstate="firing"}`);
    const fires = (name: string): Promise<QueriedSample> => until(name, async () => (await firing(name))[0]);

    beforeAll(async () => {
      watched = await startWatched(program('prometheus'), {
        world: { applications: 12 },
        config: (simulator) => ({
          accounts: [accountBy('nerdgraph', simulator, { hosts: false, key_transactions: false })],
        }),
        rules: () => ({ 'alerts.yaml': RULES }),
      });
    }, 300_000);

    afterAll(() => watched.stop());

    test('one application that vanishes from the list is a ticket, which ends after its hour', async () => {
      const { simulator, server, later } = watched;
      const listed = 'newrelic_exporter_applications{state="listed"}';
      await until('a scrape', async () => (await server.query(`${listed} == 12`))[0]);
      // The rule needs a start that is longer ago than the range it looks back over.
      await until(
        'an hour after the start',
        async () =>
          (await server.query(`time() - newrelic_exporter_config_last_reload_success_timestamp_seconds > 21`))[0],
      );
      expect(await firing('NewRelicApplicationVanished')).toEqual([]);
      expect(await firing('NewRelicNoApplications')).toEqual([]);
      simulator.change(1_000_003, { removed: true });
      await later(1);
      const { labels } = await fires('NewRelicApplicationVanished');
      expect(labels).toMatchObject({ account: 'default', severity: 'warning', state: 'listed' });
      expect(await server.query(listed)).toMatchObject([{ value: 11 }]);
      await until('its end', async () =>
        (await firing('NewRelicApplicationVanished')).length === 0 ? true : undefined,
      );
      expect(await firing('NewRelicNoApplications')).toEqual([]);
    });

    test('an account that lists none pages, although every call succeeds', async () => {
      const { simulator, server, later } = watched;
      for (const { id } of simulator.world.applications()) simulator.change(id, { removed: true });
      await later(1);
      const { labels } = await fires('NewRelicNoApplications');
      expect(labels).toMatchObject({ account: 'default', severity: 'critical' });
      expect(await server.query('newrelic_up')).toMatchObject([{ value: 1 }]);
      expect(await firing('NewRelicAccountUnreadable')).toEqual([]);
    });
  },
});
