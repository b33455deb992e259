import { describe, expect, test, vi } from 'vitest';
import type { AccountStatus } from '../../../src/collect/serve/accountStatus.ts';
import { served } from '../support/app.ts';
import { accountStatus } from '../support/collector.ts';
import { get } from '../support/http.ts';
import { sendRaw } from '../support/raw.ts';

const TWO = accountStatus({
  name: 'eu',
  applications: [
    { id: 7, name: 'same "name"', language: undefined, reporting: false },
    { id: 8, name: 'same "name"', language: 'go', reporting: true },
  ],
});

const UNREAD = 'No targets: the application list of eu cannot be read now.\n';
const EMPTY = 'No targets: eu lists no application: check whether the key still sees the whole account.\n';

describe('/sd', () => {
  test('gives a target group per application, usable without relabelling', async () => {
    const { app, origin, port } = await served();
    app.collector.accounts = [accountStatus(), TWO];
    const got = await get(`${origin}/sd`);
    expect(got.status).toBe(200);
    expect(got.headers['content-type']).toMatch(/^application\/json/);
    const groups = JSON.parse(got.text) as unknown[];
    expect(groups).toHaveLength(3);
    expect(groups[0]).toEqual({
      targets: [`127.0.0.1:${port}`],
      labels: {
        __metrics_path__: '/probe',
        __param_account: 'production',
        __param_app_id: '7',
        instance: 'production/7',
        __meta_newrelic_account: 'production',
        __meta_newrelic_app: 'checkout',
        __meta_newrelic_app_id: '7',
        __meta_newrelic_language: 'java',
        __meta_newrelic_reporting: 'true',
      },
    });
    expect(groups[1]).toMatchObject({
      labels: {
        instance: 'eu/7',
        __meta_newrelic_app: 'same "name"',
        __meta_newrelic_language: '',
        __meta_newrelic_reporting: 'false',
      },
    });
    expect(app.collector.refreshes.map(({ groups: asked }) => asked)).toEqual([['applications']]);
  });

  test('lets other work run between two pieces of a long list', async () => {
    const { app, origin } = await served();
    const [one] = TWO.applications ?? [];
    app.collector.accounts = [accountStatus({ applications: Array.from({ length: 5_000 }, () => one!) })];
    let time = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (time += 10));
    let turns = 0;
    let counting = setImmediate(function count() {
      turns += 1;
      counting = setImmediate(count);
    });
    const { text } = await get(`${origin}/sd`);
    clearImmediate(counting);
    clock.mockRestore();
    expect(JSON.parse(text)).toHaveLength(5_000);
    expect(turns).toBeGreaterThan(5);
  });

  const list = (state: 'stale' | 'missing') => ({ tasks: accountStatus().tasks.map((each) => ({ ...each, state })) });
  const none = (applications: number) => ({ applications: [], visible: { applications, keyTransactions: 0 } });

  test.each<[status: number, what: string, account: Partial<AccountStatus>, text: string]>([
    [503, 'the list of one account has not been read', { applications: undefined, tasks: [] }, UNREAD],
    [503, 'the held list is too old to be served', list('missing'), UNREAD],
    [503, 'an account lists no application', none(0), EMPTY],
    [200, 'the held list may be served', { up: false, ...list('stale') }, '[{"targets":'],
    [200, 'the configuration leaves out all applications of an account', none(3), '[]'],
  ])('answers %d, never an empty or shortened list, when %s', async (status, _, account, text) => {
    const { app, origin } = await served();
    app.collector.accounts = [accountStatus({ name: 'eu', ...account })];
    const got = await get(`${origin}/sd`);
    expect([got.status, got.text.startsWith(text)]).toEqual([status, true]);
  });

  test('?account= selects accounts, so that one unreadable account does not hide the others', async () => {
    const { app, origin } = await served();
    app.collector.accounts = [accountStatus(), accountStatus({ name: 'eu', applications: undefined }), TWO];
    app.collector.accounts[2] = { ...TWO, name: 'apac' };
    const instances = async (query: string) =>
      (JSON.parse((await get(`${origin}/sd${query}`)).text) as { labels: { instance: string } }[]).map(
        ({ labels }) => labels.instance,
      );
    expect((await get(`${origin}/sd`)).status).toBe(503);
    app.collector.refreshes.length = 0;
    expect(await instances('?account=production')).toEqual(['production/7']);
    expect(app.collector.refreshes.map(({ account }) => account)).toEqual(['production']);
    expect(await instances('?account=production&account=apac')).toEqual(['production/7', 'apac/7', 'apac/8']);
    expect((await get(`${origin}/sd?account=production&account=eu`)).status).toBe(503);
    const unknown = await get(`${origin}/sd?account=us`);
    expect([unknown.status, unknown.text]).toEqual([
      404,
      'The configuration has no account "us", or the account reads no applications.\n',
    ]);
  });

  test('carries every tag as a label; of two tags with one label name the first by name wins, with one warning', async () => {
    const { app, origin } = await served();
    const tags = [
      { key: 'team', values: ['payments', 'checkout'] },
      { key: 'cost-center', values: ['2'] },
      { key: 'cost center', values: ['1'] },
      { key: 'empty', values: [] },
    ];
    const application = { id: 7, name: 'checkout', language: 'java', reporting: true, tags };
    app.collector.accounts = [accountStatus({ applications: [application] })];
    for (let round = 0; round < 2; round += 1) {
      const [group] = JSON.parse((await get(`${origin}/sd`)).text) as [{ labels: Record<string, string> }];
      const found = Object.entries(group.labels).filter(([name]) => name.startsWith('__meta_newrelic_tag_'));
      expect(Object.fromEntries(found)).toEqual({
        __meta_newrelic_tag_team: 'checkout,payments',
        __meta_newrelic_tag_cost_center: '1',
        __meta_newrelic_tag_empty: '',
      });
    }
    expect(app.warnings).toEqual([
      'Service discovery: the tags cost center and cost-center share the label __meta_newrelic_tag_cost_center, which has the values of cost center.',
    ]);
  });

  test('reads the lists alone and renders no exposition', async () => {
    const { app, origin } = await served();
    app.collector.snapshot = () => {
      throw new Error('a response was put together');
    };
    expect((await get(`${origin}/sd`)).status).toBe(200);
  });

  test.each(['exporter.example', 'exporter.example:9126', '[2001:db8::1]:9126', 'EXPORTER_1:80'])(
    'gives the Host of the request as the target: %s',
    async (host) => {
      const { origin } = await served();
      expect(JSON.parse((await get(`${origin}/sd`, { headers: { host } })).text)).toMatchObject([{ targets: [host] }]);
    },
  );

  test.each(['a b', 'a/b', 'user@host', 'x:99999', '[::1', '-', 'a:b', 'ünïcode'])(
    'refuses a Host that is not an address: %s',
    async (host) => {
      const { port } = await served();
      const { text } = await sendRaw(
        port,
        Buffer.from(`GET /sd HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      );
      expect(text).toMatch(/^HTTP\/1\.1 400 /);
    },
  );

  test('gives the socket’s address as the target where the client sends no Host', async () => {
    const { port } = await served();
    const { text } = await sendRaw(port, 'GET /sd HTTP/1.0\r\n\r\n');
    expect(text).toContain(`"targets":["127.0.0.1:${port}"]`);
  });

  test('gives the path with the route prefix, or the path of the external address to a client that uses it', async () => {
    const externalUrl = new URL('https://ops.example/newrelic/');
    const { origin } = await served({ settings: { routePrefix: '/apm', externalUrl } });
    const labels = async (host: string) =>
      (JSON.parse((await get(`${origin}/apm/sd`, { headers: { host } })).text) as { labels: object }[])[0]?.labels;
    expect(await labels('10.0.0.1:9126')).toMatchObject({ __metrics_path__: '/apm/probe' });
    expect(await labels('10.0.0.1:9126')).not.toHaveProperty('__scheme__');
    expect(await labels('ops.example')).toMatchObject({ __metrics_path__: '/newrelic/probe', __scheme__: 'https' });
    expect(await labels('ops.example:443')).toMatchObject({ __metrics_path__: '/newrelic/probe' });
  });
});
