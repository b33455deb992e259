import type { ServerResponse } from 'node:http';
import { awaitUnlessGone } from './clientGone.ts';

/** Limits of large responses in flight: their number, and their bytes without those of the oldest. */
const MAX_ANSWERS = 8;
const MAX_BYTES = 128_000_000;

/** While a response waits, a client that receives nothing for this time is disconnected. */
const STALLED_MS = 2_000;
const CHECK_INTERVAL_MS = 100;

/** Limit of remembered response sizes. */
const MAX_SIZES = 100;

export interface Place {
  readonly response: ServerResponse;
  bytes: number;
  /** When the client last received a portion; Infinity until the response starts. */
  progressAt: number;
}

/**
 * Limits the memory that slow clients occupy: a large response needs a place. The newest request gets the next free
 * place, because its scraper still waits; the scraper of the oldest request has often timed out.
 */
export class WritePlaces {
  readonly #now: () => number;
  /** The oldest place comes first. */
  readonly #writing = new Set<Place>();
  /** Waiting places, each with the function that admits it. */
  readonly #waiting = new Map<Place, () => void>();
  readonly #sizes = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  get taken(): { readonly writing: number; readonly waiting: number } {
    return { writing: this.#writing.size, waiting: this.#waiting.size };
  }

  /** True if a response of this size can start now. */
  hasRoom(bytes: number): boolean {
    if (this.#writing.size === 0) return true;
    return this.#writing.size < MAX_ANSWERS && this.#bytesBesideOldest() + bytes <= MAX_BYTES;
  }

  #bytesBesideOldest(): number {
    const [, ...others] = this.#writing;
    return others.reduce((sum, place) => sum + place.bytes, 0);
  }

  /** Stores the size of a response. Returns false if it does not fit: the caller must leave and enter again. */
  resize(place: Place, bytes: number): boolean {
    place.bytes = bytes;
    return this.#bytesBesideOldest() <= MAX_BYTES;
  }

  /** Waits for a free place. The caller must `leave` it. Rejects when the client disconnects. */
  async enter(response: ServerResponse, bytes: number, gone: AbortSignal): Promise<Place> {
    const place = { response, bytes, progressAt: Infinity };
    const turn = new Promise<void>((begin) => this.#waiting.set(place, begin));
    this.#admit();
    try {
      await awaitUnlessGone(turn, gone);
    } catch (error) {
      this.leave(place);
      throw error;
    }
    return place;
  }

  /** Returns the size of the last response for this URL, or 0. A large response then waits before it is rendered. */
  expectedBytes(url: string): number {
    return this.#sizes.get(url) ?? 0;
  }

  expect(url: string, bytes: number): void {
    if (this.#sizes.size >= MAX_SIZES) this.#sizes.clear();
    this.#sizes.set(url, bytes);
  }

  /** Records that the client received a portion. */
  noteProgress(place: Place): void {
    place.progressAt = this.#now();
  }

  leave(place: Place): void {
    this.#waiting.delete(place);
    this.#writing.delete(place);
    this.#admit();
  }

  #admit(): void {
    for (const [next, begin] of [...this.#waiting].reverse()) {
      if (!this.hasRoom(next.bytes)) break;
      this.#waiting.delete(next);
      this.#writing.add(next);
      begin();
    }
    if (this.#waiting.size > 0) this.#timer ??= setInterval(() => this.#disconnectStalled(), CHECK_INTERVAL_MS);
    else {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #disconnectStalled(): void {
    const since = this.#now() - STALLED_MS;
    for (const place of this.#writing) {
      if (place.progressAt > since) continue;
      place.response.req.socket.destroy();
      this.leave(place);
    }
  }
}
