import type { Response } from 'express';
import { sendText, takingFor } from '../answer.ts';
import type { Handler } from './handler.ts';

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
