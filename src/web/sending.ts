import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { ExpositionForm } from '../exposition/exposition.ts';
import { yieldToEventLoop } from '../eventLoop/turns.ts';
import { acceptsGzip, contentTypeOf } from '../exposition/formats.ts';
import type { RequestSlot } from './requestLimiter.ts';
import { bytesOf, SharedWork } from './sharedWork.ts';

/** A client that has not taken the whole response after this time is cut off, in milliseconds. */
const TAKE_LIMIT_MS = 60_000;

/** Bytes of one write. A client that takes them is known to read, so its response is not cut off to make room for others. */
const CHUNK = 64 * 1024;

/** Sends one sentence as plain text. It may replace a response that was to be compressed, so that header is removed. */
export function sendText(response: ServerResponse, status: number, text: string): void {
  const body = Buffer.from(`${text}\n`);
  response.statusCode = status;
  response.removeHeader('Content-Encoding');
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.setHeader('Content-Length', body.length);
  response.end(body);
}

/** Answers a request that met an internal error, or closes its connection where a response has started. */
export function sendInternalError(response: ServerResponse): void {
  if (response.headersSent) response.req.socket.destroy();
  else sendText(response, 500, 'Internal error; the log of the exporter has the reason.');
}

/**
 * Sends pages, always as a whole, because every response shows the present. They are made one at a time, by `parts`, each for all
 * clients that wait for the same `key`.
 */
export function pageSender() {
  const pages = new SharedWork<readonly Buffer[]>('end');
  return async (
    response: Response,
    slot: RequestSlot,
    contentType: string,
    key: string,
    parts: () => Iterable<string>,
  ): Promise<void> => {
    const gzip = acceptsGzip(response.req.headers['accept-encoding']?.toString());
    const pieces = await pages.of(`${gzip} ${key}`, slot.gone, async (abandoned) => {
      await yieldToEventLoop();
      return await bytesOf(parts(), gzip, abandoned);
    });
    response.setHeader('Content-Type', contentType);
    response.setHeader('Vary', 'Accept-Encoding');
    if (gzip) response.setHeader('Content-Encoding', 'gzip');
    await sendPieces(response, pieces, slot);
  };
}

/** Sends an exposition with the headers of its form; resolves and throws as `sendPieces`. */
export async function sendExposition(
  response: ServerResponse,
  pieces: readonly Buffer[],
  { format, gzip }: ExpositionForm,
  slot: Pick<RequestSlot, 'gone' | 'inFlight'>,
): Promise<boolean> {
  response.setHeader('Content-Type', contentTypeOf(format, response.req.headers.accept));
  response.setHeader('Vary', 'Accept, Accept-Encoding');
  if (gzip) response.setHeader('Content-Encoding', 'gzip');
  return await sendPieces(response, pieces, slot);
}

/**
 * Sends pieces one after the other at the speed of the client, and ends the response. Resolves to false, with the connection
 * closed, when the client left or did not take the response within `limitMs`. Throws a {@link HttpError}, with nothing sent,
 * where the responses under way leave no room for it.
 */
export async function sendPieces(
  response: ServerResponse,
  made: readonly Buffer[],
  { gone, inFlight }: Pick<RequestSlot, 'gone' | 'inFlight'>,
  limitMs: number = TAKE_LIMIT_MS,
): Promise<boolean> {
  const length = made.reduce((total, piece) => total + piece.length, 0);
  const pieces = await inFlight.shared(made);
  inFlight.begin(response, pieces);
  response.setHeader('Content-Length', length);
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), limitMs);
  const chunks = function* (): Generator<Buffer> {
    for (const piece of pieces) {
      for (let start = 0; start < piece.length; start += CHUNK) {
        yield piece.subarray(start, start + CHUNK);
        inFlight.took(response);
      }
    }
  };
  try {
    await pipeline(chunks, response, { signal: AbortSignal.any([gone, stop.signal]) });
    return true;
  } catch {
    response.destroy();
    return false;
  } finally {
    clearTimeout(timer);
  }
}
