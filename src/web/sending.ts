import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Response } from 'express';
import type { CollectionConfig } from '../config/config.ts';
import type { RenderOptions, RenderedAnswer } from '../exposition/exposition.ts';
import { acceptsGzip, negotiate } from '../exposition/formats.ts';
import type { Handler } from './dependencies.ts';

/** A client that has not taken the whole answer after this time is cut off, in milliseconds. */
const TAKE_LIMIT_MS = 60_000;

const takingSince = new WeakMap<ServerResponse, number>();

/** Milliseconds for which the client has been taking its answer; undefined where sending has not begun. */
function takingFor(response: ServerResponse): number | undefined {
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

/** Thrown where work stops because the client that asked for it has closed its connection. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('the client closed its connection');
  }
}

const signals = new WeakMap<Socket, AbortSignal>();

/**
 * A signal that is aborted when the connection of a request closes. The response's own `close` event is not enough:
 * Node never emits it for the later ones of several requests that came at once over one connection.
 */
export function clientGone({ socket }: IncomingMessage): AbortSignal {
  const known = signals.get(socket);
  if (known !== undefined) return known;
  const gone = new AbortController();
  if (socket.destroyed) gone.abort();
  else socket.once('close', () => gone.abort());
  signals.set(socket, gone.signal);
  return gone.signal;
}

/** What the work gives. Rejects with a {@link ClientGoneError} as soon as the client has gone; the work goes on alone. */
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

/** A client that has been taking its answer for longer loses its slot to one that asks, in milliseconds. */
const SLOW_MS = 2_000;

/** Lets at most `max` answers be given at once, those of all its handlers together; 0: no limit. */
export class AnswerSlots {
  readonly #max: number;
  readonly #refusal: string;
  readonly #slowMs: number;
  readonly #taken = new Set<Response>();

  /** `refusal` is what a client reads, with status 503, where no slot is free. */
  constructor(max: number, refusal: string, slowMs = SLOW_MS) {
    this.#max = max;
    this.#refusal = refusal;
    this.#slowMs = slowMs;
  }

  /** The handler; its answer holds a slot from its beginning until the client has taken it, or is gone. */
  guard(handler: Handler): Handler {
    return async (request, response) => {
      if (this.#isFull()) this.#cutOffSlowest();
      if (this.#isFull()) {
        sendText(response, 503, this.#refusal);
        return;
      }
      this.#taken.add(response);
      // Before the next request of the connection has its turn.
      response.once('close', () => this.#taken.delete(response));
      try {
        await handler(request, response);
      } finally {
        if (request.socket.destroyed) this.#taken.delete(response);
      }
    };
  }

  #isFull(): boolean {
    return this.#max > 0 && this.#taken.size >= this.#max;
  }

  #cutOffSlowest(): void {
    const slow = [...this.#taken].filter((response) => (takingFor(response) ?? 0) > this.#slowMs);
    const [slowest] = slow.toSorted((a, b) => (takingFor(b) ?? 0) - (takingFor(a) ?? 0));
    if (slowest === undefined) return;
    this.#taken.delete(slowest);
    slowest.req.socket.destroy();
  }
}
