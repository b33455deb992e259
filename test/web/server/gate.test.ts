import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import bcrypt from 'bcryptjs';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolders } from '../../config/folder.ts';
import { eventually } from '../../support/eventually.ts';
import { serve, served, testApp } from '../support/app.ts';
import { deferred } from '../support/deferred.ts';
import { get } from '../support/http.ts';
import { sendRaw } from '../support/raw.ts';

const newFolder = temporaryFolders();
let file: string;

beforeEach(() => {
  file = join(newFolder(), 'web.yaml');
});

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
const users = (password: string) => `basic_auth_users:\n  alice: ${bcrypt.hashSync(password, 4)}\n`;

async function start(config: string) {
  writeFileSync(file, config);
  const app = testApp();
  return { app, ...(await serve(app.app, { webConfigFile: file })) };
}

describe('basic_auth_users', () => {
  test('asks for a password on every path but health and readiness, over plain HTTP where there is no TLS', async () => {
    const { origin, scheme, app } = await start(users('wonderland'));
    expect(scheme).toBe('http');
    const spoilt = ['/-/Healthy', '/-/healthy/', '/-/healthy/..', '/%2d/ready'];
    for (const path of ['/', '/metrics', '/-/reload', '/nothing', ...spoilt]) {
      const got = await get(`${origin}${path}`);
      expect([got.status, got.headers['www-authenticate'], got.text]).toEqual([401, 'Basic', 'Unauthorized\n']);
    }
    expect(app.collector.refreshes).toEqual([]);
    expect((await get(`${origin}/metrics`, { headers: basic('alice:wonderland') })).status).toBe(200);
    expect((await get(`${origin}/metrics`, { headers: basic('alice:wrong') })).status).toBe(401);
    expect((await get(`${origin}/metrics`, { headers: basic('bob:wonderland') })).status).toBe(401);
  });

  test('answers health and readiness without a password, to GET and HEAD, at exactly their paths', async () => {
    writeFileSync(file, `${users('wonderland')}rate_limit: {interval: 1h, burst: 1}\n`);
    const app = testApp({ settings: { routePrefix: '/exporter' } });
    const { origin, port } = await serve(app.app, { webConfigFile: file, routePrefix: '/exporter/' });
    const absolute = `GET ${origin}/exporter/-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expect((await sendRaw(port, absolute)).text).toContain('200 OK');
    expect((await sendRaw(port, absolute.replace('/-/', '\\/-/'))).text).toContain('401 Unauthorized');
    const ask = async (path: string, method = 'GET') => (await get(`${origin}${path}`, { method })).status;
    for (const path of ['/exporter/-/healthy', '/exporter/-/ready', '/exporter/-/healthy?x=1']) {
      expect([await ask(path), await ask(path, 'HEAD')]).toEqual([200, 200]);
    }
    expect([await ask('/-/healthy'), await ask('/exporter/-/ready', 'POST')]).toEqual([429, 429]);
  });

  test('answers only health and readiness while the web configuration is invalid', async () => {
    const { origin } = await start(users('old'));
    writeFileSync(file, 'basic_auth_users: [');
    const statuses = ['/-/healthy', '/-/ready', '/metrics'].map(async (path) => (await get(`${origin}${path}`)).status);
    expect(await Promise.all(statuses)).toEqual([200, 200, 500]);
  });

  test('counts refused logins and logs one line without the password; a request without a password is no login', async () => {
    writeFileSync(file, users('wonderland'));
    let refused = 0;
    const refusedLogin = () => void (refused += 1);
    const { origin, warnings } = await serve(testApp().app, { webConfigFile: file, refusedLogin });
    for (let index = 0; index < 5; index += 1) {
      await get(`${origin}/metrics`, { headers: basic(`alice:guess ${index}`) });
      await get(`${origin}/metrics`);
    }
    expect(refused).toBe(5);
    expect(warnings).toEqual(['Refused a login from 127.0.0.1: wrong user name or password.']);
  });

  test('logs that everybody is let in where the file lists no users, at the start and later', async () => {
    const started = await start('basic_auth_users: {}\n');
    expect(started.warnings).toEqual([expect.stringContaining('accepts all requests without a password')]);
    const { origin, warnings } = await start(users('old'));
    writeFileSync(file, 'basic_auth_users: {}\n');
    expect((await get(`${origin}/metrics`)).status).toBe(200);
    expect(warnings).toEqual([expect.stringContaining('accepts all requests without a password')]);
  });

  test('applies a changed file from the next request on', async () => {
    const { origin } = await start(users('old'));
    expect((await get(`${origin}/config`, { headers: basic('alice:old') })).status).toBe(200);
    writeFileSync(file, users('new'));
    expect((await get(`${origin}/config`, { headers: basic('alice:old') })).status).toBe(401);
    expect((await get(`${origin}/config`, { headers: basic('alice:new') })).status).toBe(200);
    writeFileSync(file, 'basic_auth_users: {}\n');
    expect((await get(`${origin}/config`)).status).toBe(200);
  });

  test.each(['', '# nothing\n', 'basic_auth_users:\n', 'http_server_config: {}\n'])(
    'keeps users that disappear from the file in force, and logs one line: %j',
    async (text) => {
      const { origin, warnings } = await start(users('old'));
      writeFileSync(file, text);
      expect((await get(`${origin}/config`)).status).toBe(401);
      expect((await get(`${origin}/config`, { headers: basic('alice:old') })).status).toBe(200);
      expect(warnings).toEqual([expect.stringContaining('write "basic_auth_users: {}" to accept all requests')]);
      writeFileSync(file, users('new'));
      expect((await get(`${origin}/config`, { headers: basic('alice:new') })).status).toBe(200);
    },
  );

  test('keeps users in force that disappear while the file is invalid', async () => {
    const { origin } = await start(users('old'));
    writeFileSync(file, 'basic_auth_users: [');
    expect((await get(`${origin}/config`)).status).toBe(500);
    writeFileSync(file, '');
    expect((await get(`${origin}/config`)).status).toBe(401);
  });

  test('refuses every request while the file is invalid or missing', async () => {
    const { origin, warnings } = await start(users('old'));
    for (const spoil of [() => writeFileSync(file, 'basic_auth_users: {alice: plain}\n'), () => rmSync(file)]) {
      spoil();
      const got = await get(`${origin}/metrics`, { headers: basic('alice:old') });
      expect([got.status, got.text]).toEqual([500, 'The web configuration is invalid; see the log of the exporter.\n']);
    }
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain('basic_auth_users.alice');
    expect(warnings[0]).not.toContain('plain');
    writeFileSync(file, users('old'));
    expect((await get(`${origin}/config`, { headers: basic('alice:old') })).status).toBe(200);
  });
});

describe('a password', () => {
  test('that cannot be compared gets 500 and a line in the log, and lets nobody in', async () => {
    writeFileSync(file, users('wonderland'));
    const app = testApp();
    const fault = new Error('the thread that compares passwords has ended');
    const servers = await serve(app.app, { webConfigFile: file, compare: () => Promise.reject(fault) });
    const got = await get(`${servers.origin}/metrics`, { headers: basic('alice:wonderland') });
    expect([got.status, got.text]).toEqual([500, 'Internal error; see the log of the exporter.\n']);
    expect(servers.failures).toEqual([fault]);
    expect(app.collector.refreshes).toEqual([]);
  });
});

describe('more passwords than can wait for their comparison', () => {
  test('get 503 with Retry-After, not 401, and do not count as refused logins', async () => {
    writeFileSync(file, users('wonderland'));
    const { promise, resolve } = deferred();
    let refused = 0;
    let compared = 0;
    const { origin } = await serve(testApp().app, {
      webConfigFile: file,
      refusedLogin: () => void (refused += 1),
      compare: async () => {
        compared += 1;
        await promise;
        return false;
      },
    });
    const ask = (password: string) => get(`${origin}/metrics`, { headers: basic(`alice:${password}`) });
    const first = ask('1');
    await eventually(() => expect(compared).toBe(1));
    const others = [ask('2'), ask('3')];
    const busy = await Promise.race(others);
    expect([busy.status, busy.headers['retry-after'], busy.headers['www-authenticate']]).toEqual([503, '1', undefined]);
    expect(refused).toBe(0);
    resolve();
    expect((await first).status).toBe(401);
    expect((await Promise.all(others)).map(({ status }) => status).toSorted()).toEqual([401, 503]);
    expect([refused, compared]).toEqual([2, 2]);
  });
});

describe('an internal error', () => {
  test('gets 500 before a response has begun; after that it closes the connection', async () => {
    const fault = new Error('nobody foresaw this');
    const servers = await serve((request, response) => {
      if (request.url === '/begun') response.writeHead(200, { 'Content-Length': 100 }).write('half');
      throw fault;
    });
    const got = await get(`${servers.origin}/`);
    expect([got.status, got.text]).toEqual([500, 'Internal error; see the log of the exporter.\n']);
    await expect(get(`${servers.origin}/begun`)).rejects.toThrow();
    expect(servers.failures).toEqual([fault, fault]);
  });
});

describe('http_server_config', () => {
  test('puts its headers on every response, also on refusals, and follows changes of the file', async () => {
    const headers = (value: string) => `http_server_config:\n  headers:\n    X-Frame-Options: ${value}\n`;
    const { origin } = await start(`${headers('deny')}${users('x')}`);
    expect((await get(`${origin}/metrics`)).headers['x-frame-options']).toBe('deny');
    writeFileSync(file, `${headers('sameorigin')}${users('x')}`);
    expect((await get(`${origin}/nothing`)).headers['x-frame-options']).toBe('sameorigin');
  });

  test('adds its Content-Security-Policy to the strict policy of the status page', async () => {
    const { origin } = await start(
      'http_server_config:\n  headers:\n    Content-Security-Policy: upgrade-insecure-requests\n',
    );
    expect((await get(`${origin}/`)).headers['content-security-policy']).toEqual([
      'upgrade-insecure-requests',
      expect.stringContaining("default-src 'none'"),
    ]);
  });
});

describe('rate_limit', () => {
  test('answers 429 beyond the burst and accepts one more request per interval', async () => {
    writeFileSync(file, 'rate_limit:\n  interval: 10s\n  burst: 3\n');
    let clock = 0;
    const { origin } = await serve(testApp().app, { webConfigFile: file, monotonic: () => clock });
    const statuses = async (count: number) => {
      const all: number[] = [];
      for (let index = 0; index < count; index += 1) all.push((await get(`${origin}/config`)).status);
      return all;
    };
    expect(await statuses(5)).toEqual([200, 200, 200, 429, 429]);
    clock += 10_000;
    expect(await statuses(2)).toEqual([200, 429]);
    clock += 9_999;
    expect(await statuses(1)).toEqual([429]);
    clock += 3_600_000;
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
  });
});

describe('request bodies', () => {
  const reloading = () => testApp({ reload: () => Promise.resolve([]) });

  test.each([
    ['a length but no bytes', 'Content-Length: 70000\r\n\r\n'],
    ['a length but only some of the bytes', 'Content-Length: 70\r\nExpect: 100-continue\r\n\r\nhalf of it'],
    ['chunks without an end', 'Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n'],
  ])('with %s get an answer at once and a closed connection', async (_, rest) => {
    const { port } = await serve(reloading().app);
    for (const request of ['POST /-/reload', 'GET /metrics', 'GET /sd', 'GET /-/healthy']) {
      const { text, timedOut } = await sendRaw(port, `${request} HTTP/1.1\r\nHost: x\r\n${rest}`);
      expect([request, timedOut]).toEqual([request, false]);
      expect(text).toMatch(/^HTTP\/1\.1 (?:100 Continue\r\n\r\nHTTP\/1\.1 )?200 /);
      expect(text).toMatch(/^Connection: close\r$/im);
    }
  });
});

describe('request targets', () => {
  test.each<[what: string, target: string, host: string, response: RegExp]>([
    ['are accepted in the absolute form', 'HTTP://x:81/sd?x=1', 'other', /^HTTP\/1\.1 200 [^]*"targets":\["other"\]/],
    ['mean the root in the absolute form without a path', 'http://x?q=checkout', 'x', /<!doctype html>/],
    ['are refused with several Host headers', '/sd', 'a\r\nHost: b', /^HTTP\/1\.1 400 [^]*more than one Host header/],
    ...['ftp://x/metrics', 'http://[/metrics', 'http://x%/metrics', '*', 'metrics', '?x'].map(
      (target): [string, string, string, RegExp] => ['are refused in any other form', target, 'x', /^HTTP\/1\.1 400 /],
    ),
  ])('%s: %s', async (_, target, host, response) => {
    const { port } = await served();
    const { text } = await sendRaw(port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(text).toMatch(response);
  });
});
