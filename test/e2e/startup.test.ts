import { createServer } from 'node:net';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolders } from '../config/folder.ts';
import { value } from '../support/exposition.ts';
import { commandsOn, runInProcess } from '../support/inProcess.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account, configText, nerdGraphAccount } from './support/config.ts';
import { exporterForTest } from './support/forTest.ts';
import { runProgram, startProgram } from './support/program.ts';

const newFolder = temporaryFolders();

const VALID = configText({ accounts: [{ name: 'one', api_key: 'NRAK-ONE' }] });

test('several misspelt settings give status 2 and one line for each, in serve and in check', async () => {
  const file = join(newFolder(), 'config.yaml');
  writeFileSync(file, 'accounts:\n  - name: one\n    api_keys: NRAK-ONE\ncolection: {}\n');
  const named = `--config.file=${file}`;
  const ways = [runInProcess(['serve', named]), runInProcess(['check', named]), runProgram(['--config.check', named])];
  for (const { status, stdout, stderr } of await Promise.all(ways)) {
    expect([status, stdout]).toEqual([2, '']);
    const says = [/config\.yaml:3:5: .*api_key/, /config\.yaml:4:1: .*collection/, /accounts\[0\].*key/];
    for (const line of says) expect(stderr).toMatch(line);
    expect(stderr.trim().split('\n')).toHaveLength(says.length);
  }
});

test.each([
  { what: 'a file that does not exist', args: ['--config.file=nowhere.yaml'], says: /nowhere\.yaml/ },
  { what: 'no configuration at all', args: [], says: /NEW_RELIC_API_KEY/ },
])('$what gives status 2 and a sentence', async ({ args, says }) => {
  const { status, stderr } = await runInProcess(args);
  expect(stderr).toMatch(says);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(status).toBe(2);
});

test('faults of both files are reported at once', async () => {
  const files = { 'config.yaml': 'accounts: [{api_key: abcd, regoin: us}]\n', 'web.yaml': 'tls_server_confg: {}\n' };
  const folder = newFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { status, stderr } = await runInProcess(['--web.config.file=web.yaml'], { folder });
  expect(stderr).toMatch(/^config\.yaml:1:28: .*region.*\nweb\.yaml:1:1: .*tls_server_config.*\n$/);
  expect(status).toBe(2);
});

test('SIGTERM during the start ends the exporter with status 0', async () => {
  const file = join(newFolder(), 'config.yaml');
  writeFileSync(file, VALID);
  const program = startProgram({ args: [`--config.file=${file}`, '--web.listen-address=127.0.0.1:0'] });
  await program.said(/configuration from/);
  program.signal('SIGTERM');
  expect((await program.ended).status).toBe(0);
});

test('an address in use gives status 1 and a sentence', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void holder.close());
  await once(holder, 'listening');
  const { port } = holder.address() as { port: number };
  const { status, output } = await runProgram([`--web.listen-address=127.0.0.1:${port}`], { config: VALID });
  expect(output).toMatch(new RegExp(`127\\.0\\.0\\.1:${port}: another process uses this address`));
  expect(output).not.toMatch(/\n\s+at /);
  expect(status).toBe(1);
});

test('--web.disable-exporter-metrics leaves out process_* and nodejs_*, and nothing else', async () => {
  const families = async (...flags: string[]): Promise<string[]> => {
    const exporter = await exporterForTest({ config: VALID, flags });
    return (await exporter.scrape('/metrics?collect[]=exporter')).map(({ name }) => name);
  };
  const [all, without] = await Promise.all([families(), families('--web.disable-exporter-metrics')]);
  expect(all).toContain('process_resident_memory_bytes');
  expect(without).toEqual(all.filter((name) => !/^(?:process|nodejs)_/.test(name)));
});

test('the root redirects to the route prefix, with a text in HTML for a browser', async () => {
  const { url } = await exporterForTest({ config: VALID, flags: ['--web.route-prefix=/apm'] });
  for (const type of ['text/html', 'text/plain']) {
    const redirect = await fetch(url, { headers: { accept: `${type}, */*;q=0.1` }, redirect: 'manual' });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, '/apm/']);
    expect(redirect.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
    expect(await redirect.text()).toContain('Redirecting to /apm/');
  }
});

test('without a file the exporter reads the environment, and says so', async () => {
  const exporter = await exporterForTest({
    env: { NEW_RELIC_API_KEY: 'NRAK-ENVIRONMENTSECRET', NEW_RELIC_REGION: 'eu' },
  });
  expect(exporter.output()).toMatch(/environment/);
  expect(await exporter.text('/config')).toMatch(/eu/);
  await exporter.scrape('/metrics?collect[]=exporter');
  const pages = await Promise.all(['/', '/config', '/api/status'].map((path) => exporter.text(path)));
  for (const text of [...pages, exporter.output()]) expect(text).not.toContain('ENVIRONMENTSECRET');
  // The exporter's own metrics alone read nothing, and the page must not look as if all were well.
  expect(JSON.parse(await exporter.text('/api/status'))).toMatchObject({ verdict: 'nothing_read', last_scrapes: [] });
});

