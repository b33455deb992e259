import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';

/** The most open connections of all listening sockets together. A new one replaces the one that was idle for longest. */
const MAX_CONNECTIONS = 512;

/** The response to plain HTTP on a TLS port. */
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
  /** The plain socket until TLS has been agreed on, then that of TLS. */
  socket: Socket;
  /** Requests received but not answered yet. */
  waiting: number;
  /** The response under way. */
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
  readonly #open = new Set<Connection>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  /** Connections whose TLS handshake has not ended, by the two addresses: both sockets of a connection have the same. */
  readonly #shakingHands = new Map<string, Connection>();
  #closing = false;

  follow(server: Server): void {
    // Beyond this limit Node refuses connections: the last resort when every connection is in use.
    server.maxConnections = 2 * MAX_CONNECTIONS;
    server.prependListener('connection', (socket: Socket) => {
      const connection = this.#accept(socket);
      if (!(server instanceof TlsServer)) return;
      const addresses = addressesOf(socket);
      this.#shakingHands.set(addresses, connection);
      socket.once('close', () => {
        if (this.#shakingHands.get(addresses) === connection) this.#shakingHands.delete(addresses);
      });
    });
    if (!(server instanceof TlsServer)) return;
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code !== 'ERR_SSL_HTTP_REQUEST') return;
      this.#shakingHands.get(addressesOf(socket))?.socket.end(PLAIN_RESPONSE);
    });
    server.prependListener('secureConnection', (socket) => {
      const addresses = addressesOf(socket);
      const connection = this.#shakingHands.get(addresses);
      this.#shakingHands.delete(addresses);
      if (connection === undefined) return;
      connection.socket = socket;
      this.#bySocket.set(socket, connection);
    });
  }

  /**
   * Answers the requests of each connection in turn: `handler` is called when the response before has ended, and not for a client
   * that has left.
   */
  inTurn(handler: RequestListener): RequestListener {
    return (request, response) => {
      const connection = this.#bySocket.get(request.socket) ?? this.#accept(request.socket);
      if (request.socket.destroyed) return;
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
    const closed = servers.filter(({ listening }) => listening).map(closeServer);
    for (const { waiting, socket, current } of this.#open) {
      if (waiting === 0) socket.destroy();
      else if (current?.headersSent === false) current.setHeader('Connection', 'close');
    }
    const timer = setTimeout(() => {
      for (const { socket } of this.#open) socket.destroy();
    }, graceMs);
    await Promise.all(closed);
    clearTimeout(timer);
  }

  #accept(socket: Socket): Connection {
    if (this.#open.size >= MAX_CONNECTIONS) this.#makeRoom();
    const connection: Connection = { socket, waiting: 0, current: undefined, responded: Promise.resolve() };
    this.#open.add(connection);
    this.#bySocket.set(socket, connection);
    socket.once('close', () => this.#open.delete(connection));
    return connection;
  }

  #makeRoom(): void {
    const idle = [...this.#open].find(({ waiting }) => waiting === 0);
    if (idle === undefined) return;
    this.#open.delete(idle);
    idle.socket.destroy();
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
    if (!this.#open.delete(connection)) return;
    this.#open.add(connection);
    if (this.#closing && connection.waiting === 0) socket.destroySoon();
  }
}

function addressesOf(socket: Socket): string {
  return [socket.remoteAddress, socket.remotePort, socket.localAddress, socket.localPort].join(' ');
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
