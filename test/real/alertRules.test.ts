import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountBy } from '../e2e/support/config.ts';
import { runInProcess } from '../support/inProcess.ts';
import { describeReal } from './support/realPrograms.ts';
import { until } from './support/until.ts';
import { startWatched, type Watched } from './support/watched.ts';

/** The written rules, with nothing changed but how long they wait and how far they look back. */
function quick(rules: string): string {
  return rules
    .replace(/^(\s+(?:for|keep_firing_for):) \w+$/gm, '$1 1s')
    .replace(/\[\w+:1m\]/g, '[5s:1s]')
    .replace(/last_over_time\((\w+\{[^}]*\})\[1h5m\]\)/g, 'last_over_time($1[1h])')
    .replace(/\[(?!1h\]|2h\])\w+\]/g, '[5s]');
}

/** Policy, condition and priority, in which alerts and events are compared; facets and entities are other words. */
const named = (labels: Readonly<Record<string, string>>, priority: string): string =>
  [labels['policy'], labels['condition'], labels[priority]].join(' / ');

await describeReal('the conditions of the simulator as rules', {
  tools: ['prometheus'],
  define: (program) => {
    const folder = mkdtempSync(join(tmpdir(), 'rules-'));
    let watched: Watched;

    beforeAll(async () => {
      const quickFile = (name: string): string => quick(readFileSync(join(folder, name), 'utf8'));
      watched = await startWatched(program('prometheus'), {
        world: { applications: 4 },
        config: async (simulator) => {
          const account = accountBy('nerdgraph', simulator, { account_id: 1_234_567 });
          const config = { accounts: [account] };
          const { status, stderr } = await runInProcess(['alert-rules', `--output=${folder}`], { config });
          expect([status, stderr]).toEqual([0, expect.stringContaining('wrote')]);
          const converted = { query_files: [join(folder, 'queries.yaml')], query_packs: ['alert_events'] };
          return { accounts: [{ ...account, ...converted }], collection: { window: '1m' } };
        },
        rules: () => ({ 'rules.yaml': quickFile('rules.yaml'), 'differences.yaml': quickFile('differences.yaml') }),
      });
    }, 300_000);

    afterAll(async () => {
      await watched.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Open events of conditions that are mapped, and our alerts that fire. */
    async function both(): Promise<{ readonly events: readonly string[]; readonly alerts: readonly string[] }> {
      const open = await watched.server.query('newrelic_alert_events_open{condition!~"Memory grows|Few orders"} > 0');
      const firing = await watched.server.query('ALERTS{alertstate="firing", newrelic_condition_id!=""}');
      const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted();
      return {
        events: unique(open.map(({ labels }) => named(labels, 'priority'))),
        alerts: unique(firing.map(({ labels }) => named(labels, 'severity'))),
      };
    }

    /** Waits until both are these, and no difference is told. */
    async function bothBecome(expected: readonly string[]): Promise<void> {
      let seen: unknown;
      try {
        await until(
          'alerts and events to be alike',
          async () => {
            const { events, alerts } = await both();
            const differences = await watched.server.query(
              'ALERTS{alertname=~"NewRelicConditionOnly.*", alertstate="firing"}',
            );
            seen = { events, alerts, differences: differences.map(({ labels }) => labels) };
            const wanted = expected.toSorted().join();
            return events.join() === wanted && alerts.join() === wanted && differences.length === 0 ? true : undefined;
          },
          90_000,
        );
      } catch {
        expect(seen).toEqual({ events: expected, alerts: expected, differences: [] });
      }
    }

    test('raise the same events as New Relic, and end with them', async () => {
      const { simulator, later } = watched;
      const traffic = { requests_per_minute: 60, response_milliseconds: 20 };
      const [storefront, ...others] = [1_000_001, 1_000_002, 1_000_003, 1_000_004] as const;
      for (const id of [storefront, ...others]) simulator.change(id, { traffic });
      await later(30);
      await bothBecome([]);
      const slow = { ...traffic, response_milliseconds: 30_000 };
      const incident = { started_minutes_ago: 20, minutes: 120 };
      simulator.change(storefront, { traffic: slow, incident });
      await later(10);
      await bothBecome([
        'Every kind of condition / Response time by application / critical',
        'Every kind of condition / Response time by application / warning',
        'Team shop / Slow or failing requests / critical',
      ]);
      simulator.change(storefront, { traffic, incident: null });
      await later(10);
      await bothBecome([]);
      simulator.change(storefront, { reporting: false });
      await later(15);
      await bothBecome([
        'Every kind of condition / Requests stop / critical',
        'Every kind of condition / Signal lost / critical',
      ]);
    });
  },
});
