import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { bodyOf } from '../exposition/exposition.ts';
import { acceptsGzip } from '../exposition/formats.ts';
import type { Client } from './dependencies.ts';
import { SharedWork } from './sharedWork.ts';

/** A client that has not taken the whole answer after this time is cut off, in milliseconds. */
const TAKE_LIMIT_MS = 30_000;

/** Gives the pieces of an answer; one that exceeds the limit, in bytes, ends soon after it. */
export type Render = (limit: number) => Promise<readonly Buffer[]>;

/** Bytes of the largest answer that needs no place. */
const SMALL = 64 * 1024;

/** Bytes of one write: a client that has taken them is known to read. */
const PORTION = 64 * 1024;

/** What stands in the place of a key, and how a page writes it. */
const MASKED = '<secret>';
const ESCAPED = '&lt;secret&gt;';

/** Sends one sentence as plain text. */
export function sendText(response: ServerResponse, status: number, text: string): void {
  const body = Buffer.from(`${text}\n`);
  response.statusCode = status;
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
 * Sends pages, always as a whole, because every response shows the present. Renders them one at a time, from `parts`, each for
 * all clients that wait for the same `key`. `mask` hides keys in a text.
 */
export function pageSender(mask: (text: string) => string) {
  const pages = new SharedWork<readonly Buffer[]>();
  return async (
    response: Response,
    client: Client,
    contentType: string,
    key: string,
    parts: () => Iterable<string>,
  ): Promise<void> => {
    const gzip = acceptsGzip(response.req.headers['accept-encoding']?.toString());
    const masked = function* () {
      // What hides a key looks like an element.
      const escape = (text: string) => (contentType.startsWith('text/html') ? text.replaceAll(MASKED, ESCAPED) : text);
      for (const part of parts()) yield escape(mask(part));
    };
    const render = (limit: number) =>
      pages.of(`${gzip} ${limit} ${key}`, client.gone, (abandoned) => bodyOf(masked(), gzip, abandoned, limit));
    await sendAnswer(response, { contentType, gzip }, render, client);
  };
}

/**
 * Sends what `render` gives. A large answer needs a place before it is rendered, so that answers that wait hold no memory; one
 * without a place ends where it turns out to be large, and is rendered again in its turn. Resolves to false, with the connection
 * closed, when the client did not take the answer. Rejects with what `render` throws, or where the client
 * left while it waited, with nothing sent.
 */
export async function sendAnswer(
  response: ServerResponse,
  { contentType, gzip }: { readonly contentType: string; readonly gzip: boolean },
  render: Render,
  { gone, places }: Pick<Client, 'gone' | 'places'>,
): Promise<boolean> {
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
      return await sendPieces(response, pieces, gone, () => place && places.noteProgress(place));
    } finally {
      if (place !== undefined) places.leave(place);
    }
  }
}

/**
 * Writes pieces at the speed of the client, and ends the response. Calls `noteProgress` at the start and whenever the socket has
 * taken a portion. Resolves once the socket has taken the last byte; to false, with the connection closed, when the client left
 * or did not take the response within `limitMs`.
 */
export async function sendPieces(
  response: ServerResponse,
  pieces: readonly Buffer[],
  gone: AbortSignal,
  noteProgress: () => void = () => undefined,
  limitMs: number = TAKE_LIMIT_MS,
): Promise<boolean> {
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
    return true;
  } catch {
    response.destroy();
    return false;
  } finally {
    clearTimeout(timer);
  }
}
