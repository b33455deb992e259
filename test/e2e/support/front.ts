import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** A port in front of a server. It passes bytes through, and keeps those of clients. */
export class Front {
  readonly port: number;
  readonly #target: number;
  readonly #server: Server;
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
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Front(server, target);
  }

  /** The bytes of clients, by connection. */
  get sent(): readonly string[] {
    return this.#sent.map((chunks) => Buffer.concat(chunks).toString());
  }

  /** Ends every connection. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.drop();
    await closed;
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