const INTERFACES = [
  ['REST', account],
  ['NerdGraph', nerdGraphAccount],
] as const;

test.each(INTERFACES)(
  'over %s the log and check --live name the region where a key is forbidden',
  async (_, accountOf) => {
    const forbidding = await simulatorForTest({ applications: 1, faults: [{ effect: 'forbidden-page' }] });
    const forbidden = accountOf(forbidding, 'one');
    const exporter = await exporterForTest({ config: { accounts: [forbidden] } });
    await exporter.scrape();
    const refusal = exporter
      .output()
      .split('\n')
      .find((line) => line.includes('level=error'));
    expect(refusal).toContain('New Relic refuses the account: ');
    const { stdout } = await commandsOn(forbidden)('check', '--live');
    for (const text of [refusal, stdout]) {
      expect(text?.replaceAll('\\"', '"')).toContain('"region" to the region of this account: us, eu, gov or jp');
    }
  },
);

test('with a wrong key the exporter starts, newrelic_up is 0, and the log says what to change', async () => {
  const simulator = await simulatorForTest({ applications: 2 });
  const exporter = await exporterForTest({
    config: { accounts: [account(simulator, 'one', { api_key: 'NRAK-WRONGKEYSECRET' })] },
  });
  for (let scrape = 0; scrape < 3; scrape += 1) {
    expect(value(await exporter.scrape(), 'newrelic_up', { account: 'one' })).toBe(0);
  }
  expect(JSON.parse(await exporter.text('/api/status'))).toMatchObject({
    verdict: 'failing',
    verdict_text: expect.stringMatching(/^New Relic refuses the key of .*: nothing was read yet/) as unknown,
    last_scrapes: [{ address: '127.0.0.1' }],
  });
  // One cheap call per interval, however often it is scraped; what was on its way with it counts, too.
  expect(simulator.requests.count()).toBeLessThanOrEqual(2);
  const lines = exporter.output().split('\n');
  const refusals = lines.filter((line) => /level=error/.test(line));
  expect(refusals).toHaveLength(1);
  expect(refusals[0]).toContain('New Relic refuses the account: use a valid user key');
  // Why stands in the line of the group that failed, once.
  expect(lines.filter((line) => /group=applications reason=auth .*status 401/.test(line))).toHaveLength(1);
  for (const text of [exporter.output(), await exporter.text('/metrics'), await exporter.text('/')]) {
    expect(text).not.toContain('WRONGKEYSECRET');
  }
});

test('serve loads no module of the other commands or of the simulator', async () => {
  const simulator = await simulatorForTest({ applications: 2 });
  const config = { accounts: [account(simulator), nerdGraphAccount(simulator, 'other')] };
  const folder = newFolder();
  const exporter = await exporterForTest({ config, env: { NODE_V8_COVERAGE: folder } });
  await exporter.scrape();
  await exporter.stop();
  const reports = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const dist = resolve(import.meta.dirname, '../../dist');
  const scripts = readdirSync(dist).filter((name) => name.endsWith('.js'));
  const namesIn = (declared: readonly string[], isLoaded: boolean): string[] => {
    const files = scripts.filter((name) => reports.some((text) => text.includes(`/dist/${name}"`)) === isLoaded);
    const code = files.map((name) => readFileSync(join(dist, name), 'utf8')).join('\n');
    return declared.filter((name) => code.includes(`function ${name}(`) || code.includes(`class ${name}{`));
  };
  const tools = declaredOnlyIn(/^(?:src\/tools|simulator)\//);
  expect(namesIn(declaredOnlyIn(/^src\/collect\//), true)).not.toEqual([]);
  expect(namesIn(tools, true)).toEqual([]);
  expect(namesIn(tools, false).length).toBeGreaterThan(50);
});

/** Long names, which no library has too, of exported functions and classes that only those files of the sources declare. */
function declaredOnlyIn(files: RegExp): readonly string[] {
  const root = resolve(import.meta.dirname, '../..');
  const declared = new Map<string, boolean>();
  const sources = ['src', 'simulator'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  );
  for (const file of sources.filter((name) => name.endsWith('.ts'))) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/^export (?:async )?(?:function|class) (\w{12,})/gm)) {
      declared.set(name, (declared.get(name) ?? true) && files.test(file));
    }
  }
  return [...declared].filter(([, only]) => only).map(([name]) => name);
}
