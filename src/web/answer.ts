import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CollectionConfig } from '../config/config.ts';
import type { RenderOptions } from '../exposition/exposition.ts';
import { acceptsGzip, negotiate } from '../exposition/negotiate.ts';
import type { RenderedAnswer } from '../exposition/rendered.ts';
import { clientGone } from './server/clientGone.ts';

/** A client that has not taken the whole answer after this time is cut off, in milliseconds. */
const TAKE_LIMIT_MS = 60_000;

const takingSince = new WeakMap<ServerResponse, number>();

/** Milliseconds for which the client has been taking its answer; undefined where sending has not begun. */
export function takingFor(response: ServerResponse): number | undefined {
  const since = takingSince.get(response);
  return since === undefined ? undefined : performance.now() - since;
}

/** An answer of one sentence in plain text. */
export function sendText(response: ServerResponse, status: number, text: string): void {
  sendBody(response, status, 'text/plain; charset=utf-8', `${text}\n`);
}

/** A whole answer at once; no conditional requests, no ranges: every answer is of this moment. */
export function sendBody(response: ServerResponse, status: number, contentType: string, text: string): void {
  const body = Buffer.from(text);
  response.statusCode = status;
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', body.length);
  takingSince.set(response, performance.now());
  response.end(body);
}

/** The format and compression that a request asks for, and the most series that the configuration allows. */
export function wantedBy(
  request: IncomingMessage,
  { max_series: maxSeries }: Pick<CollectionConfig, 'max_series'>,
): RenderOptions {
  const { accept, 'accept-encoding': encoding } = request.headers;
  return {
    format: negotiate(accept),
    gzip: acceptsGzip(typeof encoding === 'string' ? encoding : undefined),
    maxSeries,
  };
}

/** Sends an exposition; as {@link sendPieces}. */
export async function sendExposition(response: ServerResponse, answer: RenderedAnswer): Promise<boolean> {
  response.setHeader('Content-Type', answer.contentType);
  response.setHeader('Vary', 'Accept, Accept-Encoding');
  if (answer.contentEncoding !== undefined) response.setHeader('Content-Encoding', answer.contentEncoding);
  return await sendPieces(response, answer.pieces);
}

/**
 * Sends pieces one after the other, waiting for the client where it is slower than we are, and ends the answer.
 * Resolves to false when the client went away, or did not take it within `limitMs`; the connection is closed then.
 */
export async function sendPieces(
  response: ServerResponse,
  pieces: readonly Buffer[],
  limitMs: number = TAKE_LIMIT_MS,
): Promise<boolean> {
  response.setHeader(
    'Content-Length',
    pieces.reduce((total, piece) => total + piece.length, 0),
  );
  if (response.req.method === 'HEAD') {
    response.end();
    return true;
  }
  const gone = clientGone(response.req);
  const stop = new AbortController();
  const { signal } = stop;
  const cut = () => stop.abort();
  const timer = setTimeout(cut, limitMs);
  gone.addEventListener('abort', cut);
  if (gone.aborted || response.destroyed) cut();
  takingSince.set(response, performance.now());
  try {
    for (const piece of pieces) {
      signal.throwIfAborted();
      if (!response.write(piece)) await once(response, 'drain', { signal });
    }
    const finished = once(response, 'finish', { signal });
    response.end();
    await finished;
    return true;
  } catch {
    response.destroy();
    return false;
  } finally {
    clearTimeout(timer);
    gone.removeEventListener('abort', cut);
  }
}

/** Closes the connection of a client that does not take the end of its answer. */
export function cutOffSlowReader(response: ServerResponse, limitMs: number = TAKE_LIMIT_MS): void {
  response.once('prefinish', () => {
    const timer = setTimeout(() => response.req.socket.destroy(), limitMs);
    timer.unref();
    response.once('close', () => clearTimeout(timer));
  });
}
