import type { RequestListener, Server, ServerResponse } from 'node:http';

/** Knows the answers under way, so that a shutdown can let them end and then close their connections. */
export class ShutdownTracker {
  readonly #open = new Set<ServerResponse>();
  #closing = false;

  /** Wraps a listener; once the shutdown has begun, every answer closes its connection. */
  track(listener: RequestListener): RequestListener {
    return (request, response) => {
      this.#open.add(response);
      response.once('close', () => this.#open.delete(response));
      if (this.#closing) response.setHeader('Connection', 'close');
      listener(request, response);
    };
  }

  /** Closes the servers: at once what is idle, after `graceMs` the rest. */
  async close(servers: readonly Server[], graceMs: number): Promise<void> {
    this.#closing = true;
    for (const response of this.#open) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
      // A connection whose answer has begun as kept-alive is idle, and is closed, when that answer is done.
      response.once('close', () => setImmediate(() => servers.forEach((server) => server.closeIdleConnections())));
    }
    const closed = servers.filter(({ listening }) => listening).map(closeServer);
    const timer = setTimeout(() => servers.forEach((server) => server.closeAllConnections()), graceMs);
    await Promise.all(closed);
    clearTimeout(timer);
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}
