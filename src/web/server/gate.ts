import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { sendInternalError, sendText } from '../sending.ts';
import { BasicAuthenticator, type Compare } from '../authentication/passwords.ts';
import { normalisePrefix, PATHS } from '../dependencies.ts';
import type { WebConfigStore } from '../webConfig/webConfig.ts';

/**
 * Checks each request before the application: limits, then headers, rate limit and users of the web configuration, in
 * the order of the exporter toolkit. Health and readiness need no password and no token of the rate limit. They work
 * even while the web configuration is invalid.
 */
export function createGate(options: {
  readonly app: RequestListener;
  readonly store: WebConfigStore;
  readonly routePrefix: string;
  /**
   * Takes a token of the rate limiter. The process reads `rate_limit` once, at its start; the other settings change
   * with the file.
   */
  readonly mayEnter: (() => boolean) | undefined;
  readonly compare: Compare;
  readonly refusedLogin: (address: string) => void;
  readonly failed: (error: unknown) => void;
}): RequestListener {
  const { app, store, routePrefix, mayEnter, compare, refusedLogin, failed } = options;
  const authenticator = new BasicAuthenticator(compare);
  const prefix = normalisePrefix(routePrefix);
  const openPaths = [`${prefix}${PATHS.healthy}`, `${prefix}${PATHS.ready}`];
  const isOpenToAll = (request: IncomingMessage): boolean =>
    (request.method === 'GET' || request.method === 'HEAD') && openPaths.includes(pathOf(request));

  const admit = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const current = store.current();
    const config = 'config' in current ? current.config : undefined;
    for (const [name, value] of Object.entries(config?.headers ?? {})) if (value) response.setHeader(name, value);
    if (!isOpenToAll(request)) {
      if (config === undefined) {
        sendText(response, 500, 'The web configuration is invalid; see the log of the exporter.');
        return;
      }
      if (mayEnter?.() === false) {
        sendText(response, 429, 'Too many requests: this one exceeds rate_limit of the web configuration.');
        return;
      }
      const address = request.socket.remoteAddress ?? '';
      const { authorization } = request.headers;
      const { users } = config;
      const verdict = users?.size ? await authenticator.judge(users, authorization, address) : 'right';
      if (verdict === 'busy') {
        response.setHeader('Retry-After', '1');
        sendText(response, 503, 'Too many logins are waiting; try again later.');
        return;
      }
      if (verdict === 'wrong') refusedLogin(address);
      if (verdict !== 'right') {
        response.setHeader('WWW-Authenticate', 'Basic');
        sendText(response, 401, 'Unauthorized');
        return;
      }
    }
    app(request, response);
  };

  return (request, response) => {
    // Node still emits pipelined requests of a closed connection.
    if (request.socket.destroyed) return;
    // No endpoint reads a body. So close the connection, or the bytes of the body become the next request.
    const { 'transfer-encoding': encoding, 'content-length': length = 0 } = request.headers;
    if (encoding !== undefined || Number(length) > 0) response.setHeader('Connection', 'close');
    // RFC 9112, 3.2: a proxy in front may have used a different Host header.
    if ((request.headersDistinct.host?.length ?? 0) > 1) {
      sendText(response, 400, 'Bad request: it has more than one Host header.');
    } else if (!hasPath(request)) {
      sendText(response, 400, 'Bad request: the target must be a path that begins with "/", or an http address.');
    } else {
      admit(request, response).catch((error: unknown) => {
        failed(error);
        sendInternalError(response);
      });
    }
  };
}

/** True if the request target is a path or an absolute URL. */
function hasPath({ url = '' }: IncomingMessage): boolean {
  return url.startsWith('/') || (/^https?:\/\//i.test(url) && URL.canParse(url));
}

/**
 * Returns the path of a request target, not decoded. Removes scheme and host of an absolute URL, unless the host has
 * unusual characters.
 */
function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/^https?:\/\/[\w.:[\]-]+(?=\/)/i, '').split('?', 1)[0] ?? '';
}

/**
 * Creates the token bucket of the exporter toolkit, full at the start. The returned function takes a token and
 * returns true, or returns false if the bucket is empty. The bucket gains a token every `intervalMs`, up to `burst`.
 * `now` returns milliseconds of a monotonic clock.
 */
export function createRateLimiter(limit: { intervalMs: number; burst: number }, now: () => number): () => boolean {
  const { intervalMs, burst } = limit;
  let fullAt = now();
  return () => {
    const next = Math.max(fullAt, now()) + intervalMs;
    if (next - now() > burst * intervalMs) return false;
    fullAt = next;
    return true;
  };
}
