import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** A client that has not taken the rest of an answer after this time is cut off. */
const TAKE_LIMIT_MS = 60_000;

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
  response.end(body);
}

/**
 * Writes pieces one after the other, waiting for the client where it is slower than we are, and ends the answer.
 * Resolves to false when the client went away, or did not take it within `limitMs`; the connection is closed then.
 */
export async function writePieces(
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
  const gone = new AbortController();
  const abort = () => gone.abort();
  const timer = setTimeout(abort, limitMs);
  response.once('close', abort);
  try {
    for (const piece of pieces) {
      if (gone.signal.aborted || response.destroyed) return false;
      if (!response.write(piece)) await once(response, 'drain', { signal: gone.signal });
    }
    const finished = once(response, 'finish', { signal: gone.signal });
    response.end();
    await finished;
    return true;
  } catch {
    response.destroy();
    return false;
  } finally {
    clearTimeout(timer);
    response.off('close', abort);
  }
}

/** Closes the connection of a client that does not take the end of its answer. */
export function cutOffSlowReader(response: ServerResponse, limitMs: number = TAKE_LIMIT_MS): void {
  response.once('prefinish', () => {
    const timer = setTimeout(() => response.destroy(), limitMs);
    timer.unref();
    response.once('close', () => clearTimeout(timer));
  });
}
