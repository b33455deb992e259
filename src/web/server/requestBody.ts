import type { IncomingMessage } from 'node:http';

/** No endpoint reads a body; one of this many bytes is still let go by. */
export const MAX_BODY_BYTES = 4096;

/** True when the request announces a larger body than any endpoint takes. */
export function announcesLargeBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES;
}

/**
 * Reads the body to its end and throws it away, before anything is done for the request. Resolves to false as soon as
 * it is larger than the limit, or when the client has gone before its end.
 */
export async function takeBody(request: IncomingMessage): Promise<boolean> {
  if (request.headers['transfer-encoding'] === undefined && request.headers['content-length'] === undefined) {
    request.resume();
    return true;
  }
  return await new Promise((resolve) => {
    let received = 0;
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > MAX_BODY_BYTES) resolve(false);
    });
    request.once('end', () => resolve(true));
    request.once('close', () => resolve(false));
  });
}
