import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { abortReason } from '../eventLoop/clock.ts';

/**
 * Returns a signal that is aborted when the client leaves before its response was written. Watches the socket too, because Node emits no `close` event for the later responses of pipelined requests.
 */
export function clientGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  // Each account adds a listener; Node.js 20 writes a warning from the eleventh on.
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

/** The result of the work; rejects with the reason of the signal as soon as the client has left, while the work continues. */
export async function unlessGone<T>(work: Promise<T>, gone: AbortSignal): Promise<T> {
  const left = new Promise<never>((_resolve, reject) => {
    const leave = () => reject(abortReason(gone));
    if (gone.aborted) leave();
    // The signal lives no longer than its request.
    else gone.addEventListener('abort', leave, { once: true });
  });
  return await Promise.race([work, left]);
}
