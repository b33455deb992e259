import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Agent } from 'undici';
import { describe, expect, test } from 'vitest';
import { parseListenAddress, ListenError, findSystemdSockets } from '../../../src/web/server/listening.ts';
import { serve, served, testApp } from '../support/app.ts';
import { deferred } from '../support/deferred.ts';
import { hostileClient, hostileClients, requestText, type HostileClient } from '../support/hostile.ts';
import { get } from '../support/http.ts';
import { sendRaw } from '../support/raw.ts';
import { temporaryFolders } from '../../config/folder.ts';
import { eventually } from '../../support/eventually.ts';

const newFolder = temporaryFolders();

describe('--web.listen-address', () => {
  test.each([
    [':9126', undefined, 9126],
    ['0.0.0.0:80', '0.0.0.0', 80],
    ['127.0.0.1:0', '127.0.0.1', 0],
    ['localhost:9126', 'localhost', 9126],
    ['exporter-1.example:65535', 'exporter-1.example', 65_535],
    ['[::1]:9126', '::1', 9126],
    ['[::]:9126', '::', 9126],
    ['[fe80::1%eth0]:9126', 'fe80::1%eth0', 9126],
  ])('accepts %s', (text, host, port) => {
    expect(parseListenAddress(text)).toEqual({ host, port });
  });

  test.each(['', '9126', ':', ':65536', '::1:9126', '[localhost]:1', 'a b:1', 'http://x:1', 'x:1/'])(
    'refuses %j and says why',
    (text) => {
      expect(() => parseListenAddress(text)).toThrow(`"${text}"`);
    },
  );

  test('listens on several addresses, IPv4 and IPv6, and reports the chosen ports', async () => {
    const { addresses } = await serve(testApp().app, {
      listen: [parseListenAddress('127.0.0.1:0'), parseListenAddress('[::1]:0')],
    });
    expect(addresses).toEqual([
      expect.stringMatching(/^127\.0\.0\.1:[1-9]\d*$/),
      expect.stringMatching(/^\[::1\]:[1-9]\d*$/),
    ]);
    for (const address of addresses) expect((await get(`http://${address}/-/healthy`)).status).toBe(200);
  });

  test('accepts :port for all interfaces, IPv4 and IPv6 alike', async () => {
    const { port } = await serve(testApp().app, { listen: [parseListenAddress(':0')] });
    expect((await get(`http://127.0.0.1:${port}/-/healthy`)).status).toBe(200);
    expect((await get(`http://[::1]:${port}/-/healthy`)).status).toBe(200);
  });

  test('reports an address in use in one sentence, and leaves nothing open', async () => {
    const { port } = await served();
    const taken = { host: '127.0.0.1', port };
    const started = serve(testApp().app, { listen: [{ host: '127.0.0.1', port: 0 }, taken] });
    await expect(started).rejects.toThrow(ListenError);
    await expect(started).rejects.toThrow(
      `Cannot listen on 127.0.0.1:${port}: another process uses this address; stop it or choose another --web.listen-address.`,
    );
    // Only the server that has the address is left, once those of earlier tests are closed.
    await expect.poll(listeners).toBe(1);
  });

  test('reports a port that needs more rights in one sentence', async (context) => {
    context.skip(process.platform !== 'linux', 'only Linux says which ports are free for everybody');
    const firstFree = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
    context.skip(firstFree < 2, 'this system lets everybody open every port');
    // Root may open any port: for this one attempt the process has no rights.
    const user = process.geteuid?.();
    if (user === 0) process.seteuid?.('nobody');
    try {
      await expect(serve(testApp().app, { listen: [{ host: '127.0.0.1', port: 1 }] })).rejects.toThrow(
        'Cannot listen on 127.0.0.1:1: no permission for this port; choose one above 1023 with --web.listen-address.',
      );
    } finally {
      if (user === 0) process.seteuid?.(0);
    }
  });

  test('opens nothing where the web configuration has become invalid since its check', async () => {
    const webConfigFile = join(newFolder(), 'web.yaml');
    writeFileSync(webConfigFile, 'basic_auth_users: {alice: plain}\n');
    const started = serve(testApp().app, { webConfigFile, listen: [{ host: '127.0.0.1', port: 0 }] });
    await expect(started).rejects.toThrow(new ListenError('The web configuration is invalid.'));
    await expect.poll(listeners).toBe(0);
  });

  test.each([
    ['a host name that nobody knows', { host: 'exporter.invalid' }, 'the host name is not known; correct'],
    ['an address that this machine does not have', { host: '192.0.2.1' }, 'this machine has no such address'],
  ])('reports %s in one sentence', async (_, { host }, why) => {
    await expect(serve(testApp().app, { listen: [{ host, port: 0 }] })).rejects.toThrow(
      `Cannot listen on ${host}:0: ${why}`,
    );
  });

  test('reports a file descriptor that is not a socket in one sentence', async () => {
    await expect(serve(testApp().app, { sockets: [9_999] })).rejects.toThrow(
      /^Cannot listen on the socket of file descriptor 9999: .*EBADF|EINVAL/,
    );
  });
});

