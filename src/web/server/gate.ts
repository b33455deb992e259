import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { cutOffSlowReader, sendText, clientGone } from '../sending.ts';
import { BasicAuthenticator, type Compare } from '../authentication/passwords.ts';
import type { WebConfigStore, RateLimitSettings } from '../webConfig/webConfig.ts';
import { namesSeveralHosts, normaliseTarget } from '../request.ts';

interface GateOptions {
  readonly app: RequestListener;
  readonly store: WebConfigStore;
  /** Fixed at the start; what else the web configuration says follows its file. */
  readonly bucket: TokenBucket | undefined;
  readonly compare: Compare;
  /** A fault of our own that a request ran into; answered with 500. */
  readonly failed: (error: unknown) => void;
}

/**
 * What stands between a connection and the application: limits, and the web configuration's headers, rate limit and
 * users, in the order of the exporter toolkit.
 */
export function createGate({ app, store, bucket, compare, failed }: GateOptions): RequestListener {
  const authenticator = new BasicAuthenticator(compare);
  const admit = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const current = store.current();
    if ('faults' in current) {
      sendText(response, 500, 'The web configuration is invalid; the log of the exporter has the faults.');
      return;
    }
    const { headers, users } = current.config;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (bucket?.take() === false) {
      sendText(response, 429, 'Too many requests: rate_limit of the web configuration.');
      return;
    }
    if (users.size > 0) {
      const asker = { address: request.socket.remoteAddress ?? '', gone: clientGone(request) };
      const verdict = await authenticator.judge(users, request.headers.authorization, asker);
      if (verdict !== 'right') {
        refuse(response, verdict);
        return;
      }
    }
    if (!(await takeBody(request))) {
      refuseBody(response);
      return;
    }
    app(request, response);
  };
  return (request, response) => {
    cutOffSlowReader(response);
    if (announcesLargeBody(request)) refuseBody(response);
    else if (namesSeveralHosts(request)) {
      sendText(response, 400, 'Bad request: it has more than one Host header.');
    } else if (!normaliseTarget(request)) {
      sendText(response, 400, 'Bad request: the target must be a path that begins with "/", or an http address.');
    } else {
      admit(request, response).catch((error: unknown) => {
        failed(error);
        if (!response.headersSent) sendText(response, 500, 'Internal error; the log of the exporter has the reason.');
        else request.socket.destroy();
      });
    }
  };
}

function refuse(response: ServerResponse, verdict: 'wrong' | 'busy'): void {
  if (verdict === 'busy') {
    response.setHeader('Retry-After', '5');
    sendText(response, 429, 'Too many passwords wait to be checked; try again later.');
    return;
  }
  response.setHeader('WWW-Authenticate', 'Basic');
  sendText(response, 401, 'Unauthorized');
}

/** Refuses the request and closes its connection: the rest of the body is not read. */
function refuseBody(response: ServerResponse): void {
  response.setHeader('Connection', 'close');
  sendText(response, 413, `No endpoint takes a request body of more than ${MAX_BODY_BYTES} bytes.`);
}

/** No endpoint reads a body; one of this many bytes is still let go by. */
const MAX_BODY_BYTES = 4096;

/** True when the request announces a larger body than any endpoint takes. */
function announcesLargeBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES;
}

/**
 * Reads the body to its end and throws it away, before anything is done for the request. Resolves to false as soon as
 * it is larger than the limit, or when the client has gone before its end.
 */
async function takeBody(request: IncomingMessage): Promise<boolean> {
  if (request.headers['transfer-encoding'] === undefined && request.headers['content-length'] === undefined) {
    request.resume();
    return true;
  }
  return await new Promise((resolve) => {
    let received = 0;
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > MAX_BODY_BYTES) resolve(false);
    });
    request.once('end', () => resolve(true));
    request.once('close', () => resolve(false));
  });
}

/** A token bucket that starts full. */
export class TokenBucket {
  readonly #settings: RateLimitSettings;
  readonly #now: () => number;
  #tokens: number;
  #countedAt: number;

  /** `now` gives milliseconds of a clock that never goes back. */
  constructor(settings: RateLimitSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
    this.#tokens = settings.burst;
    this.#countedAt = now();
  }

  /** Takes a token; false when there is none, so that the request is refused with 429. */
  take(): boolean {
    const now = this.#now();
    const earned = (now - this.#countedAt) / this.#settings.intervalMs;
    this.#tokens = Math.min(this.#settings.burst, this.#tokens + earned);
    this.#countedAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
