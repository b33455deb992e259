import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Simulator } from '../../simulator/simulator.ts';
import { accountBy } from '../e2e/support/config.ts';
import { blocksOf, pageAt, sectionOf } from '../docs/pages.ts';
import { describeReal } from './support/realPrograms.ts';
import { startWatched, type Watched } from './support/watched.ts';

const PAGE = z.object({
  accounts: z.tuple([z.looseObject({ name: z.string() }), z.looseObject({ name: z.string() })]),
});

/** The two accounts of docs/migrating.md, at the simulator, and with static labels that differ. */
function accountsOfThePage(simulator: Simulator): readonly Readonly<Record<string, unknown>>[] {
  const [shown = ''] = blocksOf(sectionOf(pageAt('docs/migrating.md'), '### A shadow phase'), 'yaml');
  const [rest, nerdgraph] = PAGE.parse(parse(shown)).accounts;
  const accountWith = (by: 'rest' | 'nerdgraph', pageAccount: Readonly<Record<string, unknown>>, labels: object) => {
    // The key of the simulator in place of that of the page.
    const { api_key_file: ofThePage, ...settings } = pageAccount;
    expect(ofThePage).toBeDefined();
    return { ...accountBy(by, simulator), ...settings, labels };
  };
  return [
    accountWith('rest', rest, { team: 'payments' }),
    accountWith('nerdgraph', nerdgraph, { team: 'shadow', tier: 'test' }),
  ];
}

/** The shipped rules, evaluated every second over the last seconds. */
function quickShadowRules(): string {
  const file = new URL('../../monitoring/rules/migration/shadow.yaml', import.meta.url);
  return readFileSync(file, 'utf8')
    .replace(/interval: 1m/g, 'interval: 1s')
    .replace(/^(\s+for:) \w+$/gm, '$1 1s')
    .replaceAll('[30m]', '[10s]')
    .replaceAll('[5m]', '[10s]');
}

await describeReal('the shadow phase as docs/migrating.md shows it', {
  tools: ['prometheus'],
  define: (program) => {
    let watched: Watched;

    beforeAll(async () => {
      watched = await startWatched(program('prometheus'), {
        world: { rounding: false, hostMetrics: 'all' },
        config: (simulator) => ({ accounts: accountsOfThePage(simulator) }),
        rules: { 'shadow.yaml': quickShadowRules() },
      });
    }, 300_000);

    afterAll(() => watched.stop());

    test('finds no difference in applications, hosts and key transactions, as the command compare', async () => {
      const { server } = watched;
      const compared = 'count by (family) (newrelic_shadow:difference)';
      const found = await server.some(`${compared} and on () (count(${compared}) > 20)`);
      expect(found.map(({ labels }) => labels['family'])).toEqual(
        expect.arrayContaining([
          'newrelic_application_response_time_seconds',
          'newrelic_host_cpu_usage_ratio',
          'newrelic_key_transaction_info',
        ]),
      );
      expect(await server.query('newrelic_shadow:difference > 0.01')).toEqual([]);
      expect(await server.query('newrelic_shadow:unmatched')).toEqual([]);
      // Before the first scrape there was nothing to compare.
      await server.some('absent(ALERTS{alertstate="firing"})');
    });

    test('reports when the interfaces differ, and when one lists less', async () => {
      const { simulator, server, later } = watched;
      const traffic = { requests_per_minute: 60, response_milliseconds: 900, background_per_minute: 0 };
      simulator.change(1_000_001, { on: 'nerdgraph', traffic });
      simulator.change(1_000_002, { on: 'nerdgraph', removed: true });
      await later(2);
      for (const name of ['NewRelicShadowDiffers', 'NewRelicShadowUnmatched'])
        await server.some(`ALERTS{alertname="${name}", alertstate="firing", account="production"}`);
      const gone = await server.query('newrelic_shadow:unmatched{family="newrelic_application_info"}');
      expect(gone.map(({ labels }) => [labels['api'], labels['app_id']])).toEqual([['rest', '1000002']]);
      expect(await server.query('newrelic_shadow:difference{app_id="1000001"} > 0.05')).not.toEqual([]);
    });
  },
});
