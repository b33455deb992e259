import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { sendInternalError, sendText } from '../sending.ts';
import { BasicAuthenticator, type Compare } from '../authentication/passwords.ts';
import { normalisePrefix, PATHS } from '../dependencies.ts';
import type { WebConfigStore } from '../webConfig/webConfig.ts';

/**
 * The checks between a connection and the application: limits, and the web configuration's headers, rate limit and users, in
 * the order of the exporter toolkit. Health and readiness need neither a password nor a token of the rate limit, and are
 * answered while the web configuration is invalid.
 */
export function createGate(options: {
  readonly app: RequestListener;
  readonly store: WebConfigStore;
  readonly routePrefix: string;
  /** The `rate_limit`, fixed at the start; all other settings of the web configuration follow its file. */
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
    for (const [name, value] of Object.entries(config?.headers ?? {})) response.setHeader(name, value);
    if (!isOpenToAll(request)) {
      if (config === undefined) {
        sendText(response, 500, 'The web configuration is invalid; the log of the exporter has the faults.');
        return;
      }
      if (mayEnter?.() === false) {
        sendText(response, 429, 'Too many requests: rate_limit of the web configuration.');
        return;
      }
      const address = request.socket.remoteAddress ?? '';
      const { authorization } = request.headers;
      const { users } = config;
      const verdict = users?.size ? await authenticator.judge(users, authorization, address) : 'right';
      if (verdict === 'busy') {
        response.setHeader('Retry-After', '1');
        sendText(response, 503, 'Too many passwords wait to be compared; try again later.');
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
    // Node still hands over requests that were sent ahead over a connection that has been closed.
    if (request.socket.destroyed) return;
    // No endpoint needs a body: the connection closes after the response, so that no byte is taken for the next request.
    const { 'transfer-encoding': encoding, 'content-length': length = 0 } = request.headers;
    if (encoding !== undefined || Number(length) > 0) response.setHeader('Connection', 'close');
    // RFC 9112, 3.2: a proxy before this server may have used another of them.
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

/** True if the request target is a path, or a whole address, as proxies receive it, whose path the router takes. */
function hasPath({ url = '' }: IncomingMessage): boolean {
  return url.startsWith('/') || (/^https?:\/\//i.test(url) && URL.canParse(url));
}

/** The path of a request target, not decoded; of a whole address, the part after a host of ordinary characters. */
function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/^https?:\/\/[\w.:[\]-]+(?=\/)/i, '').split('?', 1)[0] ?? '';
}

/**
 * The token bucket of the exporter toolkit, full at the start: true for a request that gets a token. One token comes every
 * `intervalMs`, at most `burst` are saved up. `now` gives milliseconds of a clock that never goes back.
 */
export function rateLimiter(limit: { intervalMs: number; burst: number }, now: () => number): () => boolean {
  const { intervalMs, burst } = limit;
  let fullAt = now();
  return () => {
    const next = Math.max(fullAt, now()) + intervalMs;
    if (next - now() > burst * intervalMs) return false;
    fullAt = next;
    return true;
  };
}
