import { Agent, DecoratorHandler, Pool, ProxyAgent, type Dispatcher } from 'undici';
import { readProxySettings, type Proxy } from './proxySettings.ts';

export interface DispatcherOptions {
  readonly maxConcurrent: number;
  /** Limit for one attempt, and for connecting. */
  readonly requestTimeoutMs: number;
  readonly tls: { readonly ca?: string | undefined; readonly serverName?: string | undefined };
  /** Source of `HTTPS_PROXY` and `NO_PROXY`, in lower or upper case. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** undici frees a connection a turn after its response: without spare ones, calls would wait for others of the same turn. */
const CONNECTIONS_PER_CALL = 1.25;

/** Longest and shortest time for one of several addresses of a host, in milliseconds. */
const LONGEST_ATTEMPT_MS = 3_000;
const SHORTEST_ATTEMPT_MS = 1_000;

/**
 * Milliseconds for each address of a host but the last one. Distant addresses need more than the 250 ms that Node.js gives;
 * an unreachable address must not use up the whole request.
 */
export function addressAttemptMs(requestTimeoutMs: number): number {
  return Math.round(Math.min(Math.max(requestTimeoutMs / 10, SHORTEST_ATTEMPT_MS), LONGEST_ATTEMPT_MS));
}

/**
 * The connections to New Relic, through the proxy of the environment where it applies. Certificates are always verified, even
 * with `NODE_TLS_REJECT_UNAUTHORIZED=0`.
 *
 * @throws Error when the proxy's address cannot be used; the message does not show it, because it may contain a password
 */
function createDispatcher(options: DispatcherOptions, keepAlive = true): Dispatcher {
  const { environment, tls } = options;
  const connecting = {
    rejectUnauthorized: true,
    timeout: options.requestTimeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressAttemptMs(options.requestTimeoutMs),
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
  };
  const upstreamTls = {
    ...connecting,
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
  };
  const common = {
    connections: Math.ceil(options.maxConcurrent * CONNECTIONS_PER_CALL),
    // With 0 undici keeps no connection open.
    pipelining: keepAlive ? 1 : 0,
    connect: upstreamTls,
    // The caller limits the time of the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const { proxy, fault, isExcluded } = readProxySettings(environment);
  if (fault !== undefined) throw new Error(`${fault.variable} ${fault.message}`);
  const createTunnels = ({ url, authorization }: Proxy): Dispatcher =>
    new ProxyAgent({
      ...common,
      uri: url.href,
      ...(authorization === undefined ? {} : { token: authorization }),
      requestTls: upstreamTls,
      clientFactory: createTunnelPool,
      proxyTls: connecting,
    });
  return new Agent({
    ...common,
    factory: (origin, poolOptions) => {
      const { protocol } = new URL(origin);
      const isDirect = proxy === undefined || protocol === 'http:' || isExcluded(new URL(origin));
      return isDirect ? new Pool(origin, poolOptions) : createTunnels(proxy);
    },
  });
}

/** A connection that the proxy closes in response to CONNECT is an idle one for undici, which reconnects forever. */
function createTunnelPool(origin: URL, options: Pool.Options): Dispatcher {
  return new Pool(origin, options).compose(
    (dispatch) => (request, handler) => dispatch(request, replaceError(handler)),
  );
}

function replaceError(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  const decorated: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
  const fail = decorated.onResponseError?.bind(decorated);
  decorated.onResponseError = (controller, error) => {
    fail?.(controller, new Error('the proxy opened no tunnel', { cause: error }));
  };
  return decorated;
}

/** The connections of one client, kept between calls until its reader is replaced. */
export class UpstreamConnections {
  readonly #options: DispatcherOptions;
  readonly #keepAlive: Dispatcher;
  dispatcher: Dispatcher;
  #isClosed = false;

  /** @throws Error when the proxy's address cannot be used */
  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.dispatcher = this.#keepAlive = createDispatcher(options);
  }

  /** Closes connections as they become idle. Later calls, such as further pages, use connections that are not kept. */
  retire(): void {
    // A reload may replace a reader that the end of the program has already closed.
    if (this.dispatcher !== this.#keepAlive || this.#isClosed) return;
    this.dispatcher = createDispatcher(this.#options, false);
    void this.#keepAlive.close();
  }

  /** Closes all connections. Calls in flight are aborted, except those from before `retire`, which only their signals end. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#keepAlive.destroy(), this.dispatcher.destroy()]);
  }
}
