import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Thrown where work stops because the client that asked for it has closed its connection. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('the client closed its connection');
  }
}

const signals = new WeakMap<Socket, AbortSignal>();

/**
 * A signal that is aborted when the connection of a request closes. The response's own `close` event is not enough:
 * Node never emits it for the later ones of several requests that came at once over one connection.
 */
export function clientGone({ socket }: IncomingMessage): AbortSignal {
  const known = signals.get(socket);
  if (known !== undefined) return known;
  const gone = new AbortController();
  if (socket.destroyed) gone.abort();
  else socket.once('close', () => gone.abort());
  signals.set(socket, gone.signal);
  return gone.signal;
}

/** What the work gives. Rejects with a {@link ClientGoneError} as soon as the client has gone; the work goes on alone. */
export async function unlessGone<T>(work: Promise<T>, gone: AbortSignal): Promise<T> {
  let leave: (() => void) | undefined;
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(new ClientGoneError());
    if (gone.aborted) leave();
    else gone.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([work, left]);
  } finally {
    if (leave !== undefined) gone.removeEventListener('abort', leave);
  }
}
