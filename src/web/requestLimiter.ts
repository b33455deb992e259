import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Response } from 'express';
import { inSlices } from '../eventLoop/turns.ts';
import { HttpError, type Handler } from './dependencies.ts';

/** A client that has taken nothing for this time, in milliseconds, is cut off when another one needs its place. */
const STALLED_MS = 2_000;

/** The most bytes of all responses under way together; a response that is alone may be larger. */
const MAX_BYTES = 128_000_000;

/** Bytes of one write. A client that takes them is known to read, so its response is not cut off to make room for others. */
const PORTION = 64 * 1024;

const FULL = 'Other clients are taking as many bytes as may be under way at once; try again later.';

/** Counts and limits the bytes of all responses under way: the memory that clients can hold by reading slowly. */
export class InFlightBytes {
  readonly #maxBytes: number;
  readonly #now: () => number;
  /** For each response its pieces, and the time when its client last took some. */
  readonly #readers = new Map<ServerResponse, { readonly pieces: readonly Buffer[]; tookAt: number }>();
  /** The number of readers of each piece: a response that several clients get counts once. */
  readonly #uses = new Map<Buffer, number>();
  #bytes = 0;

  /** `now` gives milliseconds of a clock that never goes back. */
  constructor(now: () => number, maxBytes = MAX_BYTES) {
    this.#now = now;
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws a {@link HttpError} where no further response may start, so that none is made without room for it. */
  checkRoom(): void {
    if (this.#bytes >= this.#maxBytes && this.cutOffStalled() === undefined) throw new HttpError(503, FULL);
  }

  /**
   * Counts a response until `end` is called. Gives its pieces in portions, and notes when the client takes them. Each piece is
   * the buffer of equal bytes that is under way, if there is one: then it is in memory once. Rejects with a {@link HttpError}
   * where the others leave no room for it.
   */
  async begin(response: ServerResponse, made: readonly Buffer[]): Promise<() => Generator<Buffer>> {
    const underWay = [...this.#uses.keys()];
    const pieces: Buffer[] = [];
    await inSlices(made, (piece) => pieces.push(underWay.find((used) => used.equals(piece)) ?? piece));
    for (const piece of pieces) {
      const uses = this.#uses.get(piece) ?? 0;
      if (uses === 0) this.#bytes += piece.length;
      this.#uses.set(piece, uses + 1);
    }
    const now = this.#now;
    const reader = { pieces, tookAt: now() };
    this.#readers.set(response, reader);
    while (this.#bytes > this.#maxBytes && this.#readers.size > 1) {
      if (this.cutOffStalled() !== undefined) continue;
      this.end(response);
      throw new HttpError(503, FULL);
    }
    const portions = function* (): Generator<Buffer> {
      for (const piece of pieces) {
        for (let start = 0; start < piece.length; start += PORTION) {
          yield piece.subarray(start, start + PORTION);
          reader.tookAt = now();
        }
      }
    };
    return portions;
  }

  /** Closes, of the connections that `may` be closed, the one that has been stalled for longest. */
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
}

/** Thrown where work stops because its client has closed the connection. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('the client closed its connection');
  }
}

/**
 * A signal that is aborted when the client leaves before its response was written; `over` is called then, or after the
 * response. The socket is watched too, because the later responses of pipelined requests get no `close` event from Node.
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

/** The result of the work; a {@link ClientGoneError} as soon as the client has left, while the work continues. */
export async function unlessGone<T>(work: Promise<T>, gone: AbortSignal): Promise<T> {
  const left = new Promise<never>((_resolve, reject) => {
    const leave = () => reject(new ClientGoneError());
    if (gone.aborted) leave();
    // The signal lives no longer than its request.
    else gone.addEventListener('abort', leave, { once: true });
  });
  return await Promise.race([work, left]);
}

export interface RequestSlot {
  readonly gone: AbortSignal;
  /**
   * Runs work that ends early when its signal is aborted: because the client has left, or because another request needs the
   * slot and this client has waited longest. Rejects with a {@link ClientGoneError} when the client has left.
   */
  waitFor<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  readonly inFlight: InFlightBytes;
}

export type LimitedHandler = (
  request: Parameters<Handler>[0],
  response: Response,
  slot: RequestSlot,
) => void | Promise<void>;

/**
 * Lets at most `max` responses of all its handlers be written at once; 0: no limit. Clients that wait for New Relic hold no
 * slot: when another client needs a slot, the one that has waited longest is answered with the last good values.
 */
export class RequestLimiter {
  readonly #max: number;
  readonly #inFlight: InFlightBytes;
  /** What ends the wait of each; the one that has waited longest comes first. */
  readonly #waiting = new Map<Response, AbortController>();
  readonly #writing = new Set<Response>();

  constructor(max: number, inFlight: InFlightBytes) {
    this.#max = max;
    this.#inFlight = inFlight;
  }

  get taken(): { readonly waiting: number; readonly writing: number } {
    return { waiting: this.#waiting.size, writing: this.#writing.size };
  }

  /** The handler; its response holds a slot until the client has taken it or left. */
  guard(handler: LimitedHandler): Handler {
    return async (request, response) => {
      this.#inFlight.checkRoom();
      if (!this.#makeRoom()) {
        const full = `${this.#max} scrapes are being answered already (--web.max-requests); try again later.`;
        throw new HttpError(503, full);
      }
      this.#writing.add(response);
      const gone = clientGone(response, () => {
        this.#writing.delete(response);
        this.#waiting.delete(response);
        this.#inFlight.end(response);
      });
      const waitFor = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
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
      };
      await handler(request, response, { gone, waitFor, inFlight: this.#inFlight });
    };
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
