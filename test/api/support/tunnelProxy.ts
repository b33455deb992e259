import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { KeyPair } from '../../support/certificates.ts';
import { listen } from './testServer.ts';

export interface TestProxy {
  readonly port: number;
  /** The received requests, in plain text. */
  readonly seen: string[];
  readonly connections: () => number;
}

/** A proxy that opens tunnels, or runs `instead`. With a certificate the proxy itself speaks HTTPS. */
export async function startProxy({
  instead,
  tls,
}: { readonly instead?: (socket: Socket) => void; readonly tls?: KeyPair } = {}): Promise<TestProxy> {
  const seen: string[] = [];
  const server = tls === undefined ? createHttpServer() : createHttpsServer(tls);
  server.on('request', (_, response: ServerResponse) => response.writeHead(405).end());
  server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    seen.push(`${String(request.method)} ${String(request.url)} ${JSON.stringify(request.headers)}`);
    if (instead !== undefined) {
      instead(socket);
      return;
    }
    const [host, port] = String(request.url).split(':');
    const upstream = connect(Number(port), host === 'localhost' ? '127.0.0.1' : host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
    socket.on('close', () => upstream.destroy());
  });
  const { port, connections, close } = await listen(server);
  onTestFinished(close);
  return { port, seen, connections };
}
