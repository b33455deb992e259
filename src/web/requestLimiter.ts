import { HttpError, type Handler } from './dependencies.ts';

/** Scrapes in flight beyond which another one is refused, unless `--web.max-requests` allows more. */
const MAX_IN_FLIGHT = 256;

/**
 * Counts the scrapes in flight, of all handlers that the returned function wraps. The first `maxRequests` of them may wait for New
 * Relic; 0: no limit.
 */
export function scrapeLimiter(maxRequests: number): (handler: Handler) => Handler {
  const max = maxRequests === 0 ? Infinity : maxRequests;
  let inFlight = 0;
  return (handler) => async (request, response, client) => {
    if (inFlight >= Math.max(max, MAX_IN_FLIGHT)) {
      throw new HttpError(503, `${inFlight} scrapes are in flight (--web.max-requests); try again later.`);
    }
    const mayWait = inFlight < max;
    inFlight += 1;
    try {
      await handler(request, response, { ...client, mayWait });
    } finally {
      inFlight -= 1;
    }
  };
}
