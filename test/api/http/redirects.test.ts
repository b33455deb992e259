import { createServer as createNetServer } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { authority, forLocalhost } from '../../support/certificates.ts';
import { failureOf, KEY, serve, startReading } from '../support/reading.ts';
import { json, listen, startServer } from '../support/testServer.ts';

const ca = await authority();
const signed = await forLocalhost(ca);

/** Serves HTTPS, and a 301 for plain HTTP on the same port, like New Relic. Records the calls of both. */
async function startService(
  location: (host: string, path: string) => string,
): Promise<{ port: number; calls: string[] }> {
  const calls: string[] = [];
  const noting =
    (kind: string, answer: (request: IncomingMessage, response: ServerResponse) => void) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      calls.push(`${kind} ${String(request.url)}`);
      answer(request, response);
    };
  const secure = createHttpsServer(
    signed,
    noting('https', (request, response) => {
      expect(request.headers['x-api-key']).toBe(KEY);
      json(response, { applications: [] });
    }),
  );
  const plain = createHttpServer(
    noting('http', (request, response) => {
      const to = location(String(request.headers.host), String(request.url));
      response.writeHead(301, { location: to, connection: 'close' }).end(`You are being redirected ${to}`);
    }),
  );
  const { port, close } = await listen(
    createNetServer((socket) => {
      socket.once('data', (chunk: Buffer) => {
        socket.pause();
        socket.unshift(chunk);
        (chunk[0] === 0x16 ? secure : plain).emit('connection', socket);
        process.nextTick(() => socket.resume());
      });
    }),
  );
  onTestFinished(close);
  return { port, calls };
}

describe('a 301 from plain HTTP', () => {
  it.each<[string, (host: string, path: string) => string]>([
    ['names the HTTPS address', (host, path) => `https://${host}${path}`],
    ['names the plain address, as the published one does', (host, path) => `http://${host}${path}`],
  ])('that %s is followed to HTTPS, and later calls go to HTTPS at once', async (_, location) => {
    const { port, calls } = await startService(location);
    const { reader, call, notes } = startReading(`http://localhost:${port}/v2`, { tls: { ca: ca.cert } });
    expect(await reader.listApplications({ ids: [1] }, call)).toEqual([]);
    expect(await reader.listApplications({}, call)).toEqual([]);
    expect(calls).toEqual([
      'http /v2/applications.json?filter%5Bids%5D=1',
      'https /v2/applications.json?filter%5Bids%5D=1',
      'https /v2/applications.json',
    ]);
    expect(notes.entered).toBe(3);
    expect(notes.ended.map(({ code }) => code)).toEqual([301, 200, 200]);
    expect(notes.failures).toEqual([]);
  });

  it('is followed once at most, and the next call uses plain HTTP again if HTTPS did not answer', async () => {
    const { server, reader, call, notes } = await serve((response, { url }) =>
      json(response, '', { location: url.href }, 301),
    );
    expect((await failureOf(reader.listApplications({}, call))).failure.reason).toBe('network');
    expect(notes.entered).toBe(2);
    server.answer = (response) => json(response, { applications: [] });
    expect(await reader.listApplications({}, call)).toEqual([]);
  });
});

describe('any other redirect', () => {
  it.each([301, 302, 303, 307, 308])(
    '%i to another origin is an error without sending the key, also to another name of this machine',
    async (status) => {
      const other = await startServer((response) => json(response, { applications: [] }));
      onTestFinished(() => other.close());
      const location = `http://user:word@localhost:${other.port}/v2/applications.json?token=abc`;
      const { reader, call, notes } = await serve((response) => json(response, '', { location }, status), {
        maxRetries: 2,
      });
      const { failure, message } = await failureOf(reader.listApplications({}, call));
      expect(failure).toMatchObject({ reason: 'redirect', status });
      expect(message).toBe(
        `GET /applications.json: status ${status}, a redirect to http://localhost:${other.port} (reason redirect)`,
      );
      expect(other.asked).toHaveLength(0);
      expect(other.connections()).toBe(0);
      expect(notes.entered).toBe(1);
    },
  );

  it('from HTTPS is an error, also to the same host', async () => {
    const { server, reader, call } = await serve(
      (response) => json(response, '', { location: '/elsewhere' }, 301),
      { tls: { ca: ca.cert } },
      signed,
    );
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('redirect');
    expect(message).toBe(`GET /applications.json: status 301, a redirect to ${server.origin} (reason redirect)`);
    expect(server.asked).toHaveLength(1);
  });

  it('without a location is an error', async () => {
    const { reader, call } = await serve((response) => json(response, '', {}, 302));
    expect((await failureOf(reader.listApplications({}, call))).message).toMatch(
      /status 302, a redirect \(reason redirect\)$/,
    );
  });
});
