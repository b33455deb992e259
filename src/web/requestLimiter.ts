import type { Response } from 'express';
import { type Arrived, clientGone } from './clientGone.ts';
import { HttpError, type Handler } from './dependencies.ts';
import type { WritePlaces } from './writePlaces.ts';

/** Scrapes in flight beyond which another one is refused, unless `--web.max-requests` allows more. */
const MAX_IN_FLIGHT = 256;

export interface RequestSlot extends Arrived {
  /** False for a scrape beyond `--web.max-requests`: it gets the cached values, without waiting for New Relic. */
  readonly mayWait: boolean;
  readonly places: WritePlaces;
}

export type LimitedHandler = (
  request: Parameters<Handler>[0],
  response: Response,
  slot: RequestSlot,
) => void | Promise<void>;

/** Counts the requests in flight of all its handlers. The first `max` may wait for New Relic; 0: no limit. */
export class RequestLimiter {
  readonly #max: number;
  readonly #places: WritePlaces;
  #inFlight = 0;

  constructor(max: number, places: WritePlaces) {
    this.#max = max === 0 ? Infinity : max;
    this.#places = places;
  }

  /** Wraps a handler; its request is in flight until the client has the answer, or has left. */
  guard(handler: LimitedHandler): Handler {
    return async (request, response) => {
      if (this.#inFlight >= Math.max(this.#max, MAX_IN_FLIGHT)) {
        throw new HttpError(503, `${this.#inFlight} scrapes are in flight (--web.max-requests); try again later.`);
      }
      const mayWait = this.#inFlight < this.#max;
      this.#inFlight += 1;
      const gone = clientGone(response, () => (this.#inFlight -= 1));
      await handler(request, response, { arrival: this.#places.nextArrival(), gone, mayWait, places: this.#places });
    };
  }
}
