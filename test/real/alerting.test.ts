import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { accountBy } from '../e2e/support/config.ts';
import { parse } from 'yaml';
import { z } from 'zod';
import { blocksOf, pageAt, sectionOf } from '../docs/pages.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { MovedClock } from '../e2e/support/movedClock.ts';
import { startExporter } from '../e2e/support/program.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { INTERFACE_OF } from './incidents/fleet.ts';
import { BOTH_LINES, describeReal, type RealProgram } from './support/realPrograms.ts';
import { quickRules } from './support/rules.ts';
import { startAlertmanager, startPrometheus } from './support/servers.ts';
import { until } from './support/until.ts';

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

/** A receiver that keeps what is said of the alerts that a test is about. */
async function startReceiver(
  ours: (alert: Alert) => boolean,
): Promise<{ url: string; heard: Alert[]; close: () => void }> {
  const heard: Alert[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { receiver, alerts } = NOTIFICATION.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
      heard.push(...alerts.map((alert) => ({ ...alert, receiver })).filter(ours));
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, heard, close: () => void server.close() };
}

/** An Alertmanager with this configuration, and a Prometheus that scrapes the exporter and tells it what these rules say. */
async function startServers(
  program: (tool: 'prometheus' | 'alertmanager') => RealProgram,
  port: number,
  texts: { readonly alertmanager: string; readonly rules: string },
): Promise<{ readonly stop: () => Promise<void> }> {
  const alertmanager = await startAlertmanager(program('alertmanager'), { config: texts.alertmanager });
  const address = new URL(alertmanager.url);
  const prometheus = await startPrometheus(program('prometheus'), {
    config:
      'global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n' +
      'rule_files: [alerts.yaml]\n' +
      `alerting: {alertmanagers: [{path_prefix: ${address.pathname}, static_configs: [{targets: ['${address.host}']}]}]}\n` +
      `scrape_configs: [{job_name: newrelic-apm-exporter, static_configs: [{targets: ['127.0.0.1:${port}']}]}]\n`,
    files: { 'alerts.yaml': texts.rules },
  });
  const stop = async (): Promise<void> => {
    await prometheus.stop();
    await alertmanager.stop();
  };
  return { stop };
}

await describeReal('an incident upstream', {
  tools: ['prometheus', 'alertmanager'],
  lines: BOTH_LINES,
  define: (program, line) => {
    const by = INTERFACE_OF[line];
    test(`${by}: fires a shipped alert, which reaches a webhook through Alertmanager, and resolves when it is over`, async () => {
      const clock = new MovedClock({ standsStill: true });
      const simulator = await startSimulator({ applications: 12, now: clock.now });
      const failing = {
        requests_per_minute: 600,
        response_milliseconds: 100,
        errors_per_minute: 60,
        background_per_minute: 0,
      };
      simulator.change(APPLICATION, { traffic: failing });
      const receiver = await startReceiver(
        ({ labels }) => labels['alertname'] === ALERT && labels['app_id'] === String(APPLICATION),
      );
      const exporter = await startExporter({
        ...clock.program,
        config: { accounts: [accountBy(by, simulator, { hosts: false })], collection: { window: '1m' } },
      });
      const servers = await startServers(program, exporter.port, {
        alertmanager:
          'route: {receiver: hook, group_by: [alertname, app_id], group_wait: 1s, group_interval: 1s, repeat_interval: 1h}\n' +
          `receivers: [{name: hook, webhook_configs: [{url: '${receiver.url}', send_resolved: true}]}]\n`,
        rules: quickRules(),
      });
      const hear = (status: Alert['status']) =>
        until(
          `the alert to be ${status}`,
          () => Promise.resolve(receiver.heard.find((alert) => alert.status === status)),
          90_000,
        );
      try {
        const firing = await hear('firing');
        expect(firing.labels).toMatchObject({ account: 'default', app: 'Storefront', severity: 'warning' });
        expect(firing.annotations['description']).toContain('Storefront (default/1000001) fails 10%');
        expect(firing.annotations['runbook_url']).toMatch(/docs\/alerts\.md#newrelicapplicationerrorratiohigh$/);
        expect(receiver.heard.some(({ status }) => status === 'resolved')).toBe(false);
        // Quiet traffic from now on; the exporter sees it with its next window.
        simulator.change(APPLICATION, { traffic: { ...failing, errors_per_minute: 0 } });
        await scrapeUntilFresh(exporter);
        clock.minutesLater(1);
        const resolved = await hear('resolved');
        expect(resolved.labels['app_id']).toBe(String(APPLICATION));
      } finally {
        await servers.stop();
        await exporter.stop();
        receiver.close();
        await simulator.close();
        clock.close();
      }
    }, 150_000);
  },
});

await describeReal("New Relic's own alerts, as docs/alerts.md shows them", {
  tools: ['prometheus', 'alertmanager'],
  define: (program) => {
    const [account = '', rules = '', route = ''] = blocksOf(
      sectionOf(pageAt('docs/alerts.md'), "### New Relic's own alerts"),
      'yaml',
    );

    test('page while an alert event is open and not muted, and resolve when it is closed', async () => {
      const clock = new MovedClock({ standsStill: true });
      const simulator = await startSimulator({ applications: 12, now: clock.now });
      simulator.change(APPLICATION, { incident: { started_minutes_ago: 20, minutes: 30, response_factor: 20 } });
      const receiver = await startReceiver(() => true);
      const { accounts } = PAGE_ACCOUNT.parse(parse(account));
      const { api_key_file: ofThePage, ...settings } = accounts[0];
      expect(ofThePage).toBeDefined();
      const exporter = await startExporter({
        ...clock.program,
        config: { accounts: [{ ...accountBy('nerdgraph', simulator), ...settings, applications: false }] },
      });
      const servers = await startServers(program, exporter.port, {
        alertmanager: route
          .replace('route:\n', 'route:\n  group_wait: 1s\n  group_interval: 1s\n')
          .replaceAll(/http:\/\/\w+\.example\//g, receiver.url),
        rules,
      });
      const hear = (what: string, is: (alert: Alert) => boolean) =>
        until(what, () => Promise.resolve(receiver.heard.find(is)), 90_000);
      try {
        const isOurs = ({ labels }: Alert) =>
          labels['entity'] === 'Storefront' && labels['condition'] === 'Slow or failing requests';
        const paged = await hear('the page', (alert) => isOurs(alert) && alert.status === 'firing');
        expect(paged).toMatchObject({
          receiver: 'pager',
          labels: { account: 'production', policy: 'Team shop', priority: 'critical', muted: 'false' },
          annotations: { summary: 'Slow or failing requests is open on Storefront (Team shop).' },
        });
        await hear('a ticket', ({ receiver: by, labels }) => by === 'tickets' && labels['priority'] === 'warning');
        const open = await exporter.text('/metrics?collect[]=queries');
        expect(open).toMatch(/^newrelic_alert_events_open\{.*muted="true"\} 1$/m);
        await scrapeUntilFresh(exporter);
        clock.minutesLater(30);
        await hear('the end', (alert) => isOurs(alert) && alert.status === 'resolved');
        expect(receiver.heard.filter(({ labels }) => labels['muted'] === 'true')).toEqual([]);
      } finally {
        await servers.stop();
        await exporter.stop();
        receiver.close();
        await simulator.close();
        clock.close();
      }
    }, 150_000);
  },
});
