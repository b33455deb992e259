import { gunzipSync } from 'node:zlib';
import { Command } from 'commander';
import request from 'supertest';
import { describe, expect, test } from 'vitest';
import { addWebFlags } from '../../src/cli/flags.ts';
import { serve, served, testApp } from './support/app.ts';
import { accountStatus, type MemoryCollector } from './support/collector.ts';
import { deferred } from './support/deferred.ts';
import { get } from './support/http.ts';
import { READ_PATHS } from './support/paths.ts';
import { eventually } from '../support/eventually.ts';

const REFUSED = accountStatus({ up: false, refused: 'the key was refused (401)', applications: undefined });

const NOT_FOUND =
  'Not found. Endpoints: /, /metrics, /probe, /sd, /api/status, /config, /-/healthy, /-/ready, /-/reload\n';

describe('methods and paths', () => {
  test.each(
    READ_PATHS.flatMap((path) => ['POST', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND'].map((method) => [method, path])),
  )('%s %s is not allowed', async (method = '', path = '') => {
    const { origin } = await served();
    const got = await get(`${origin}${path}`, { method });
    expect([got.status, got.headers.allow, got.text]).toEqual([
      405,
      'GET, HEAD',
      'Method not allowed: use GET or HEAD\n',
    ]);
    expect(got.headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  test.each(READ_PATHS)('HEAD %s has the header fields of GET without the body', async (path) => {
    const { app } = testApp();
    const whole = await request(app).get(path).set('accept-encoding', 'identity').buffer(true).expect(200);
    const head = await request(app).head(path).set('accept-encoding', 'identity').expect(200);
    expect([head.get('content-type'), head.text]).toEqual([whole.get('content-type'), undefined]);
    expect(head.get('content-length')).toBe(String(Buffer.byteLength(whole.text)));
  });

  test.each(['/nothing', '/metrics/', '/METRICS', '/-/', '//metrics', '/%6detrics', '/favicon.ico', '/%'])(
    '%s is not found, whatever the method',
    async (path) => {
      const { origin } = await served();
      for (const method of ['GET', 'POST']) {
        const got = await get(`${origin}${path}`, { method });
        expect([got.status, got.text]).toEqual([404, NOT_FOUND]);
        expect(got.headers['content-type']).toBe('text/plain; charset=utf-8');
      }
    },
  );

  test('answers 500 with a sentence to an internal error, logs the error and never shows it', async () => {
    const configText = (): string => {
      throw new Error('secret inside');
    };
    const { app, origin } = await served({ dependencies: { configText } });
    const got = await get(`${origin}/config`);
    expect([got.status, got.text]).toEqual([500, 'Internal error; see the log of the exporter.\n']);
    expect(app.failures).toEqual([new Error('secret inside')]);
  });
});

describe('pages', () => {
  test('answer while requests for /sd wait for lists, as health and the exporter’s metrics do', async () => {
    const { app, origin } = await served();
    const { promise, resolve } = deferred();
    app.collector.gate = promise;
    const waiting = Array.from({ length: 100 }, () => get(`${origin}/sd`));
    await eventually(() => expect(app.collector.refreshes).toHaveLength(100));
    for (const path of ['/', '/api/status', '/config', '/metrics?collect[]=exporter', '/-/healthy', '/-/ready']) {
      expect([path, (await get(`${origin}${path}`)).status]).toEqual([path, 200]);
    }
    resolve();
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  test.each(['/', '/api/status', '/sd', '/config'])('%s is compressed for a client that accepts gzip', async (path) => {
    const { origin } = await served();
    const plain = await get(`${origin}${path}`);
    const got = await get(`${origin}${path}`, { headers: { 'accept-encoding': 'gzip' } });
    expect([plain.headers['content-encoding'], got.headers['content-encoding']]).toEqual([undefined, 'gzip']);
    expect([plain.headers.vary, got.headers.vary]).toEqual(['Accept, Accept-Encoding', 'Accept, Accept-Encoding']);
    expect(gunzipSync(got.bytes).toString()).toBe(plain.text);
  });
});

describe('one page requested by many clients at once', () => {
  test.each(['/', '/?q=check', '/api/status'])(
    '%s is rendered for the first client, and once for all clients that ask meanwhile',
    async (path) => {
      const app = testApp();
      let asked = 0;
      const { origin } = await serve((request, response) => {
        asked += 1;
        app.app(request, response);
      });
      const { promise, resolve } = deferred();
      app.collector.answered = promise;
      const pages = Array.from({ length: 20 }, () => get(`${origin}${path}`));
      await eventually(() => expect(asked).toBe(20));
      resolve();
      const bodies = await Promise.all(pages);
      expect([new Set(bodies.map(({ text }) => text)).size, app.collector.asOf.length]).toEqual([1, 2]);
      await get(`${origin}${path}`);
      expect(app.collector.asOf).toHaveLength(3);
    },
  );
});

describe('--web.telemetry-path', () => {
  const parse = (path: string): void => {
    const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
    addWebFlags(command).parse([`--web.telemetry-path=${path}`], { from: 'user' });
  };

  test.each(['/', '/a(b)*c:d+e!', '/a/b'])('serves the metrics at exactly the path %s', async (telemetryPath) => {
    const { origin } = await served({ settings: { telemetryPath } });
    expect((await get(`${origin}${telemetryPath}`)).text).toContain('newrelic_up 1');
    expect((await get(`${origin}/metrics`)).status).toBe(404);
  });

  test.each(['/probe', '/sd', '/config', '/api/status', '/-/healthy', '/-/ready', '/-/reload'])(
    'cannot be the path of another endpoint: %s',
    (path) => expect(() => parse(path)).toThrow('It is the path of another endpoint'),
  );

  test.each(['/', '/metrics', '/probes'])('may be %s', (path) => expect(() => parse(path)).not.toThrow());
});

describe('health and readiness', () => {
  test.each<[what: string, path: string, status: number, prepare: (collector: MemoryCollector) => unknown]>([
    [
      'the exporter makes progress, whatever New Relic does',
      '/-/healthy',
      200,
      (collector) => (collector.accounts = [REFUSED]),
    ],
    ['the exporter makes no progress', '/-/healthy', 503, (collector) => (collector.healthy = false)],
    ['nobody has scraped', '/-/ready', 200, () => undefined],
    ['background mode has not tried everything once', '/-/ready', 503, (collector) => (collector.isReady = false)],
  ])('while %s: %s answers %d', async (_, path, status, prepare) => {
    const { app, origin } = await served({ background: status === 503 });
    prepare(app.collector);
    expect((await get(`${origin}${path}`)).status).toBe(status);
    expect(app.collector.refreshes).toEqual([]);
  });

  test('/-/ready answers 503 once shutdown has begun', async () => {
    const { origin } = await served({ stopping: () => true });
    expect((await get(`${origin}/-/ready`)).status).toBe(503);
  });
});

describe('/-/reload', () => {
  test.each<[headers: Readonly<Record<string, string>>, status: number, method?: string]>([
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://127.0.0.1:1' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ origin: 'https://proxy.example' }, 200],
    [{ origin: 'own' }, 200],
    [{}, 200],
    [{}, 200, 'PUT'],
  ])('lets no page of another site reload: a request with %j gets %d', async (headers, status, method = 'POST') => {
    let reloads = 0;
    const reload = () => {
      reloads += 1;
      return Promise.resolve([]);
    };
    const externalUrl = new URL('https://proxy.example/exporter/');
    const { origin } = await served({ reload, settings: { externalUrl } });
    const sent = headers['origin'] === 'own' ? { origin } : headers;
    expect((await get(`${origin}/-/reload`, { method, headers: sent })).status).toBe(status);
    expect(reloads).toBe(status === 200 ? 1 : 0);
  });

  test('answers 403 unless enabled, and 405 to GET', async () => {
    const { origin } = await served();
    for (const method of ['POST', 'PUT']) {
      const got = await get(`${origin}/-/reload`, { method });
      expect([got.status, got.text]).toEqual([403, expect.stringContaining('--web.enable-lifecycle')]);
    }
    const got = await get(`${origin}/-/reload`);
    expect([got.status, got.headers.allow, got.text]).toEqual([
      405,
      'POST, PUT',
      'Method not allowed: use POST or PUT\n',
    ]);
  });

  test('answers 500 with the faults of the configuration', async () => {
    const diagnostics = ['config.yaml:3:5: accounts[0].region: must be us', 'config.yaml:9:1: nonsense: unknown key'];
    const { origin } = await served({ reload: () => Promise.resolve(diagnostics) });
    const got = await get(`${origin}/-/reload`, { method: 'POST' });
    expect([got.status, ...got.text.trimEnd().split('\n').slice(1)]).toEqual([500, ...diagnostics]);
  });
});

describe('/config', () => {
  test('shows the running configuration as plain text, with the key hidden', async () => {
    const { origin } = await served();
    const got = await get(`${origin}/config`);
    expect(got.text).toContain('api_key: <secret>');
    expect(got.headers['content-type']).toBe('text/plain; charset=utf-8');
  });
});

describe('--web.route-prefix', () => {
  test.each(['/apm', '/apm/', 'apm', '//apm//'])('moves every path: %s', async (routePrefix) => {
    const { origin } = await served({ settings: { routePrefix } });
    for (const path of READ_PATHS) expect((await get(`${origin}/apm${path}`)).status).toBe(200);
    expect((await get(`${origin}/apm`)).status).toBe(200);
    expect((await get(`${origin}/metrics`)).status).toBe(404);
    const root = await get(`${origin}/`);
    expect([root.status, root.headers.location]).toEqual([302, '/apm/']);
    expect((await get(`${origin}/apm/`)).text).toContain('href="/apm/metrics"');
  });

  test('the links of the page begin with the external address', async () => {
    const externalUrl = new URL('https://ops.example/newrelic/');
    const { origin } = await served({ settings: { routePrefix: '/apm', externalUrl } });
    const page = (await get(`${origin}/apm/`)).text;
    for (const path of ['/metrics', '/config', '/sd', '/api/status']) expect(page).toContain(`href="/newrelic${path}"`);
  });
});
