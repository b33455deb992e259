import { HttpError, type Handler } from './dependencies.ts';

/** Limit of scrapes in flight, unless `--web.max-requests` is higher. */
const MAX_IN_FLIGHT = 256;

/** Wraps handlers, and counts their scrapes in flight. Beyond `maxRequests` (0: no limit) none waits for New Relic. */
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
