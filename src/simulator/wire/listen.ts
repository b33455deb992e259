import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import { createServer as createNetServer } from 'node:net';

/** PEM texts. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface Listener {
  readonly port: number;
  /** Ends every connection at once, hanging calls too. */
  close: () => Promise<void>;
}

const TLS_HANDSHAKE = 0x16;

/** The 301 that the service gives to a plain HTTP call. */
function redirectToHttps(request: IncomingMessage, response: ServerResponse): void {
  const address = `https://${request.headers.host ?? 'localhost'}${request.url ?? '/'}`;
  const text = `You are being redirected ${address}\n`;
  response.writeHead(301, {
    Location: address,
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
  });
  response.end(text);
}

/** One port for both: the first byte tells a TLS handshake from a plain call, which is sent to the HTTPS address. */
function createSharedServer(tls: TlsFiles, handler: Handler): Server {
  const secure = createHttpsServer({ cert: tls.cert, key: tls.key }, handler);
  const plain = createHttpServer(redirectToHttps);
  return createNetServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      socket.unshift(chunk);
      (chunk[0] === TLS_HANDSHAKE ? secure : plain).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
}

/** Listens on a host and port (0 picks a free one). Rejects with the system's error when it cannot. */
export async function listen(
  host: string,
  port: number,
  tls: TlsFiles | undefined,
  handler: Handler,
): Promise<Listener> {
  const server = tls === undefined ? createHttpServer(handler) : createSharedServer(tls, handler);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    port: address.port,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        for (const socket of sockets) socket.destroy();
      }),
  };
}
