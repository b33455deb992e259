import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { authority, forLocalhost } from '../support/certificates.ts';
import { exampleInUse } from '../config/reading.ts';
import { exporterForTest } from '../e2e/support/forTest.ts';
import { inFolder } from '../support/folder.ts';
import { complaintsOf, runInProcess } from '../support/inProcess.ts';
import { simulatorForTest } from '../support/simulator.ts';

async function expectNoComplaint(config: string): Promise<void> {
  const { status, stdout, stderr } = await runInProcess(['check', '--live'], { config });
  expect({ status, complaints: complaintsOf(stderr) }).toEqual({ status: 0, complaints: [] });
  expect(stdout).not.toMatch(/warning|hint|nothing|no row/);
}

it('config.example.yaml reads data with each of its lines, and check --live reports no problem', async () => {
  await inFolder(async (folder) => {
    const path = (name: string): string => join(folder, name);
    const ca = await authority();
    writeFileSync(path('ca.pem'), ca.cert);
    writeFileSync(path('key'), DEMO_API_KEY);
    const further = '{name: further, nrql: SELECT count(*) FROM Transaction, metrics: [{name: further_transactions}]}';
    writeFileSync(path('further.yaml'), `queries: [${further}]\n`);
    const simulator = await simulatorForTest({ hostsPerApplication: 2, tls: await forLocalhost(ca, 'api.example') });
    const config = exampleInUse()
      .replace('https://api.newrelic.com/graphql', `${simulator.url}/graphql`)
      .replace('/run/secrets/new_relic_api_key', path('key'))
      .replace('/etc/ssl/corp.pem', path('ca.pem'))
      .replace('queries/*.yaml', path('*.yaml'));
    await expectNoComplaint(config);
    const exporter = await exporterForTest({ config });
    const text = await exporter.text('/metrics');
    for (const series of [
      'newrelic_application_tags{account="production",app="Storefront",app_id="1000001",team="payments",tag_team="shop,web"',
      'newrelic_application_response_time_seconds{account="production",app="Checkout API"',
      'newrelic_application_component_time_seconds{account="production",app="Storefront",app_id="1000001",team="payments",component="Memcache"}',
      'newrelic_host_response_time_seconds{account="production",app="Checkout API"',
      'newrelic_key_transaction_info{account="production",app="Checkout API"',
      'newrelic_custom_queue_depth{account="production",app="Storefront"',
      'newrelic_entity_info{account="production",entity_type="EXT-SERVICE",entity="checkout-api"',
      'newrelic_ext_service_response_time_ms{account="production",entity="storefront"',
      'newrelic_ext_service_throughput{account="production",entity="storefront"',
      'shop_orders{account="production",team="payments",region=',
      'further_transactions{account="production",team="payments"}',
      'newrelic_alert_events_open{account="production",team="payments"',
      'newrelic_up{account="production",team="payments"} 1',
    ]) {
      expect(text).toContain(`\n${series}`);
    }
    expect(text).not.toMatch(
      /app="Retired|app="Search"|entity="mail-worker"|host="storefront|key_transaction_id="5000006"/,
    );
  });
});

it.each([
  ['unchanged', (text: string) => text],
  ['with its comments switched on', (text: string) => text.replace(/^( *)#(?=\w+:)/gm, '$1')],
])('config.minimal.yaml has about a dozen lines, and check --live reports no problem: %s', async (_, change) => {
  const text = change(readFileSync('config.minimal.yaml', 'utf8'));
  expect(text.split('\n').length).toBeLessThan(18);
  const simulator = await simulatorForTest({});
  const config = text
    .replace(/region: us.*/, `base_url: ${simulator.url}/graphql`)
    .replace('${NEW_RELIC_API_KEY}', DEMO_API_KEY);
  await expectNoComplaint(config);
});
