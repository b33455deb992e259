import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** A client that speaks over a bare socket and takes no care of what comes back. */
export interface HostileClient {
  readonly socket: Socket;
  /** Everything it has read so far, as one character a byte. */
  received(): string;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
}

interface HostileOptions {
  /** Never reads, so that the server's responses pile up. */
  readonly deaf?: boolean;
  readonly tls?: boolean;
  /** Continues to read after the server's end of the stream. */
  readonly halfOpen?: boolean;
}

/** Connects; rejects when the server does not accept. */
export async function hostileClient(
  port: number,
  { deaf = false, tls = false, halfOpen = false }: HostileOptions = {},
): Promise<HostileClient> {
  const socket = tls
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : connect({ port, host: '127.0.0.1', allowHalfOpen: halfOpen });
  const chunks: Buffer[] = [];
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await once(socket, tls ? 'secureConnect' : 'connect');
  // What the server does to it afterwards is its own affair.
  socket.on('error', () => undefined);
  if (deaf) socket.pause();
  else socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  return { socket, closed, received: () => Buffer.concat(chunks).toString('latin1') };
}

/** Several of them, without the ones that the server turned away. */
export async function hostileClients(
  count: number,
  port: number,
  options: HostileOptions = {},
): Promise<HostileClient[]> {
  const all = await Promise.allSettled(Array.from({ length: count }, () => hostileClient(port, options)));
  return all.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

/** A request without a body. */
export function requestText(target: string, headers: readonly string[] = [], method = 'GET'): string {
  return `${[`${method} ${target} HTTP/1.1`, 'Host: exporter.example', ...headers].join('\r\n')}\r\n\r\n`;
}

/** An `Authorization` header line. */
export function passwordLine(credentials: string): string {
  return `Authorization: Basic ${Buffer.from(credentials).toString('base64')}`;
}
