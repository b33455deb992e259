import { createSecureServer } from 'node:http2';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { authority, forLocalhost } from '../../support/certificates.ts';
import { failureOf, serve, startReading } from '../support/reading.ts';
import { json, listen, startServer } from '../support/testServer.ts';
import type { Responder } from '../support/testServer.ts';
import { startProxy } from '../support/tunnelProxy.ts';

const none: Responder = (response) => json(response, { applications: [] });
const ca = await authority();
const signed = await forLocalhost(ca);
const selfSigned = await forLocalhost();

describe('TLS', () => {
  it('trusts a certificate of the configured authority', async () => {
    const { reader, call } = await serve(none, { tls: { ca: ca.cert } }, signed);
    expect(await reader.listApplications({}, call)).toEqual([]);
  });

  it('does not trust the same certificate without the authority, and does not retry', async () => {
    const { server, reader, call, notes } = await serve(none, { maxRetries: 2 }, signed);
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('network');
    expect(message).toContain('certificate not trusted: ');
    expect(notes.entered).toBe(1);
    expect(server.asked).toHaveLength(0);
  });

  it.each(['1', '0'])(
    'does not trust a self-signed certificate, with NODE_TLS_REJECT_UNAUTHORIZED=%s',
    async (verification) => {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', verification);
      onTestFinished(() => void vi.unstubAllEnvs());
      const { server, reader, call } = await serve(none, {}, selfSigned);
      const { message } = await failureOf(reader.listApplications({}, call));
      expect(message).toBe('GET /applications.json: certificate not trusted: self-signed certificate (reason network)');
      expect(server.asked).toHaveLength(0);
    },
  );

  it('verifies the host, or the configured server name in its place', async () => {
    const server = await startServer(none, signed);
    onTestFinished(() => server.close());
    const address = `https://127.0.0.1:${server.port}/v2`;
    const right = startReading(address, { tls: { ca: ca.cert, serverName: 'localhost' } });
    expect(await right.reader.listApplications({}, right.call)).toEqual([]);
    for (const [baseUrl, serverName] of [
      [address, undefined],
      [`${server.origin}/v2`, 'api.example'],
    ] as const) {
      const { reader, call, notes } = startReading(baseUrl, { tls: { ca: ca.cert, serverName }, maxRetries: 2 });
      const words = 'certificate not trusted: it was issued for another name (reason network)';
      expect((await failureOf(reader.listApplications({}, call))).message).toBe(`GET /applications.json: ${words}`);
      expect(notes.entered).toBe(1);
    }
    expect(server.asked).toHaveLength(1);
  });

  it.each(['directly', 'through a proxy'])('uses HTTP/1.1 with a server that also offers HTTP/2, %s', async (way) => {
    const versions: string[] = [];
    const server = createSecureServer({ ...signed, allowHTTP1: true }, (request, response) => {
      versions.push(request.httpVersion);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"applications":[]}');
    });
    const { port, close } = await listen(server);
    onTestFinished(close);
    const environment: Record<string, string> =
      way === 'directly' ? {} : { HTTPS_PROXY: `http://127.0.0.1:${(await startProxy()).port}` };
    const { reader, call } = startReading(`https://localhost:${port}/v2`, { environment, tls: { ca: ca.cert } });
    expect(await reader.listApplications({}, call)).toEqual([]);
    expect(versions).toEqual(['1.1']);
  });
});
