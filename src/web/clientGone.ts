import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { abortReason } from '../eventLoop/clock.ts';

/**
 * Returns a signal that is aborted if the client disconnects before its response is written. Watches the socket too,
 * because Node emits no `close` event for the later responses of pipelined requests.
 */
export function watchClient(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  // Each account adds a listener, and Node.js 20 warns about more than ten.
  setMaxListeners(0, gone.signal);
  const { socket } = response.req;
  const end = (): void => {
    response.off('close', end);
    socket.off('close', end);
    if (socket.destroyed && !response.writableFinished) gone.abort();
  };
  response.once('close', end);
  socket.once('close', end);
  if (socket.destroyed) end();
  return gone.signal;
}

/** Waits for the work. Rejects with the reason of the signal when the client disconnects; the work itself continues. */
export async function awaitUnlessGone<T>(work: Promise<T>, gone: AbortSignal): Promise<T> {
  const disconnected = new Promise<never>((_resolve, reject) => {
    const disconnect = () => reject(abortReason(gone));
    if (gone.aborted) disconnect();
    // The listener needs no removal, because the signal ends with its request.
    else gone.addEventListener('abort', disconnect, { once: true });
  });
  return await Promise.race([work, disconnected]);
}
