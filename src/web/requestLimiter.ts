import { HttpError, type Handler } from './dependencies.ts';

/** Limit of scrapes in flight, unless `--web.max-requests` is higher. */
const MAX_IN_FLIGHT = 256;

/**
 * Returns a function that wraps handlers, and counts the scrapes in flight of all wrapped handlers together. The first
 * `maxRequests` scrapes may wait for New Relic (0: no limit). Beyond the higher limit, a scrape gets 503.
 */
export function createScrapeLimiter(maxRequests: number): (handler: Handler) => Handler {
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
