import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The most open connections of all listening sockets together. A new one replaces the one that was idle for longest. */
const MAX_CONNECTIONS = 512;

const SPEAK_TLS = 'This port speaks HTTPS: use https:// in the address.\n';
const PLAIN_RESPONSE = [
  'HTTP/1.1 400 Bad Request',
  'Content-Type: text/plain; charset=utf-8',
  `Content-Length: ${SPEAK_TLS.length}`,
  'Connection: close',
  '',
  SPEAK_TLS,
].join('\r\n');

/** The most unanswered requests of one connection. Scrapers and browsers wait for each response. */
const MAX_AHEAD = 32;

interface Connection {
  /** The socket that was accepted, below that of TLS. */
  readonly socket: Socket;
  /** Requests received but not answered yet. */
  waiting: number;
  current: ServerResponse | undefined;
  /** Ends when all requests received so far have been answered: the next one waits for it. */
  responded: Promise<void>;
}

/**
 * Every connection from the moment it is accepted, before any TLS handshake. Requests of one connection are answered one after
 * the other: work for a request starts in its turn, and never after its client has left.
 */
export class Connections {
  /** The connection that was used longest ago comes first. */
  readonly #open = new Map<string | Socket, Connection>();
  #closing = false;

  follow(server: Server): void {
    // Beyond this limit Node refuses connections: the last resort when every connection is in use.
    server.maxConnections = 2 * MAX_CONNECTIONS;
    server.prependListener('connection', (socket: Socket) => void this.#accept(socket));
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (error.code === 'ERR_SSL_HTTP_REQUEST') this.#open.get(keyOf(socket))?.socket.end(PLAIN_RESPONSE);
    });
  }

  /** Calls `handler` when the response before has ended, and not for a client that has left. */
  inTurn(handler: RequestListener): RequestListener {
    return (request, response) => {
      if (request.socket.destroyed) return;
      const connection = this.#open.get(keyOf(request.socket)) ?? this.#accept(request.socket);
      if (connection.waiting > MAX_AHEAD) {
        request.socket.destroy();
        return;
      }
      connection.waiting += 1;
      connection.responded = connection.responded.then(() => this.#respond(connection, request, response, handler));
    };
  }

  /** Stops listening, and closes connections after their response, or after `graceMs`. Resolves when all are closed. */
  async close(servers: readonly Server[], graceMs: number): Promise<void> {
    this.#closing = true;
    const listening = servers.filter((server) => server.listening);
    const closed = listening.map((server) => new Promise((done) => server.close(done)));
    for (const { waiting, socket, current } of this.#open.values()) {
      if (waiting === 0) socket.destroy();
      else if (current?.headersSent === false) current.setHeader('Connection', 'close');
    }
    const timer = setTimeout(() => {
      for (const { socket } of this.#open.values()) socket.destroy();
    }, graceMs);
    await Promise.all(closed);
    clearTimeout(timer);
  }

  #accept(socket: Socket): Connection {
    if (this.#open.size >= MAX_CONNECTIONS) {
      const open = [...this.#open.values()];
      open.find(({ waiting, socket: { destroyed } }) => waiting === 0 && !destroyed)?.socket.destroy();
    }
    const connection: Connection = { socket, waiting: 0, current: undefined, responded: Promise.resolve() };
    const key = keyOf(socket);
    this.#open.set(key, connection);
    socket.once('close', () => {
      if (this.#open.get(key) === connection) this.#open.delete(key);
    });
    return connection;
  }

  async #respond(
    connection: Connection,
    request: IncomingMessage,
    response: ServerResponse,
    handler: RequestListener,
  ): Promise<void> {
    const { socket } = request;
    if (socket.destroyed) return;
    if (this.#closing) response.setHeader('Connection', 'close');
    connection.current = response;
    const ended = new Promise((resolve) => response.once('close', resolve));
    handler(request, response);
    await ended;
    connection.current = undefined;
    connection.waiting -= 1;
    // A connection that was just used moves to the end, unless it has been closed.
    const key = keyOf(socket);
    if (!this.#open.delete(key)) return;
    this.#open.set(key, connection);
    if (this.#closing && connection.waiting === 0) socket.destroySoon();
  }
}

/** The addresses of a connection, which its socket of TLS has too; a unix socket has none. */
function keyOf(socket: Socket): string | Socket {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  return remotePort === undefined ? socket : [remoteAddress, remotePort, localAddress, localPort].join(' ');
}
