import type { Response } from 'express';
import type { Handler } from './routes.ts';
import { sendText } from './respond.ts';

/** Lets at most `max` scrapes be answered at once (`--web.max-requests`), all handlers together; 0: no limit. */
export class ScrapeSlots {
  readonly #max: number;
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** The handler, answering 503 where no slot is free. A slot is held until the answer is written or the client gone. */
  guard(handler: Handler): Handler {
    return (request, response) => {
      if (this.#max > 0 && this.#taken >= this.#max) {
        sendText(
          response,
          503,
          `${this.#max} scrapes are being answered already (--web.max-requests); try again later.`,
        );
        return;
      }
      this.#hold(response);
      return handler(request, response);
    };
  }

  #hold(response: Response): void {
    this.#taken += 1;
    response.once('close', () => {
      this.#taken -= 1;
    });
  }
}
