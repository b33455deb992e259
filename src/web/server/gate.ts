import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { sendInternalError, sendText } from '../sending.ts';
import { BasicAuthenticator, type Compare } from '../authentication/passwords.ts';
import { normalisePrefix, PATHS } from '../dependencies.ts';
import type { WebConfigStore } from '../webConfig/webConfig.ts';

/**
 * Checks each request before the application, in the order of the exporter toolkit. Health and readiness need no
 * password and no token of the rate limit, and work even while the web configuration is invalid.
 */
export function createGate(options: {
  readonly app: RequestListener;
  readonly store: WebConfigStore;
  readonly routePrefix: string;
  /** Takes a token of the rate limiter. Unlike other settings, a changed `rate_limit` needs a restart. */
  readonly mayEnter: (() => boolean) | undefined;
  readonly compare: Compare;
  readonly refusedLogin: (address: string) => void;
  readonly failed: (error: unknown) => void;
}): RequestListener {
  const { app, store, routePrefix, mayEnter, compare, refusedLogin, failed } = options;
  const authenticator = new BasicAuthenticator(compare);
  const prefix = normalisePrefix(routePrefix);
  const openPaths = [`${prefix}${PATHS.healthy}`, `${prefix}${PATHS.ready}`];

  const admit = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const current = store.current();
    const config = 'config' in current ? current.config : undefined;
    for (const [name, value] of Object.entries(config?.headers ?? {})) if (value) response.setHeader(name, value);
    const { method = '', headers, socket } = request;
    if (['GET', 'HEAD'].includes(method) && openPaths.includes(pathOf(request))) {
      app(request, response);
      return;
    }
    if (config === undefined) {
      sendText(response, 500, 'The web configuration is invalid; see the log of the exporter.');
      return;
    }
    if (mayEnter?.() === false) {
      sendText(response, 429, 'Too many requests: this one exceeds rate_limit of the web configuration.');
      return;
    }
    const { users } = config;
    const address = socket.remoteAddress ?? '';
    const verdict = users?.size ? await authenticator.judge(users, headers.authorization, address) : 'right';
    if (verdict === 'wrong') refusedLogin(address);
    if (verdict === 'right') app(request, response);
    else if (verdict === 'busy') {
      response.setHeader('Retry-After', '1');
      sendText(response, 503, 'Too many logins are waiting; try again later.');
    } else {
      response.setHeader('WWW-Authenticate', 'Basic');
      sendText(response, 401, 'Unauthorized');
    }
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

/** Returns the path of a request target, not decoded, without the scheme and the host of an absolute URL. */
function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/^https?:\/\/[\w.:[\]-]+(?=\/)/i, '').split('?', 1)[0] ?? '';
}

/**
 * Creates the token bucket of the exporter toolkit, full at the start. It gains a token every `intervalMs`, up to
 * `burst`. The returned function takes a token, or returns false. `now` returns milliseconds of a monotonic clock.
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
