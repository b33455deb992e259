import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { encodeBody } from '../exposition/exposition.ts';
import { acceptsGzip } from '../exposition/formats.ts';
import type { Client } from './dependencies.ts';
import { SharedWork } from './sharedWork.ts';

/** Milliseconds that a client has to receive a response. After that, the connection is closed. */
const SEND_LIMIT_MS = 30_000;

/** Renders the pieces of a response. A response above `limit` bytes is incomplete: it ends soon after the limit. */
export type Render = (limit: number) => Promise<readonly Buffer[]>;

/** Bytes of the largest response that needs no place. */
const SMALL = 64 * 1024;

/** Bytes of one write: progress of the client is noted after each portion. */
const PORTION = 64 * 1024;

export function sendText(response: ServerResponse, status: number, text: string): void {
  const body = Buffer.from(`${text}\n`);
  response.statusCode = status;
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.setHeader('Content-Length', body.length);
  response.end(body);
}

/** Sends 500 for an internal error. Closes the connection instead if a response has started. */
export function sendInternalError(response: ServerResponse): void {
  if (response.headersSent) response.req.socket.destroy();
  else sendText(response, 500, 'Internal error; see the log of the exporter.');
}

/** Returns a function that sends pages, and renders each once for all clients that wait for the same `key`. */
export function createPageSender(mask: (text: string) => string) {
  const pages = new SharedWork<readonly Buffer[]>();
  return async (
    response: Response,
    client: Client,
    contentType: string,
    key: string,
    parts: () => Iterable<string>,
  ): Promise<void> => {
    const gzip = acceptsGzip(response.req.headers['accept-encoding']?.toString());
    // In HTML, the replacement of a secret would look like an element.
    const shown = contentType.startsWith('text/html') ? '&lt;secret&gt;' : '<secret>';
    const masked = function* () {
      for (const part of parts()) yield mask(part).replaceAll('<secret>', shown);
    };
    const render = (limit: number) =>
      pages.share(`${gzip} ${limit} ${key}`, client.gone, (abandoned) => encodeBody(masked(), gzip, abandoned, limit));
    await sendAnswer(response, { contentType, gzip }, render, client);
  };
}

/**
 * Renders and sends a response. A large response needs a place before it is rendered, so that waiting responses hold no
 * memory. A response that turns out to be large without a place stops, waits for a place, and is rendered again.
 * Rejects, with nothing sent, if `render` throws or the client disconnects while it waits.
 */
export async function sendAnswer(
  response: ServerResponse,
  { contentType, gzip }: { readonly contentType: string; readonly gzip: boolean },
  render: Render,
  { gone, places }: Pick<Client, 'gone' | 'places'>,
): Promise<void> {
  const { url = '' } = response.req;
  for (;;) {
    const expected = places.expectedBytes(url);
    const place = expected > SMALL ? await places.enter(response, expected, gone) : undefined;
    try {
      const pieces = await render(place === undefined ? SMALL : Infinity);
      const length = pieces.reduce((total, piece) => total + piece.length, 0);
      places.expect(url, length);
      if (place === undefined ? length > SMALL : !places.resize(place, length)) continue;
      response.setHeader('Content-Type', contentType);
      response.setHeader('Vary', 'Accept, Accept-Encoding');
      if (gzip) response.setHeader('Content-Encoding', 'gzip');
      response.setHeader('Content-Length', length);
      await sendPieces(response, pieces, gone, () => place && places.noteProgress(place));
      return;
    } finally {
      if (place !== undefined) places.leave(place);
    }
  }
}

/**
 * Writes pieces at the speed of the client, and ends the response. Calls `noteProgress` at the start, and after each
 * portion that the socket accepts. Closes the connection if the client disconnects, or takes longer than `limitMs`.
 */
export async function sendPieces(
  response: ServerResponse,
  pieces: readonly Buffer[],
  gone: AbortSignal,
  noteProgress: () => void = () => undefined,
  limitMs: number = SEND_LIMIT_MS,
): Promise<void> {
  const portions = function* (): Generator<Buffer> {
    for (const piece of pieces) {
      for (let start = 0; start < piece.length; start += PORTION) {
        noteProgress();
        yield piece.subarray(start, start + PORTION);
      }
    }
  };
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), limitMs);
  try {
    await pipeline(portions, response, { signal: AbortSignal.any([gone, stop.signal]) });
  } catch {
    response.destroy();
  } finally {
    clearTimeout(timer);
  }
}
