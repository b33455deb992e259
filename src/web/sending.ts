import { once, setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from 'express';
import type { CollectionConfig } from '../config/config.ts';
import type { RenderOptions, RenderedExposition } from '../exposition/exposition.ts';
import { acceptsGzip, contentTypeOf, negotiate } from '../exposition/formats.ts';
import type { Handler } from './dependencies.ts';
import { HttpError } from './request.ts';

/** A client that has not taken the whole response after this time is cut off, in milliseconds. */
const TAKE_LIMIT_MS = 60_000;

/** A client that has taken nothing for this long gives way to a waiting one, in milliseconds. */
const STALLED_MS = 2_000;

/** Bytes of all responses that are being written together; a single one may be larger. */
const MOST_BYTES = 128_000_000;

/** Bytes that are handed over in one write: taking one shows that a client reads. */
const CHUNK = 64 * 1024;

/** Thrown where work stops because its client has closed the connection. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('the client closed its connection');
  }
}

/**
 * A signal that is aborted when the client closes its connection before its response was written. `over` is called then, or
 * else once the response was written. The `close` event of a response is not enough: Node never emits it for the later ones of
 * several requests that came at once over one connection.
 */
export function clientGone(response: ServerResponse, over: () => void = () => undefined): AbortSignal {
  const gone = new AbortController();
  const { socket } = response.req;
  const end = (): void => {
    response.off('close', end);
    socket.off('close', end);
    if (socket.destroyed && !response.writableFinished) gone.abort();
    over();
  };
  response.once('close', end);
  socket.once('close', end);
  if (socket.destroyed) end();
  return gone.signal;
}

/**
 * The result of the work. Rejects with a {@link ClientGoneError} as soon as the client has left; the work continues in the
 * background.
 */
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

const FULL = 'Other clients are taking as many bytes as may be under way at once; try again later.';

/** The responses of all clients that are being written: the memory that clients can hold by reading slowly. */
export class InFlightBytes {
  readonly #mostBytes: number;
  readonly #now: () => number;
  /** For each response its size, what its pieces were made of, and when its client last took something, in milliseconds. */
  readonly #readers = new Map<
    ServerResponse,
    { readonly pieces: readonly Buffer[]; readonly madeOf: object | undefined; tookAt: number }
  >();
  /** The number of readers of each piece: a response that several clients get counts once. */
  readonly #uses = new Map<Buffer, number>();
  #bytes = 0;

  /** `now` gives milliseconds of a clock that never goes back. */
  constructor(now: () => number, mostBytes = MOST_BYTES) {
    this.#now = now;
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws a {@link HttpError} where no further response may start, so that none is made without room for it. */
  checkRoom(): void {
    if (this.#bytes >= this.#mostBytes && this.cutOffStalled() === undefined) throw new HttpError(503, FULL);
  }

  /** Counts a response until `end` is called. Throws a {@link HttpError} where the others leave no room for it. */
  begin(response: ServerResponse, pieces: readonly Buffer[], madeOf?: object): void {
    while (this.#bytes > 0 && this.#bytes + this.#addedBy(pieces) > this.#mostBytes) {
      if (this.cutOffStalled() === undefined) throw new HttpError(503, FULL);
    }
    this.#bytes += this.#addedBy(pieces);
    for (const piece of pieces) this.#uses.set(piece, (this.#uses.get(piece) ?? 0) + 1);
    this.#readers.set(response, { pieces, madeOf, tookAt: this.#now() });
  }

  /** The client has taken a part of its response. */
  took(response: ServerResponse): void {
    const reader = this.#readers.get(response);
    if (reader !== undefined) reader.tookAt = this.#now();
  }

  /**
   * Closes the connection that has taken nothing for longest, if that is long enough, among the connections that `may` be
   * closed.
   */
  cutOffStalled(may: (response: ServerResponse) => boolean = () => true): ServerResponse | undefined {
    const last = this.#now() - STALLED_MS;
    const stalled = [...this.#readers].filter(([response, { tookAt }]) => tookAt <= last && may(response));
    const [longest] = stalled.toSorted(([, a], [, b]) => a.tookAt - b.tookAt);
    if (longest === undefined) return undefined;
    const [response] = longest;
    this.end(response);
    response.req.socket.destroy();
    return response;
  }

  /** The response has been taken, or the client has left. */
  end(response: ServerResponse): void {
    const reader = this.#readers.get(response);
    if (reader === undefined) return;
    this.#readers.delete(response);
    for (const piece of reader.pieces) {
      const uses = (this.#uses.get(piece) ?? 0) - 1;
      if (uses > 0) this.#uses.set(piece, uses);
      else {
        this.#uses.delete(piece);
        this.#bytes -= piece.length;
      }
    }
  }

  #addedBy(pieces: readonly Buffer[]): number {
    return pieces.reduce((total, piece) => total + (this.#uses.has(piece) ? 0 : piece.length), 0);
  }
}

/** What a handler gets with a request that holds one of the slots. */
export interface RequestSlot {
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
  /**
   * The result of the work, which ends early where its signal is aborted: the client has left, or has waited longest when
   * another request needs the slot. Rejects with a {@link ClientGoneError} when the client has left.
   */
  waitFor<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  readonly inFlight: InFlightBytes;
}

/** A handler of a path with a limited number of responses. */
export type LimitedHandler = (
  request: Parameters<Handler>[0],
  response: Response,
  slot: RequestSlot,
) => void | Promise<void>;

/**
 * Lets at most `max` responses of all its handlers be written at once; 0: no limit. Clients that wait for New Relic hold no
 * slot: when another client needs a slot, the one that has waited longest is answered with the data there are.
 */
export class RequestLimiter {
  readonly #max: number;
  readonly #refusal: string;
  readonly #inFlight: InFlightBytes;
  /** Ends the wait of each response, in the order in which they started to wait. */
  readonly #waiting = new Map<Response, AbortController>();
  readonly #writing = new Set<Response>();

  /** `refusal` is what a client reads, with status 503, where no slot is free. */
  constructor(max: number, refusal: string, inFlight: InFlightBytes) {
    this.#max = max;
    this.#refusal = refusal;
    this.#inFlight = inFlight;
  }

  /** The number of responses that wait for New Relic, and the number that is being made or sent. */
  get taken(): { readonly waiting: number; readonly writing: number } {
    return { waiting: this.#waiting.size, writing: this.#writing.size };
  }

  /** The handler; its response holds a slot until the client has taken it or left. */
  guard(handler: LimitedHandler): Handler {
    return async (request, response) => {
      this.#inFlight.checkRoom();
      if (!this.#makeRoom()) throw new HttpError(503, this.#refusal);
      this.#writing.add(response);
      const gone = clientGone(response, () => {
        this.#writing.delete(response);
        this.#waiting.delete(response);
        this.#inFlight.end(response);
      });
      const waitFor = <T>(work: (signal: AbortSignal) => Promise<T>) => this.#wait(response, gone, work);
      await handler(request, response, { gone, waitFor, inFlight: this.#inFlight });
    };
  }

  async #wait<T>(response: Response, gone: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController();
    this.#writing.delete(response);
    if (!gone.aborted) this.#waiting.set(response, ended);
    const signal = AbortSignal.any([gone, ended.signal]);
    // Each account adds a listener; Node.js 20 writes a warning from the eleventh on.
    setMaxListeners(0, signal);
    try {
      return await unlessGone(work(signal), gone);
    } finally {
      if (this.#waiting.delete(response)) this.#writing.add(response);
    }
  }

  #makeRoom(): boolean {
    if (this.#max === 0 || this.#waiting.size + this.#writing.size < this.#max) return true;
    if (this.#writing.size >= this.#max) {
      const cut = this.#inFlight.cutOffStalled((response) => this.#writing.has(response as Response));
      return cut !== undefined && this.#writing.delete(cut as Response);
    }
    const [longest] = this.#waiting;
    if (longest === undefined) return true;
    const [response, ended] = longest;
    this.#waiting.delete(response);
    this.#writing.add(response);
    ended.abort();
    return true;
  }
}

/** A response of one sentence in plain text, also in place of one that was to be compressed. */
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

/** A whole page; no conditional requests, no ranges: every response shows the present. */
export async function sendPage(
  response: Response,
  slot: RequestSlot,
  contentType: string,
  body: Buffer,
): Promise<void> {
  response.setHeader('Content-Type', contentType);
  await sendPieces(response, [body], slot);
}

/** The format and compression that a request asks for, and the most series that the configuration allows. */
export function renderOptionsOf(
  request: IncomingMessage,
  { max_series: maxSeries }: Pick<CollectionConfig, 'max_series'>,
): Pick<RenderOptions, 'format' | 'gzip' | 'maxSeries'> {
  const { accept, 'accept-encoding': encoding } = request.headers;
  return {
    format: negotiate(accept),
    gzip: acceptsGzip(typeof encoding === 'string' ? encoding : undefined),
    maxSeries,
  };
}

/** Sends an exposition; as {@link sendPieces}. */
export async function sendExposition(
  response: ServerResponse,
  exposition: RenderedExposition,
  slot: Pick<RequestSlot, 'gone' | 'inFlight'>,
): Promise<boolean> {
  response.setHeader('Content-Type', contentTypeOf(exposition.format, response.req.headers.accept));
  response.setHeader('Vary', 'Accept, Accept-Encoding');
  if (exposition.contentEncoding !== undefined) response.setHeader('Content-Encoding', exposition.contentEncoding);
  return await sendPieces(response, exposition.pieces, slot, exposition.madeOf);
}

/**
 * Sends pieces one after the other, waits for a client that is slower, and ends the response. Resolves to false when the client
 * left, or did not take it within `limitMs`; the connection is closed then. Throws a {@link HttpError}, with nothing sent,
 * where the responses under way leave no room for it.
 */
export async function sendPieces(
  response: ServerResponse,
  pieces: readonly Buffer[],
  { gone, inFlight }: Pick<RequestSlot, 'gone' | 'inFlight'>,
  madeOf?: object,
  limitMs: number = TAKE_LIMIT_MS,
): Promise<boolean> {
  const length = pieces.reduce((total, piece) => total + piece.length, 0);
  if (response.req.method === 'HEAD') {
    response.setHeader('Content-Length', length);
    response.end();
    return true;
  }
  inFlight.begin(response, pieces, madeOf);
  response.setHeader('Content-Length', length);
  const stop = new AbortController();
  const { signal } = stop;
  const cut = (): void => stop.abort();
  const timer = setTimeout(cut, limitMs);
  gone.addEventListener('abort', cut, { once: true });
  if (gone.aborted) cut();
  try {
    for (const piece of pieces) {
      for (let start = 0; start < piece.length; start += CHUNK) {
        signal.throwIfAborted();
        if (!response.write(piece.subarray(start, start + CHUNK))) await once(response, 'drain', { signal });
        inFlight.took(response);
      }
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

/** Closes the connection of a client that does not take the end of its response. */
export function cutOffSlowReader(response: ServerResponse, limitMs: number = TAKE_LIMIT_MS): void {
  response.once('prefinish', () => {
    const timer = setTimeout(() => response.req.socket.destroy(), limitMs);
    timer.unref();
    response.once('close', () => clearTimeout(timer));
  });
}
