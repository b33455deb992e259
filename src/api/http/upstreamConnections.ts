import { Agent, DecoratorHandler, Pool, ProxyAgent, type Dispatcher } from 'undici';
import { readProxySettings, type Proxy } from './proxySettings.ts';

export interface DispatcherOptions {
  readonly maxConcurrent: number;
  /** Timeout of one attempt, and of connecting. */
  readonly requestTimeoutMs: number;
  readonly tls: { readonly ca?: string | undefined; readonly serverName?: string | undefined };
  /** Source of `HTTPS_PROXY` and `NO_PROXY`, in lower or upper case. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** undici frees a connection a turn after its response. Spare connections let the next call start before that. */
const CONNECTIONS_PER_CALL = 1.25;

/** Bounds of the time for one of several addresses of a host, in milliseconds. */
const LONGEST_ATTEMPT_MS = 3_000;
const SHORTEST_ATTEMPT_MS = 1_000;

/**
 * Returns the milliseconds for each address of a host, except the last. Distant addresses need more than Node.js's 250
 * ms. An unreachable address must not use up the whole request.
 */
export function addressAttemptMs(requestTimeoutMs: number): number {
  return Math.round(Math.min(Math.max(requestTimeoutMs / 10, SHORTEST_ATTEMPT_MS), LONGEST_ATTEMPT_MS));
}

/**
 * Creates the connections to New Relic, through the environment's proxy where it applies. Always verifies certificates,
 * even with `NODE_TLS_REJECT_UNAUTHORIZED=0`.
 *
 * @throws Error for an unusable proxy address; the message hides the address, because it may contain a password
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
    // 0 makes undici close each connection after its call.
    pipelining: keepAlive ? 1 : 0,
    connect: upstreamTls,
    // `exchange` limits the time of the whole attempt.
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

/** Creates tunnels that fail when the proxy closes the connection after CONNECT. undici would reconnect forever. */
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

/** The connections of one client. They stay open between calls until a reload replaces the reader. */
export class UpstreamConnections {
  readonly #options: DispatcherOptions;
  readonly #keepAlive: Dispatcher;
  dispatcher: Dispatcher;
  #isClosed = false;

  /** @throws Error for an unusable proxy address */
  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.dispatcher = this.#keepAlive = createDispatcher(options);
  }

  /** Closes connections as they become idle. Later calls, such as further pages, close their own connections. */
  retire(): void {
    // A reload may replace a reader after the shutdown has closed it.
    if (this.dispatcher !== this.#keepAlive || this.#isClosed) return;
    this.dispatcher = createDispatcher(this.#options, false);
    void this.#keepAlive.close();
  }

  /** Closes all connections and aborts calls in flight. Only its signal aborts a call from before `retire`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#keepAlive.destroy(), this.dispatcher.destroy()]);
  }
}
