import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Limit of open connections of all sockets together. A new connection replaces the longest idle one. */
const MAX_CONNECTIONS = 512;

/** Limit of unanswered requests per connection. */
const MAX_UNANSWERED = 32;

const SPEAK_TLS = 'This port speaks HTTPS: use https:// in the address.\n';
const PLAIN_RESPONSE = [
  'HTTP/1.1 400 Bad Request',
  'Content-Type: text/plain; charset=utf-8',
  `Content-Length: ${SPEAK_TLS.length}`,
  'Connection: close',
  '',
  SPEAK_TLS,
].join('\r\n');

/** Tracks every connection from its start, before the TLS handshake. */
export class Connections {
  /** TCP sockets, also of TLS connections, by {@link keyOf}. The longest idle connection comes first. */
  readonly #open = new Map<string | Socket, { readonly socket: Socket; readonly unanswered: Set<ServerResponse> }>();
  #closing = false;

  follow(server: Server): void {
    // Beyond this limit Node refuses connections. That happens only if all connections are in use.
    server.maxConnections = 2 * MAX_CONNECTIONS;
    server.prependListener('connection', (socket: Socket) => void this.#accept(socket));
    server.prependListener('request', (request, response) => this.#begin(request, response));
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (error.code === 'ERR_SSL_HTTP_REQUEST') this.#open.get(keyOf(socket))?.socket.end(PLAIN_RESPONSE);
    });
  }

  /** Stops listening. Closes each connection after its responses, or after `graceMs`. Resolves when all are closed. */
  async close(servers: readonly Server[], graceMs: number): Promise<void> {
    this.#closing = true;
    const listening = servers.filter((server) => server.listening);
    const closed = listening.map((server) => new Promise((done) => server.close(done)));
    for (const { unanswered, socket } of this.#open.values()) {
      const last = [...unanswered].at(-1);
      if (last === undefined) socket.destroy();
      else if (!last.headersSent) last.setHeader('Connection', 'close');
    }
    const timer = setTimeout(() => {
      for (const { socket } of this.#open.values()) socket.destroy();
    }, graceMs);
    await Promise.all(closed);
    clearTimeout(timer);
  }

  #accept(socket: Socket) {
    if (this.#open.size >= MAX_CONNECTIONS) {
      const open = [...this.#open.values()];
      open.find(({ unanswered, socket: { destroyed } }) => unanswered.size === 0 && !destroyed)?.socket.destroy();
    }
    const connection = { socket, unanswered: new Set<ServerResponse>() };
    const key = keyOf(socket);
    this.#open.set(key, connection);
    socket.once('close', () => {
      if (this.#open.get(key) === connection) this.#open.delete(key);
    });
    return connection;
  }

  #begin({ socket }: IncomingMessage, response: ServerResponse): void {
    const key = keyOf(socket);
    const connection = this.#open.get(key) ?? this.#accept(socket);
    const { unanswered } = connection;
    if (unanswered.size > MAX_UNANSWERED) socket.destroy();
    // Each unanswered request adds listeners.
    socket.setMaxListeners(0);
    if (this.#closing) response.setHeader('Connection', 'close');
    unanswered.add(response);
    response.once('close', () => {
      unanswered.delete(response);
      // Moves a connection that was just used to the end, unless it is closed.
      if (this.#open.delete(key)) this.#open.set(key, connection);
      if (this.#closing && unanswered.size === 0) socket.destroySoon();
    });
  }
}

/** Returns what the TCP socket and the TLS socket of a connection share: the addresses. A unix socket has none. */
function keyOf(socket: Socket): string | Socket {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  return remotePort === undefined ? socket : [remoteAddress, remotePort, localAddress, localPort].join(' ');
}
