import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { until } from '../real/support/until.ts';
import { samplesOf, value } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account } from './support/config.ts';
import { clockForTest, exporterForTest } from './support/forTest.ts';
import { SAME_WINDOW } from './support/movedClock.ts';
import { commandLine } from './support/processFacts.ts';
import { scrapeUntil, scrapeUntilFresh, sumOf } from './support/states.ts';

const RELOADED = 'newrelic_exporter_config_last_reload_successful';

test('a reload replaces the whole configuration or nothing, and held values survive', async () => {
  const simulator = await simulatorForTest({ applications: 3 });
  const config = { accounts: [account(simulator, 'one')] };
  const exporter = await exporterForTest({ ...SAME_WINDOW, config, flags: ['--web.enable-lifecycle'] });
  await scrapeUntilFresh(exporter);
  const calls = simulator.requests.count();

  exporter.writeConfig({ accounts: [account(simulator, 'one', { labels: { team: 'blue' } })] });
  expect((await fetch(`${exporter.url}/-/reload`, { method: 'POST' })).status).toBe(200);
  const labelled = await exporter.scrape();
  expect(samplesOf(labelled, 'newrelic_application_info', { team: 'blue' })).toHaveLength(3);
  expect(simulator.requests.count()).toBe(calls);

  exporter.writeConfig('accounts:\n  - name: one\n    regoin: us\n');
  const refused = await fetch(`${exporter.url}/-/reload`, { method: 'PUT' });
  expect(refused.status).toBe(500);
  expect(await refused.text()).toMatch(/config\.yaml:3:5: .*region/);
  const failure = async (): Promise<unknown> =>
    ((await (await fetch(`${exporter.url}/api/status`)).json()) as { readonly reload_failure: unknown }).reload_failure;
  expect(await failure()).toMatchObject({
    faults: expect.arrayContaining([expect.stringMatching(/config\.yaml:3:5: .*region/)]) as unknown,
  });
  expect(await (await fetch(`${exporter.url}/`)).text()).toContain('The last reload failed: ');
  const after = await exporter.scrape();
  expect(value(after, RELOADED)).toBe(0);
  expect(samplesOf(after, 'newrelic_application_info', { team: 'blue' })).toHaveLength(3);
  expect(simulator.requests.count()).toBe(calls);

  exporter.writeConfig({ ...config, accounts: [account(simulator, 'two')] });
  exporter.signal('SIGHUP');
  const renamed = await scrapeUntil(exporter, 'the other account', (families) => {
    return samplesOf(families, 'newrelic_application_info', { account: 'two' }).length === 3;
  });
  expect(value(renamed, RELOADED)).toBe(1);
  expect(await failure()).toBeNull();
  expect(samplesOf(renamed, 'newrelic_up').map(({ labels }) => labels['account'])).toEqual(['two']);
});

test('a reload removes the series of a removed account, and dropped series are logged again', async () => {
  const simulator = await simulatorForTest({ applications: 2 });
  const collection = { max_series: 20 };
  const accounts = [account(simulator, 'one'), account(simulator, 'two')];
  const exporter = await exporterForTest({
    ...SAME_WINDOW,
    config: { accounts, collection },
    flags: ['--web.enable-lifecycle'],
  });
  const timesLogged = () => exporter.output().split('Dropping series').length - 1;
  const before = await scrapeUntilFresh(exporter);
  expect(sumOf(before, 'newrelic_exporter_api_requests_total', { account: 'two' })).toBeGreaterThan(0);
  expect(sumOf(before, 'newrelic_exporter_series_dropped_total')).toBeGreaterThan(0);
  await exporter.scrape();
  const logged = timesLogged();
  expect(logged).toBeGreaterThan(0);
  await exporter.scrape();
  expect(timesLogged()).toBe(logged);

  exporter.writeConfig({ accounts: accounts.slice(0, 1), collection });
  expect((await fetch(`${exporter.url}/-/reload`, { method: 'POST' })).status).toBe(200);
  const after = await exporter.scrape();
  const ofAccount = (name: string) =>
    after.flatMap(({ samples }) => samples).filter(({ labels }) => labels['account'] === name);
  expect(ofAccount('one').length).toBeGreaterThan(0);
  expect(ofAccount('two')).toEqual([]);
  await until('the log to tell of it again', () => timesLogged() > logged);

  exporter.writeConfig({ accounts, collection });
  expect((await fetch(`${exporter.url}/-/reload`, { method: 'POST' })).status).toBe(200);
  const again = await exporter.scrape('/metrics?collect[]=exporter');
  expect(sumOf(again, 'newrelic_exporter_api_requests_total', { account: 'one' })).toBeGreaterThan(0);
  expect(sumOf(again, 'newrelic_exporter_api_requests_total', { account: 'two' })).toBe(0);
});

test('a refused account recovers when its key file changes; a missing key file is logged once, and the last key stays', async () => {
  const clock = clockForTest();
  const simulator = await simulatorForTest({ applications: 1, now: clock.now });
  const exporter = await exporterForTest({
    ...clock.program,
    files: { 'key.txt': 'NRAK-REVOKEDSECRET\n' },
    config: { accounts: [{ name: 'one', api: 'rest', base_url: simulator.url, api_key_file: 'key.txt' }] },
  });
  const keyFile = join(exporter.folder, 'key.txt');
  const lines = () => exporter.output().match(/^.*Cannot use the key file.*$/gm) ?? [];
  expect(value(await exporter.scrape(), 'newrelic_up')).toBe(0);
  writeFileSync(keyFile, `${DEMO_API_KEY}\n`);
  expect(value(await scrapeUntilFresh(exporter), 'newrelic_up')).toBe(1);
  expect(lines()).toEqual([]);
  rmSync(keyFile);
  const calls = simulator.requests.count();
  clock.minutesLater(1);
  await scrapeUntil(exporter, 'calls for the next window', () => simulator.requests.count() > calls);
  expect(value(await scrapeUntilFresh(exporter), 'newrelic_up')).toBe(1);
  expect(lines()).toEqual([expect.stringMatching(/level=error .*account=one .*key\.txt does not exist/)]);
  for (const text of [commandLine(exporter.pid), exporter.output(), await exporter.text('/config')]) {
    expect(text).not.toMatch(new RegExp(`REVOKEDSECRET|${DEMO_API_KEY}`));
  }
});

// What other files can be: test/config/files.test.ts and test/config/loadFaults.long.test.ts.
test('SIGHUP reloads without --web.enable-lifecycle, a POST does not; 400,000 nested lists neither hang nor kill the exporter', async () => {
  const simulator = await simulatorForTest({ applications: 1 });
  const exporter = await exporterForTest({
    config: { accounts: [account(simulator)] },
    nodeArgs: ['--max-old-space-size=256'],
  });
  exporter.writeConfig('- '.repeat(400_000));
  expect((await fetch(`${exporter.url}/-/reload`, { method: 'POST' })).status).toBe(403);
  for (const times of [1, 2]) {
    exporter.signal('SIGHUP');
    await exporter.said(new RegExp(`(?:keeping the running one[^]*){${times}}`));
  }
  const families = await exporter.scrape();
  expect(value(families, RELOADED)).toBe(0);
  expect(samplesOf(families, 'newrelic_application_info')).toHaveLength(1);
  expect(await exporter.stop()).toEqual({ status: 0, signal: null });
});
