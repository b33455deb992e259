import type { ServerResponse } from 'node:http';
import { unlessGone } from './clientGone.ts';

/** The most large answers that are written at once. */
const MAX_ANSWERS = 8;

/** The most bytes of the large answers that are written beside the oldest one. */
const MAX_BYTES = 128_000_000;

/** While an answer waits, a client that has taken nothing for this time is cut off, in milliseconds. */
const STALLED_MS = 2_000;

/** Interval between two looks for stalled clients, in milliseconds. */
const TICK_MS = 100;

/** Limit for the paths whose sizes are remembered. */
const MAX_SIZES = 100;

export interface Place {
  readonly response: ServerResponse;
  bytes: number;
  /** When the client last took a part of the answer; Infinity until the writing begins. */
  tookAt: number;
}

/**
 * Places for large answers: they limit the memory that clients hold by reading slowly. The last that
 * came gets the next one: its scraper still waits, while that of the first has often given up.
 */
export class WritePlaces {
  readonly #now: () => number;
  /** The oldest comes first. */
  readonly #writing = new Set<Place>();
  /** For each answer that waits, what begins it. */
  readonly #waiting = new Map<Place, () => void>();
  readonly #sizes = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  /** `now` gives milliseconds of a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get taken(): { readonly writing: number; readonly waiting: number } {
    return { writing: this.#writing.size, waiting: this.#waiting.size };
  }

  /** True if an answer of this size can be written now. */
  hasRoom(bytes: number): boolean {
    if (this.#writing.size === 0) return true;
    return this.#writing.size < MAX_ANSWERS && this.#bytesBesideOldest() + bytes <= MAX_BYTES;
  }

  #bytesBesideOldest(): number {
    const [, ...others] = this.#writing;
    return others.reduce((sum, place) => sum + place.bytes, 0);
  }

  /** Notes the bytes of a rendered answer. False if they do not fit: it must leave, and wait for its turn again. */
  resize(place: Place, bytes: number): boolean {
    place.bytes = bytes;
    return this.#bytesBesideOldest() <= MAX_BYTES;
  }

  /** Takes a place once one is free, until `leave`. Rejects as soon as the client has left. */
  async enter(response: ServerResponse, bytes: number, gone: AbortSignal): Promise<Place> {
    const place = { response, bytes, tookAt: Infinity };
    const turn = new Promise<void>((begin) => this.#waiting.set(place, begin));
    this.#admit();
    try {
      await unlessGone(turn, gone);
    } catch (error) {
      this.leave(place);
      throw error;
    }
    return place;
  }

  /** Bytes of the last answer of a path and query, to render one that has to wait in its turn only; 0 if not known. */
  expectedBytes(url: string): number {
    return this.#sizes.get(url) ?? 0;
  }

  expect(url: string, bytes: number): void {
    if (this.#sizes.size >= MAX_SIZES) this.#sizes.clear();
    this.#sizes.set(url, bytes);
  }

  /** Notes that the client has taken a part of the answer. */
  noteProgress(place: Place): void {
    place.tookAt = this.#now();
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
    if (this.#waiting.size > 0) this.#timer ??= setInterval(() => this.#cutOffStalled(), TICK_MS);
    else {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #cutOffStalled(): void {
    const since = this.#now() - STALLED_MS;
    for (const place of this.#writing) {
      if (place.tookAt > since) continue;
      place.response.req.socket.destroy();
      this.leave(place);
    }
  }
}
