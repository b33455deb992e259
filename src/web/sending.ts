import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { bodyOf } from '../exposition/exposition.ts';
import { yieldIfDue, yieldToEventLoop } from '../eventLoop/turns.ts';
import { acceptsGzip } from '../exposition/formats.ts';
import { unlessGone, type RequestSlot } from './requestLimiter.ts';

/** A client that has not taken the whole response after this time is cut off, in milliseconds. */
const TAKE_LIMIT_MS = 60_000;

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
 * Large work for clients, such as the making of a page: requests for the same share it, different works are done one after the
 * other, and a work ends early once every client that waits for it has left. Many clients then cost what one costs.
 */
export class SharedWork<T> {
  /** By key, from the moment of the first request until the work begins, or its result is there; `waiting` counts clients. */
  readonly #works = new Map<string, { readonly result: Promise<T>; waiting: number; readonly abandon: () => void }>();
  readonly #joinUntil: 'begin' | 'end';
  #last: Promise<void> = Promise.resolve();

  /** @param joinUntil `begin` where the result of work that has begun may be too old for a request that arrives now */
  constructor(joinUntil: 'begin' | 'end') {
    this.#joinUntil = joinUntil;
  }

  /**
   * Work for one client; rejects with a {@link ClientGoneError} as soon as it has left (`gone`). Requests of one `key` can share
   * it. `make` does it in slices, and stops when its signal is aborted.
   */
  async of(key: string, gone: AbortSignal, make: (abandoned: AbortSignal) => Promise<T>): Promise<T> {
    const work = this.#works.get(key) ?? this.#add(key, make);
    work.waiting += 1;
    try {
      return await unlessGone(work.result, gone);
    } finally {
      work.waiting -= 1;
      if (work.waiting === 0) work.abandon();
    }
  }

  #add(key: string, make: (abandoned: AbortSignal) => Promise<T>) {
    const abandoned = new AbortController();
    const result = this.#last.then(() => {
      abandoned.signal.throwIfAborted();
      if (this.#joinUntil === 'begin') forget();
      return make(abandoned.signal);
    });
    const forget = (): void => {
      if (this.#works.get(key) === work) this.#works.delete(key);
    };
    const abandon = (): void => {
      forget();
      abandoned.abort();
    };
    const work = { result, waiting: 0, abandon };
    this.#works.set(key, work);
    this.#last = result.then(forget, forget);
    return work;
  }
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

/** Characters of a text that become one piece of bytes. */
const PIECE = 128 * 1024;

/** The bytes of a text, made of its parts in slices, compressed where `gzip`. Rejects once the signal is aborted. */
export async function bytesOf(
  parts: Iterable<string>,
  gzip: boolean,
  abandoned: AbortSignal,
): Promise<readonly Buffer[]> {
  return await bodyOf(piecesOf(parts, abandoned), gzip);
}

async function* piecesOf(parts: Iterable<string>, abandoned: AbortSignal): AsyncGenerator<Buffer> {
  let text = '';
  for (const part of parts) {
    await yieldIfDue();
    abandoned.throwIfAborted();
    text += part;
    if (text.length < PIECE) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(text);
}

/** Sends an exposition with the headers of its form; resolves and throws as `sendPieces`. */
export async function sendExposition(
  response: ServerResponse,
  pieces: readonly Buffer[],
  { contentType, gzip }: { readonly contentType: string; readonly gzip: boolean },
  slot: Pick<RequestSlot, 'gone' | 'inFlight'>,
): Promise<boolean> {
  response.setHeader('Content-Type', contentType);
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
  const portions = await inFlight.begin(response, made);
  response.setHeader('Content-Length', length);
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
