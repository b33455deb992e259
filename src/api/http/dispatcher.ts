import { DecoratorHandler, EnvHttpProxyAgent, Pool, type Dispatcher } from 'undici';

export interface DispatcherOptions {
  readonly maxConcurrent: number;
  /** Of connecting, too. */
  readonly requestTimeoutMs: number;
  readonly tls: { readonly ca?: string | undefined; readonly serverName?: string | undefined };
  /** `HTTPS_PROXY` and `NO_PROXY` count, in either case. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * How many connections there are for each call that may be under way. undici gives a connection free one turn of the event
 * loop after its answer: without spare ones, the next call would wait until all answers that came in the same turn are
 * read, and calls would go out in bursts.
 */
const SPARE = 1.25;

/**
 * The pool of connections to upstream. `HTTPS_PROXY` and `NO_PROXY` are honoured; plain HTTP goes to this machine
 * only and takes no proxy. Certificates are always verified, `NODE_TLS_REJECT_UNAUTHORIZED` or not; `ca`
 * takes the place of the public authorities, `serverName` of the host's name.
 *
 * @param keepAlive false: each call has a connection of its own
 * @throws Error when the proxy's address is not a valid URL; the message does not repeat it, because it may hold a password
 */
function createDispatcher(options: DispatcherOptions, keepAlive = true): Dispatcher {
  const { environment, tls } = options;
  const upstreamTls = {
    rejectUnauthorized: true,
    timeout: options.requestTimeoutMs,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
  };
  return new EnvHttpProxyAgent({
    connections: Math.ceil(options.maxConcurrent * SPARE),
    // With 0 undici keeps no connection.
    pipelining: keepAlive ? 1 : 0,
    connect: upstreamTls,
    requestTls: upstreamTls,
    clientFactory: createTunnelPool,
    proxyTls: { rejectUnauthorized: true, timeout: options.requestTimeoutMs },
    // The time of the whole attempt is bounded by its caller.
    headersTimeout: 0,
    bodyTimeout: 0,
    httpProxy: '',
    httpsProxy: proxyAddress(environment['https_proxy'] ?? environment['HTTPS_PROXY'] ?? ''),
    noProxy: environment['no_proxy'] ?? environment['NO_PROXY'] ?? '',
  });
}

/**
 * The connections to the proxy. undici takes a connection closed in answer to CONNECT for one that broke while idle, and
 * connects again without end, even after the call was given up: under another error it fails the call.
 */
function createTunnelPool(origin: URL, options: Pool.Options): Dispatcher {
  return new Pool(origin, options).compose((dispatch) => (request, handler) => dispatch(request, failing(handler)));
}

function failing(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  const decorated: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
  const fail = decorated.onResponseError?.bind(decorated);
  decorated.onResponseError = (controller, error) => {
    fail?.(controller, new Error('the proxy made no tunnel', { cause: error }));
  };
  return decorated;
}

/** As other programs do, an address without a scheme is taken for HTTP. */
function proxyAddress(setting: string): string {
  const text = setting.trim();
  if (text === '') return '';
  const address = text.includes('://') ? text : `http://${text}`;
  if (!URL.canParse(address) || !['http:', 'https:'].includes(new URL(address).protocol)) {
    throw new Error('HTTPS_PROXY is no address: it should look like http://proxy.example:3128');
  }
  return address;
}

/** The connections of one client, which are kept from call to call until its reader is replaced. */
export class UpstreamConnections {
  readonly #options: DispatcherOptions;
  readonly #kept: Dispatcher;
  /** Undefined until the reader is replaced. */
  #unkept: Dispatcher | undefined;

  /** @throws Error when the proxy's address is not a valid URL */
  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#kept = createDispatcher(options);
  }

  /** What the next call goes through. */
  get dispatcher(): Dispatcher {
    return this.#unkept ?? this.#kept;
  }

  /**
   * Gives up the connections: idle ones now, the others with the end of their calls. Calls that follow, such as the further
   * pages of a list, go through connections that are not kept.
   */
  retire(): void {
    if (this.#unkept !== undefined) return;
    this.#unkept = createDispatcher(this.#options, false);
    void this.#kept.close();
  }

  /** Closes all of them; calls in flight are aborted. */
  async close(): Promise<void> {
    await Promise.all([this.#kept.destroy(), this.#unkept?.destroy()]);
  }
}
