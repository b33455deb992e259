import type { Response } from 'express';
import { sendText, takingFor } from '../answer.ts';
import type { Handler } from './handler.ts';

/** A client that has been taking its answer for longer loses its slot to one that asks, in milliseconds. */
const SLOW_MS = 2_000;

/** Lets at most `max` scrapes be answered at once (`--web.max-requests`), all handlers together; 0: no limit. */
export class ScrapeSlots {
  readonly #max: number;
  readonly #taken = new Set<Response>();

  constructor(max: number) {
    this.#max = max;
  }

  /** The handler, answering 503 where no slot is free. A slot is held until the answer or the handler has ended. */
  guard(handler: Handler): Handler {
    return async (request, response) => {
      if (this.#max > 0 && this.#taken.size >= this.#max) this.#cutOffSlowest();
      if (this.#max > 0 && this.#taken.size >= this.#max) {
        sendText(
          response,
          503,
          `${this.#max} scrapes are being answered already (--web.max-requests); try again later.`,
        );
        return;
      }
      const release = (): void => void this.#taken.delete(response);
      this.#taken.add(response);
      // Before the next request of the connection has its turn.
      response.once('close', release);
      try {
        await handler(request, response);
      } finally {
        release();
      }
    };
  }

  #cutOffSlowest(): void {
    const slow = [...this.#taken].filter((response) => (takingFor(response) ?? 0) > SLOW_MS);
    const [slowest] = slow.toSorted((a, b) => (takingFor(b) ?? 0) - (takingFor(a) ?? 0));
    if (slowest === undefined) return;
    this.#taken.delete(slowest);
    slowest.req.socket.destroy();
  }
}
