import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { authority, forLocalhost } from '../../support/certificates.ts';
import { failureOf, KEY, serve, startReading } from '../support/reading.ts';
import type { Reading } from '../support/reading.ts';
import { json, startServer } from '../support/testServer.ts';
import type { Responder, TestServer } from '../support/testServer.ts';
import { startProxy, type TestProxy } from '../support/tunnelProxy.ts';

const none: Responder = (response) => json(response, { applications: [] });
const ca = await authority();
const signed = await forLocalhost(ca);

async function through(proxy: TestProxy, more: Record<string, string> = {}): Promise<Reading & { server: TestServer }> {
  const environment = { HTTPS_PROXY: `http://user:pass@127.0.0.1:${proxy.port}`, ...more };
  return await serve(none, { environment, tls: { ca: ca.cert } }, signed);
}

describe('HTTPS_PROXY', () => {
  it('is passed through by a tunnel that shows neither the key nor the path', async () => {
    const proxy = await startProxy();
    const { server, reader, call } = await through(proxy);
    expect(await reader.listApplications({}, call)).toEqual([]);
    expect(server.asked[0]?.headers['x-api-key']).toBe(KEY);
    expect(proxy.seen).toHaveLength(1);
    expect(proxy.seen[0]).toContain(`CONNECT localhost:${server.port}`);
    expect(proxy.seen[0]).toContain(Buffer.from('user:pass').toString('base64'));
    expect(proxy.seen[0]).not.toContain('NRAK');
    expect(proxy.seen[0]).not.toContain('applications');
  });

  it.each(['https_proxy', 'HTTPS_PROXY'])('may be called %s, and its address may lack the scheme', async (name) => {
    const proxy = await startProxy();
    const options = { environment: { [name]: `127.0.0.1:${proxy.port}` }, tls: { ca: ca.cert } };
    const { reader, call } = await serve(none, options, signed);
    await reader.listApplications({}, call);
    expect(proxy.seen).toHaveLength(1);
  });

  it.each([
    ['the host', { NO_PROXY: 'localhost' }],
    ['the host in small letters', { no_proxy: 'other.example, localhost' }],
    ['everything', { NO_PROXY: '*' }],
  ])('is not used for hosts in NO_PROXY: %s', async (_, environment) => {
    const proxy = await startProxy();
    const { reader, call } = await through(proxy, environment);
    await reader.listApplications({}, call);
    expect(proxy.connections()).toBe(0);
  });

  it('is not used for plain HTTP to this machine', async () => {
    const proxy = await startProxy();
    const address = `http://127.0.0.1:${proxy.port}`;
    const { reader, call } = await serve(none, { environment: { HTTPS_PROXY: address, HTTP_PROXY: address } });
    await reader.listApplications({}, call);
    expect(proxy.connections()).toBe(0);
  });

  it('lets certificate and server name be verified at the other end of the tunnel', async () => {
    const proxy = await startProxy();
    const server = await startServer(none, signed);
    onTestFinished(() => server.close());
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
    const address = `https://127.0.0.1:${server.port}/v2`;
    const right = startReading(address, { environment, tls: { ca: ca.cert, serverName: 'localhost' } });
    expect(await right.reader.listApplications({}, right.call)).toEqual([]);
    for (const [tls, words] of [
      [{ ca: ca.cert }, 'another name'],
      [{ serverName: 'localhost' }, 'certificate not trusted'],
    ] as const) {
      const wrong = startReading(address, { environment, tls });
      expect((await failureOf(wrong.reader.listApplications({}, wrong.call))).message).toContain(words);
    }
    expect(server.asked).toHaveLength(1);
  });

  it('with a certificate of a private authority is trusted only with the ca_file of the account', async () => {
    const proxy = await startProxy({ tls: signed });
    const environment = { HTTPS_PROXY: `https://localhost:${proxy.port}` };
    const { reader, call, server } = await serve(none, { environment, tls: { ca: ca.cert } }, signed);
    expect(await reader.listApplications({}, call)).toEqual([]);
    expect(proxy.seen).toHaveLength(1);
    const other = startReading(`${server.origin}/v2`, { environment, tls: { ca: (await authority()).cert } });
    const { message } = await failureOf(other.reader.listApplications({}, other.call));
    expect(message).toContain('certificate not trusted');
    expect(proxy.seen).toHaveLength(1);
  });

  it.each<[string, (socket: Socket) => void, RegExp]>([
    ['refuses', (socket) => socket.end('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n'), /the proxy answered 407/],
    ['has no way', (socket) => socket.end('HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n'), /the proxy answered 502/],
    ['hangs up', (socket) => socket.destroy(), /connection closed/],
    ['speaks no HTTP', (socket) => socket.end('hello\r\n'), /not HTTP/],
  ])('that %s makes the call fail, without endless retries', async (_, instead, words) => {
    const proxy = await startProxy({ instead });
    const { reader, call } = await through(proxy);
    const { message } = await failureOf(reader.listApplications({}, call));
    expect(message).toMatch(words);
    expect(message).not.toContain('pass');
    await reader.close();
    expect(proxy.seen).toHaveLength(1);
  });

  it.each([
    ['http://user@', 'user:'],
    ['http://user:50%25@', 'user:50%'],
  ])('gets the user in its address, also without a password: %s', async (prefix, user) => {
    const proxy = await startProxy();
    const environment = { https_proxy: '', HTTPS_PROXY: `${prefix}127.0.0.1:${proxy.port}` };
    const { reader, call } = await serve(none, { environment, tls: { ca: ca.cert } }, signed);
    await reader.listApplications({}, call);
    expect(proxy.seen[0]).toContain(`"proxy-authorization":"Basic ${Buffer.from(user).toString('base64')}"`);
  });

  it.each(['http://[', 'http://user:secret%@proxy.example', 'socks5://user:secret@proxy.example'])(
    'with an unusable address is refused without showing the password: %s',
    (address) => {
      const open = () => startReading('https://api.example/v2', { environment: { HTTPS_PROXY: address } });
      expect(open).toThrow(/^HTTPS_PROXY (?!.*secret)/);
    },
  );
});
