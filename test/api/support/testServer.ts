import { createServer as createHttpServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { KeyPair } from '../../support/certificates.ts';

/** A request that a test server got. */
interface TestRequest {
  readonly url: URL;
  /** Path and query as the client sent them. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** Answers a request; `index` counts the requests from 0. */
export type Responder = (response: ServerResponse, request: TestRequest, index: number) => void;

export interface TestServer {
  readonly port: number;
  readonly origin: string;
  readonly asked: TestRequest[];
  /** Connections accepted so far. */
  readonly connections: () => number;
  /** Connections that are open now. */
  readonly open: () => number;
  answer: Responder;
  readonly close: () => Promise<void>;
}

/** A real server on a free port of this machine; HTTPS with a certificate. */
export async function startServer(answer: Responder, tls?: KeyPair): Promise<TestServer> {
  const asked: TestRequest[] = [];
  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    const path = request.url ?? '/';
    const each = { url: new URL(path, server.origin), path, headers: request.headers };
    asked.push(each);
    server.answer(response, each, asked.length - 1);
  };
  const listener = tls === undefined ? createHttpServer(handler) : createHttpsServer(tls, handler);
  const { port, connections, open, close } = await listen(listener);
  const origin = tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`;
  const server: TestServer = { port, origin, asked, connections, open, answer, close };
  return server;
}

/** Listens on a free port; closing ends every connection at once. */
export async function listen(
  server: Server,
): Promise<{ port: number; connections: () => number; open: () => number; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    open: () => sockets.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Answers with a JSON body. */
export function json(
  response: ServerResponse,
  body: unknown,
  headers: Record<string, string> = {},
  status = 200,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