describe('--web.systemd-socket', () => {
  test('uses the file descriptors from 3 on', () => {
    expect(findSystemdSockets({ LISTEN_FDS: '2', LISTEN_PID: '77' }, 77)).toEqual([3, 4]);
  });

  test.each([{}, { LISTEN_FDS: '1' }, { LISTEN_FDS: '1', LISTEN_PID: '78' }, { LISTEN_FDS: '0', LISTEN_PID: '77' }])(
    'says so where systemd passes no socket: %j',
    (environment) => expect(() => findSystemdSockets(environment, 77)).toThrow(ListenError),
  );

  test('serves on the sockets that a parent process passes', async () => {
    const listening = createServer().listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const { port } = listening.address() as AddressInfo;
    const script = fileURLToPath(new URL('../support/socketChild.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'tsx', script], {
      env: { ...process.env, LISTEN_FDS: '1' },
      stdio: ['ignore', 'pipe', 'inherit', descriptorOf(listening)],
    });
    try {
      const [printed] = (await once(child.stdout!, 'data')) as [Buffer];
      expect(printed.toString()).toBe(`127.0.0.1:${port}\n`);
      listening.close();
      expect((await get(`http://127.0.0.1:${port}/`)).text).toBe('from the handed-over socket');
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
});

describe('shutdown', () => {
  test('finishes the scrape in flight, closes kept-alive connections and accepts no new ones', async () => {
    const app = testApp();
    const servers = await serve(app.app);
    const idle = new Agent({ connections: 1 });
    await get(`${servers.origin}/-/healthy`, { agent: idle });
    const { promise, resolve } = deferred();
    app.collector.gate = promise;
    const scrape = get(`${servers.origin}/metrics`, { agent: new Agent({ connections: 1 }) });
    await eventually(() => expect(app.collector.refreshes).toHaveLength(1));
    const closed = servers.close(60_000);
    await expect(get(`${servers.origin}/-/healthy`)).rejects.toThrow();
    resolve();
    const got = await scrape;
    expect([got.status, got.headers.connection]).toEqual([200, 'close']);
    expect(got.text).toContain('newrelic_up 1');
    await closed;
    await idle.close();
  });

  test('closes a connection at the end of a response, although its header promised keep-alive', async () => {
    const { promise, resolve } = deferred();
    let begun = 0;
    const servers = await serve((_request, response) => {
      begun += 1;
      response.flushHeaders();
      void promise.then(() => response.end('whole'));
    });
    const asked = sendRaw(servers.port, requestText('/'));
    await eventually(() => expect(begun).toBe(1));
    const closed = servers.close(60_000);
    resolve();
    const { text, timedOut } = await asked;
    expect([timedOut, text.includes('Connection: keep-alive'), text.includes('whole')]).toEqual([false, true, true]);
    await closed;
  });

  test('finishes a response that has begun and the pipelined responses behind it, then closes the connection', async () => {
    const { promise, resolve } = deferred();
    let begun = 0;
    const servers = await serve((request, response) => {
      begun += 1;
      if (request.url === '/first') response.flushHeaders();
      void promise.then(() => response.end(request.url));
    });
    const asked = sendRaw(servers.port, requestText('/first') + requestText('/second'));
    await eventually(() => expect(begun).toBe(2));
    const closed = servers.close(60_000);
    resolve();
    const { text, timedOut } = await asked;
    expect(timedOut).toBe(false);
    const [, first = '', second = ''] = text.split('HTTP/1.1 200 OK');
    expect([first, second].map((response) => /\/(?:first|second)/.exec(response)?.[0])).toEqual(['/first', '/second']);
    const modes = [first, second].map((response) => /^Connection: (.*)\r$/im.exec(response)?.[1]);
    expect(modes).toEqual(['keep-alive', 'close']);
    await closed;
  });

  test('cuts off requests that do not end in time', async () => {
    const app = testApp();
    const servers = await serve(app.app);
    app.collector.gate = deferred().promise;
    const ended = expect(get(`${servers.origin}/metrics`)).rejects.toThrow();
    await eventually(() => expect(app.collector.refreshes).toHaveLength(1));
    await servers.close(20);
    await ended;
  });
});

describe('limits against clients', () => {
  test('a request line or header that is too large gets 431', async () => {
    const { port } = await served();
    const long = 'x'.repeat(20_000);
    for (const text of [requestText(`/${long}`), requestText('/', [`X-Long: ${long}`])]) {
      expect((await sendRaw(port, text)).text).toMatch(/^HTTP\/1\.1 431 /);
    }
  });

  test('a client that never ends its headers is cut off', async () => {
    const { port } = await served();
    const begun = ['', 'GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: '];
    const [silent, slow] = await Promise.all(begun.map((text) => sendRaw(port, text, 120_000)));
    expect([silent?.timedOut, slow?.timedOut]).toEqual([false, false]);
    expect(slow?.text).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a client may pipeline 32 requests; with one more its connection is closed without an answer', async () => {
    const { app, port } = await served();
    const { promise, resolve } = deferred();
    app.collector.gate = promise;
    const tooMany = await sendRaw(port, requestText('/metrics').repeat(34));
    expect(tooMany).toEqual({ text: '', timedOut: false });
    resolve();
    const last = requestText('/metrics', ['Connection: close']);
    const { text } = await sendRaw(port, requestText('/metrics').repeat(32) + last);
    expect(text.match(/^HTTP\/1\.1 200 /gm)).toHaveLength(33);
  });

  test('beyond the limit the connection with the oldest last response is closed, not the oldest connection', async () => {
    const { port } = await served();
    const ask = async ({ socket }: HostileClient): Promise<void> => {
      const responded = once(socket, 'data');
      socket.write(requestText('/-/healthy'));
      expect(String(await responded)).toContain('Healthy');
    };
    // Each asks at once, because a connection without a request is closed after 10 s.
    const asking = async (): Promise<HostileClient> => {
      const client = await hostileClient(port);
      await ask(client);
      return client;
    };
    const [first, second] = [await asking(), await asking()];
    const clients = [first, second, ...(await Promise.all(Array.from({ length: 510 }, asking)))];
    await ask(first);
    clients.push(await hostileClient(port));
    const closed = (): number[] => clients.flatMap(({ socket }, place) => (socket.closed ? [place] : []));
    await eventually(() => expect(closed()).toEqual([1]));
    await ask(first);
    for (const { socket } of clients) socket.destroy();
  });

  test('1,100 connections whose bodies never arrive keep no other client out', async () => {
    const { port, origin } = await served();
    const unfinished = requestText('/-/healthy', ['Content-Length: 70'], 'POST');
    for (let round = 0; round < 11; round += 1) {
      const clients = await hostileClients(100, port);
      clients.forEach(({ socket }) => socket.write(unfinished));
      await Promise.all(clients.map(({ closed }) => closed));
    }
    expect((await get(`${origin}/metrics`)).status).toBe(200);
  });
});

/** How many sockets of this process listen: a port that was free a moment ago may be another process's now. */
function listeners(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
}

/** The file descriptor of a listening socket, which Node does not tell openly. */
function descriptorOf(server: Server): number {
  const handle: unknown = Reflect.get(server, '_handle');
  if (typeof handle === 'object' && handle !== null && 'fd' in handle && typeof handle.fd === 'number')
    return handle.fd;
  throw new Error('the file descriptor of the listening socket is not known');
}
