import { Agent, DecoratorHandler, EnvHttpProxyAgent, Pool, type Dispatcher } from 'undici';

export interface DispatcherOptions {
  readonly maxConcurrent: number;
  /** Limit for one attempt, and for connecting. */
  readonly requestTimeoutMs: number;
  readonly tls: { readonly ca?: string | undefined; readonly serverName?: string | undefined };
  /** Source of `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** undici frees a connection a turn after its response: without spare ones, calls would wait for others of the same turn. */
const CONNECTIONS_PER_CALL = 1.25;

/**
 * The connections to New Relic, through `HTTPS_PROXY` where it applies. Certificates are always verified, even with
 * `NODE_TLS_REJECT_UNAUTHORIZED=0`.
 *
 * @throws Error when the proxy's address is not a valid URL; the message does not show it, because it may contain a password
 */
function createDispatcher(options: DispatcherOptions, keepAlive = true): Dispatcher {
  const { environment, tls } = options;
  const proxyTls = {
    rejectUnauthorized: true,
    timeout: options.requestTimeoutMs,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
  };
  const upstreamTls = {
    ...proxyTls,
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
  const httpsProxy = proxyAddress(environment['https_proxy'] ?? environment['HTTPS_PROXY'] ?? '');
  // The other agent parses the address of each call to see if it needs the proxy.
  if (httpsProxy === '') return new Agent(common);
  return new EnvHttpProxyAgent({
    ...common,
    requestTls: upstreamTls,
    clientFactory: createTunnelPool,
    proxyTls,
    httpProxy: '',
    httpsProxy,
    noProxy: environment['no_proxy'] ?? environment['NO_PROXY'] ?? '',
  });
}

/** A connection that the proxy closes in response to CONNECT is an idle one for undici, which reconnects forever. */
function createTunnelPool(origin: URL, options: Pool.Options): Dispatcher {
  return new Pool(origin, options).compose(
    (dispatch) => (request, handler) => dispatch(request, withOtherError(handler)),
  );
}

function withOtherError(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  const decorated: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
  const fail = decorated.onResponseError?.bind(decorated);
  decorated.onResponseError = (controller, error) => {
    fail?.(controller, new Error('the proxy made no tunnel', { cause: error }));
  };
  return decorated;
}

/** An address without a scheme means HTTP, as in other programs. */
function proxyAddress(setting: string): string {
  const text = setting.trim();
  if (text === '') return '';
  const address = text.includes('://') ? text : `http://${text}`;
  if (!URL.canParse(address) || !['http:', 'https:'].includes(new URL(address).protocol)) {
    throw new Error('HTTPS_PROXY is no address: it should look like http://proxy.example:3128');
  }
  return address;
}

/** The connections of one client, kept between calls until its reader is replaced. */
export class UpstreamConnections {
  readonly #options: DispatcherOptions;
  readonly #kept: Dispatcher;
  dispatcher: Dispatcher;
  #isClosed = false;

  /** @throws Error when the proxy's address is not a valid URL */
  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.dispatcher = this.#kept = createDispatcher(options);
  }

  /** Closes connections as they become idle. Later calls, such as further pages, use connections that are not kept. */
  retire(): void {
    // A reload may replace a reader that the end of the program has already closed.
    if (this.dispatcher !== this.#kept || this.#isClosed) return;
    this.dispatcher = createDispatcher(this.#options, false);
    void this.#kept.close();
  }

  /** Closes all connections. Calls in flight are aborted, except those from before `retire`, which only their signals end. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#kept.destroy(), this.dispatcher.destroy()]);
  }
}
