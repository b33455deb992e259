import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { accountBy } from '../e2e/support/config.ts';
import { z } from 'zod';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { MovedClock } from '../e2e/support/movedClock.ts';
import { startExporter } from '../e2e/support/program.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { INTERFACE_OF } from './incidents/fleet.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { quickRules } from './support/rules.ts';
import { startAlertmanager, startPrometheus } from './support/servers.ts';
import { until } from './support/until.ts';

const APPLICATION = 1_000_001;
const ALERT = 'NewRelicApplicationErrorRatioHigh';

const NOTIFICATION = z.object({
  alerts: z.array(
    z.object({
      status: z.enum(['firing', 'resolved']),
      labels: z.record(z.string(), z.string()),
      annotations: z.record(z.string(), z.string()),
    }),
  ),
});
type Alert = z.output<typeof NOTIFICATION>['alerts'][number];

/** A receiver that keeps what is said of the alert and the application this test is about. */
async function startReceiver(): Promise<{ url: string; heard: Alert[]; close: () => void }> {
  const heard: Alert[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { alerts } = NOTIFICATION.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
      const ours = ({ labels }: Alert) => labels['alertname'] === ALERT && labels['app_id'] === String(APPLICATION);
      heard.push(...alerts.filter(ours));
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, heard, close: () => void server.close() };
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
      const receiver = await startReceiver();
      const exporter = await startExporter({
        ...clock.program,
        config: { accounts: [accountBy(by, simulator, { hosts: false })], collection: { window: '1m' } },
      });
      const alertmanager = await startAlertmanager(program('alertmanager'), {
        config:
          'route: {receiver: hook, group_by: [alertname, app_id], group_wait: 1s, group_interval: 1s, repeat_interval: 1h}\n' +
          `receivers: [{name: hook, webhook_configs: [{url: '${receiver.url}', send_resolved: true}]}]\n`,
      });
      const address = new URL(alertmanager.url);
      const prometheus = await startPrometheus(program('prometheus'), {
        config:
          'global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n' +
          'rule_files: [alerts.yaml]\n' +
          `alerting: {alertmanagers: [{path_prefix: ${address.pathname}, static_configs: [{targets: ['${address.host}']}]}]}\n` +
          `scrape_configs: [{job_name: newrelic-apm-exporter, static_configs: [{targets: ['127.0.0.1:${exporter.port}']}]}]\n`,
        files: { 'alerts.yaml': quickRules() },
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
        await prometheus.stop();
        await alertmanager.stop();
        await exporter.stop();
        receiver.close();
        await simulator.close();
        clock.close();
      }
    }, 150_000);
  },
});
