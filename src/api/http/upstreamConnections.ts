import { Agent, DecoratorHandler, Pool, ProxyAgent, type Dispatcher } from 'undici';
import { readProxySettings, type Proxy } from './proxySettings.ts';

export interface DispatcherOptions {
  readonly maxConcurrent: number;
  /** Timeout of each attempt, from connecting to the last byte of the body. */
  readonly requestTimeoutMs: number;
  readonly tls: { readonly ca?: string | undefined; readonly serverName?: string | undefined };
  /** Source of `HTTPS_PROXY` and `NO_PROXY`, in lower or upper case. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Longest time that an idle connection stays open, even if New Relic announces a longer one. */
const LONGEST_IDLE_MS = 120_000;

/** undici frees a connection a turn after its response. Spare connections let the next call start before that. */
const CONNECTIONS_PER_CALL = 1.25;

/**
 * Returns the milliseconds for each address of a host, except the last. Distant addresses need more than Node.js's 250
 * ms. An unreachable address must not use up the whole request.
 */
export function addressAttemptMs(requestTimeoutMs: number): number {
  return Math.round(Math.min(Math.max(requestTimeoutMs / 10, 1_000), 3_000));
}

/**
 * Creates the connections to New Relic, through the environment's proxy where it applies. Always verifies certificates,
 * even with `NODE_TLS_REJECT_UNAUTHORIZED=0`.
 *
 * @throws Error for an unusable proxy address; the message hides the address, because it may contain a password
 */
export function createDispatcher({ environment, tls, requestTimeoutMs, maxConcurrent }: DispatcherOptions): Dispatcher {
  const connecting = {
    rejectUnauthorized: true,
    timeout: requestTimeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressAttemptMs(requestTimeoutMs),
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
  };
  const upstreamTls = { ...connecting, ...(tls.serverName === undefined ? {} : { servername: tls.serverName }) };
  const common = {
    connections: Math.ceil(maxConcurrent * CONNECTIONS_PER_CALL),
    // So the connections of a reader that a reload has replaced close soon.
    keepAliveMaxTimeout: LONGEST_IDLE_MS,
    connect: upstreamTls,
    // `exchange` limits the time of the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const { proxy, fault, isExcluded } = readProxySettings(environment);
  if (fault !== undefined) throw new Error(`${fault.variable} ${fault.message}`);
  const createTunnels = ({ url, authorization: token }: Proxy): Dispatcher =>
    new ProxyAgent({
      ...common,
      uri: url.href,
      ...(token === undefined ? {} : { token }),
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
