import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { listen } from '../api/support/testServer.ts';
import { blocksOf, pageAt, sectionOf } from '../docs/pages.ts';
import { accountBy } from '../e2e/support/config.ts';
import type { After } from '../support/simulator.ts';
import { INTERFACE_OF } from './incidents/fleet.ts';
import { BOTH_LINES, describeReal, type RealProgram } from './support/realPrograms.ts';
import { quickRules } from './support/rules.ts';
import { startAlertmanager } from './support/servers.ts';
import { until } from './support/until.ts';
import { startWatched, type Watched } from './support/watched.ts';

const APPLICATION = 1_000_001;
const ALERT = 'NewRelicApplicationErrorRatioHigh';

const NOTIFICATION = z.object({
  receiver: z.string(),
  alerts: z.array(
    z.object({
      status: z.enum(['firing', 'resolved']),
      labels: z.record(z.string(), z.string()),
      annotations: z.record(z.string(), z.string()),
    }),
  ),
});
type Alert = z.output<typeof NOTIFICATION>['alerts'][number] & { readonly receiver: string };

/** The configuration that docs/alerts.md shows. */
const PAGE_ACCOUNT = z.object({ accounts: z.tuple([z.looseObject({ api_key_file: z.string() })]) });

/** A receiver of notifications, an Alertmanager that sends them there, and what it tells. */
async function startServers(
  program: (tool: 'prometheus' | 'alertmanager') => RealProgram,
  after: After,
  options: Omit<Parameters<typeof startWatched>[1], 'alertmanager'> & { readonly routes: (receiver: string) => string },
): Promise<Watched & { readonly heard: Alert[]; readonly hear: (is: (alert: Alert) => boolean) => Promise<Alert> }> {
  const heard: Alert[] = [];
  const receiver = createServer((request, response) => {
    void text(request).then((body) => {
      const { receiver: by, alerts } = NOTIFICATION.parse(JSON.parse(body));
      heard.push(...alerts.map((alert) => ({ ...alert, receiver: by })));
      response.end();
    });
  });
  const { port, close } = await listen(receiver);
  after(close);
  const alertmanager = await startAlertmanager(program('alertmanager'), {
    config: options.routes(`http://127.0.0.1:${port}/`),
  });
  after(alertmanager.stop);
  const watched = await startWatched(program('prometheus'), { ...options, alertmanager });
  after(watched.stop);
  return { ...watched, heard, hear: (is) => until('the notification', () => heard.find(is), 90_000) };
}

await describeReal('an incident at New Relic', {
  tools: ['prometheus', 'alertmanager'],
  lines: BOTH_LINES,
  define: (program, line) => {
    const by = INTERFACE_OF[line];
    test(`${by}: fires a shipped alert that reaches a webhook through Alertmanager and resolves after the incident`, async ({
      onTestFinished,
    }) => {
      const failing = { requests_per_minute: 600, response_milliseconds: 100, errors_per_minute: 60 };
      const { simulator, later, heard, hear } = await startServers(program, onTestFinished, {
        world: { applications: 12 },
        config: (upstream) => {
          upstream.change(APPLICATION, { traffic: failing });
          return { accounts: [accountBy(by, upstream, { hosts: false })], collection: { window: '1m' } };
        },
        routes: (url) =>
          'route: {receiver: hook, group_by: [alertname, app_id], group_wait: 1s, group_interval: 1s, repeat_interval: 1h}\n' +
          `receivers: [{name: hook, webhook_configs: [{url: '${url}', send_resolved: true}]}]\n`,
        rules: { 'alerts.yaml': quickRules() },
      });
      const isOurs = ({ labels }: Alert): boolean =>
        labels['alertname'] === ALERT && labels['app_id'] === String(APPLICATION);
      const firing = await hear((alert) => isOurs(alert) && alert.status === 'firing');
      expect(firing.labels).toMatchObject({ account: 'default', app: 'Storefront', severity: 'warning' });
      expect(firing.annotations['summary']).toMatch(
        /^Storefront \(default, 1000001\): 10(?:\.\d+)? % of requests fail$/,
      );
      expect(firing.annotations['dashboard_url']).toBe(
        `/d/newrelic-apm-application?var-account=default&var-app=${APPLICATION}`,
      );
      expect(firing.annotations['runbook_url']).toMatch(/docs\/alerts\.md#newrelicapplicationerrorratiohigh$/);
      expect(heard.filter(isOurs).map(({ status }) => status)).not.toContain('resolved');
      // Quiet traffic from now on; the exporter sees it with its next window.
      simulator.change(APPLICATION, { traffic: { ...failing, errors_per_minute: 0 } });
      await later(1);
      await hear((alert) => isOurs(alert) && alert.status === 'resolved');
    });
  },
});

await describeReal("New Relic's own alerts, as docs/alerts.md shows them", {
  tools: ['prometheus', 'alertmanager'],
  define: (program) => {
    const [account = '', rules = '', route = ''] = blocksOf(
      sectionOf(pageAt('docs/alerts.md'), "### New Relic's own alerts"),
      'yaml',
    );

    test('fire a page while an alert event is open and not muted, and resolve when the event closes', async ({
      onTestFinished,
    }) => {
      const { accounts } = PAGE_ACCOUNT.parse(parse(account));
      const { api_key_file: ofThePage, ...settings } = accounts[0];
      expect(ofThePage).toBeDefined();
      const { exporter, later, heard, hear } = await startServers(program, onTestFinished, {
        world: { applications: 12 },
        config: (upstream) => {
          upstream.change(APPLICATION, { incident: { started_minutes_ago: 20, minutes: 30, response_factor: 20 } });
          return { accounts: [{ ...accountBy('nerdgraph', upstream), ...settings, applications: false }] };
        },
        routes: (url) =>
          route
            .replace('route:\n', 'route:\n  group_wait: 1s\n  group_interval: 1s\n')
            .replaceAll(/http:\/\/\w+\.example\//g, url),
        rules: { 'alerts.yaml': rules },
      });
      const isOurs = ({ labels }: Alert): boolean =>
        labels['entity'] === 'Storefront' && labels['condition'] === 'Slow or failing requests';
      const paged = await hear((alert) => isOurs(alert) && alert.status === 'firing');
      expect(paged).toMatchObject({
        receiver: 'pager',
        labels: { account: 'production', policy: 'Team shop', priority: 'critical', muted: 'false' },
        annotations: { summary: 'Slow or failing requests is open on Storefront (Team shop).' },
      });
      await hear(({ receiver, labels }) => receiver === 'tickets' && labels['priority'] === 'warning');
      const open = await exporter.text('/metrics?collect[]=queries');
      expect(open).toMatch(/^newrelic_alert_events_open\{.*muted="true"\} 1$/m);
      await later(30);
      await hear((alert) => isOurs(alert) && alert.status === 'resolved');
      expect(heard.filter(({ labels }) => labels['muted'] === 'true')).toEqual([]);
    });
  },
});
