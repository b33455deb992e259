import { createServer } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { listen } from '../api/support/testServer.ts';
import { commandsOn } from '../support/inProcess.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account, nerdGraphAccount } from './support/config.ts';
import { exporterForTest } from './support/forTest.ts';

/** The key of an account that a reload adds, and one of no account. */
const LATER = 'later/key+of-a-proxy 0123456789'.replaceAll(' ', '');
const FOREIGN = 'NRII-abcdefghijkl_mnopqrst-uvwxyz0123';
const ECHO = `${DEMO_API_KEY} ${LATER} ${FOREIGN}`;
const SECRETS = [DEMO_API_KEY, LATER, encodeURIComponent(LATER), FOREIGN];

/** The service's answer with keys in its texts: names, hosts, tags, facets, titles and messages. */
function echoing(path: string, asked: string, answer: string): string {
  const isList = /applications\.json|key_transactions\.json|hosts\.json/.test(path) || asked.includes('entitySearch');
  const named = isList ? answer.replace(/("name":"|"host":"|"domain":")(?=[^"])/g, `$1${ECHO} `) : answer;
  // Facets of the exporter's own queries name subjects: with other ones nothing would be read.
  const faceted = asked.includes('FACET appName') ? named.replace(/("facet":\[?")/g, `$1${ECHO} `) : named;
  return faceted
    .replace(/("values":\[")/g, `$1${ECHO} `)
    .replace(/("title":")/g, `$1${ECHO} `)
    .replace(/("messages":\[)\]/g, `$1"about ${ECHO}"]`);
}

async function echoingService() {
  const simulator = await simulatorForTest({ applications: 2, hostsPerApplication: 1, keyTransactions: 1 });
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    void textOf(request).then(async (body) => {
      const skipped = ['host', 'accept-encoding', 'content-length', 'connection'];
      const headers = Object.entries(request.headers).filter(([name]) => !skipped.includes(name));
      const forwarded = await fetch(`${simulator.url}${path}`, {
        method: request.method ?? 'GET',
        headers: { ...(Object.fromEntries(headers) as Record<string, string>), 'x-api-key': DEMO_API_KEY },
        ...(body === '' ? {} : { body }),
      });
      if (path.includes('key_transactions')) {
        response.writeHead(400).end(JSON.stringify({ error: { title: `No access for ${ECHO}` } }));
      } else response.writeHead(forwarded.status).end(echoing(path, body, await forwarded.text()));
    });
  });
  const { port, close } = await listen(server);
  onTestFinished(close);
  return { url: `http://127.0.0.1:${port}` };
}

const METRICS = [{ name: 'shop_rows', value: 'n', help: 'Rows.' }];
const QUERIES = [{ name: 'q', nrql: 'SELECT count(*) AS n FROM Transaction FACET appName', metrics: METRICS }];
const entities = [{ type: 'EXT-SERVICE', tags: ['team'] }];

test('no endpoint and no log line shows a key that the service echoes, also after a reload brings a new key', async () => {
  const service = await echoingService();
  const accounts = [
    account(service, 'rest', { instances: true }),
    nerdGraphAccount(service, 'nerdgraph', { queries: QUERIES, entities, applications: { tags: ['team'] } }),
  ];
  const exporter = await exporterForTest({
    config: { accounts },
    flags: ['--log.level=debug', '--web.enable-lifecycle'],
  });
  const paths = [
    '/metrics',
    '/',
    '/?open=1',
    '/api/status',
    '/sd',
    '/config',
    '/probe?account=rest&app_id=1000001&debug=true',
  ];
  const read = async (): Promise<string[]> => {
    const pages: string[] = [];
    for (const path of paths) pages.push(await exporter.text(path));
    return pages;
  };
  const before = await read();
  const [metrics = ''] = before;
  const expected = [
    /newrelic_application_info\{.*account="rest".*app="<secret> later/,
    /newrelic_application_info\{.*account="nerdgraph".*app="<secret> later/,
    /host="<secret> later/,
    /tag_team="<secret> later/,
    /shop_rows\{.*="<secret> later/,
    /newrelic_entity_info\{.*entity="<secret> later/,
    /# HELP newrelic_ext_service_.*<secret> later/,
  ];
  expect(expected.filter((pattern) => !pattern.test(metrics))).toEqual([]);
  const shownIn = (pages: readonly string[], keys: readonly string[]) =>
    paths.filter((_, index) => keys.some((key) => pages[index]?.includes(key)));
  expect(shownIn(before, [DEMO_API_KEY, FOREIGN])).toEqual([]);
  expect(before[1]?.includes('&lt;secret&gt;')).toBe(true);
  expect(before[1]?.includes('<secret>')).toBe(false);

  exporter.writeConfig({ accounts: [...accounts, account(service, 'later', { api_key: LATER })] });
  expect((await fetch(`${exporter.url}/-/reload`, { method: 'POST' })).status).toBe(200);
  const logged = exporter.output().length;
  expect(shownIn(await read(), SECRETS)).toEqual([]);
  for (const key of [DEMO_API_KEY, FOREIGN]) expect(exporter.output()).not.toContain(key);
  expect(exporter.output().slice(logged)).not.toContain(LATER);
  expect(exporter.output()).toContain('No access for <secret>');
  expect(exporter.output()).toContain('about <secret>');
});

test.each([
  'check --live',
  'discover',
  'discover --entities=EXT-SERVICE',
  'query --name=q --format=table',
  'query --name=q --format=json',
  'query --name=q --format=metrics',
  'plan',
])('a command does not print a key that the service echoes: %s', async (command) => {
  const service = await echoingService();
  const settings = { queries: QUERIES, entities, api_key: DEMO_API_KEY };
  const { stdout, stderr } = await commandsOn(nerdGraphAccount(service, 'one', settings))(...command.split(' '));
  for (const key of [DEMO_API_KEY, FOREIGN]) expect(stdout + stderr).not.toContain(key);
  if (command !== 'plan') expect(stdout + stderr).toContain('<secret>');
});
