import { type IncomingMessage, type ServerResponse, createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type Server, type Socket, createServer as createNetServer } from 'node:net';

/** An address taken apart, undecoded. */
export interface Target {
  readonly path: string;
  readonly search: string;
}

export function targetOf(request: IncomingMessage): Target {
  const url = request.url ?? '/';
  const at = url.indexOf('?');
  return at < 0 ? { path: url, search: '' } : { path: url.slice(0, at), search: url.slice(at + 1) };
}

const MOST_BYTES = 1024 * 1024;

/** The whole text of a request body. Throws when it is over a megabyte. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`the request body is over ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The parameters of a call: those of its address, and those of its form body, where `curl -d` puts them. */
export async function parameters(request: IncomingMessage, search: string): Promise<URLSearchParams> {
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  if (!isForm) return new URLSearchParams(search);
  const form = await readBody(request);
  return new URLSearchParams(search === '' ? form : `${search}&${form}`);
}

/** PEM texts. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Listener {
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
