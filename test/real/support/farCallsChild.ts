import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type Server } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { createDispatcher } from '../../../src/api/http/upstreamConnections.ts';
import { authority, certificate } from '../../support/certificates.ts';
import { startNameServer } from '../../support/nameServer.ts';

/*
 * Runs in network and mount namespaces of its own, where /etc/resolv.conf names 127.0.0.1. Calls a server by names with
 * several addresses in every way that the exporter connects, and prints what became of each call as JSON.
 */

const NEAR = '10.77.0.1';
const NAMES = {
  // No route leads to the first address; packets to the second one take 300 ms there and back.
  'far.example': ['2001:dead::1', '10.77.0.2'],
  // Packets to the first address are lost.
  'dropped.example': ['2001:db8::2', NEAR],
};
const REQUEST_TIMEOUT_MS = 10_000;

const device = spawn('python3', [join(import.meta.dirname, 'farReflection.py')], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
await once(device.stdout, 'data');
const names = await startNameServer(NAMES, '127.0.0.1', 53);
const ca = await authority();
const pair = await certificate(
  'far.example',
  Object.keys(NAMES).map((value) => ({ type: 2, value })),
  ca,
);
const servers: Server[] = [
  createServer((_, response) => response.end()).listen(8080, NEAR),
  createTlsServer(pair, (_, response) => response.end()).listen(8443, NEAR),
  createServer()
    .on('connect', (_, socket) => {
      const upstream = connect(8443, NEAR, () => {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
    })
    .listen(3128, NEAR),
];
await Promise.all(servers.map((server) => once(server, 'listening')));

async function call(origin: string, environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const options = { maxConcurrent: 1, requestTimeoutMs: REQUEST_TIMEOUT_MS, tls: { ca: ca.cert }, environment };
  const dispatcher = createDispatcher(options);
  try {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const { statusCode } = await dispatcher.request({ origin, path: '/', method: 'GET', signal });
    return String(statusCode);
  } catch (error) {
    return String(error);
  } finally {
    await dispatcher.destroy();
  }
}

const outcomes = Object.keys(NAMES).map(async (name) => ({
  name,
  plain: await call(`http://${name}:8080`),
  tls: await call(`https://${name}:8443`),
  proxy: await call(`https://${name}:8443`, { HTTPS_PROXY: `http://${name}:3128` }),
}));
process.stdout.write(JSON.stringify(await Promise.all(outcomes)));
names.close();
device.kill();
for (const server of servers) server.close();
process.exit(0);
