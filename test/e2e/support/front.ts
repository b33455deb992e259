import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/**
 * A port in front of a server. It passes bytes through, and keeps those of clients, until `refuse` closes all connections and
 * accepts no more, as a restart of the server would.
 */
export class Front {
  readonly port: number;
  readonly #target: number;
  #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #sent: Buffer[][] = [];

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
    this.port = (server.address() as AddressInfo).port;
    this.#pass(server);
  }

  /** A front on a free port of 127.0.0.1. */
  static async open(target: number): Promise<Front> {
    return new Front(await listen(0), target);
  }

  /** The bytes of clients, by connection. */
  get sent(): readonly string[] {
    return this.#sent.map((chunks) => Buffer.concat(chunks).toString());
  }

  /** Stops listening, and ends every connection. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.drop();
    await closed;
  }

  /** Listens again, on the same port. */
  async restore(): Promise<void> {
    this.#server = await listen(this.port);
    this.#pass(this.#server);
  }

  /** Ends every connection. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.refuse();
  }

  #pass(server: Server): void {
    server.on('connection', (near) => {
      const far = connect(this.#target, '127.0.0.1');
      const chunks: Buffer[] = [];
      this.#sent.push(chunks);
      near.on('data', (chunk: Buffer) => chunks.push(chunk));
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
    });
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
