import { DecoratorHandler, EnvHttpProxyAgent, Pool, type Dispatcher } from 'undici';
import { abortReason, type ResponseHeaders } from './address.ts';
import { CallFailure } from './callFailure.ts';

export interface DispatcherOptions {
  readonly maxConcurrent: number;
  /** Limit for connecting, too. */
  readonly requestTimeoutMs: number;
  readonly tls: { readonly ca?: string | undefined; readonly serverName?: string | undefined };
  /** Source of `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Connections for each concurrent call. undici frees a connection one turn of the event loop after its response. Without spare
 * connections the next call would wait until all responses of the same turn are read, and calls would start in bursts.
 */
const SPARE = 1.25;

/**
 * The pool of connections to New Relic. `HTTPS_PROXY` and `NO_PROXY` are honoured; plain HTTP is allowed to this machine only,
 * without a proxy. Certificates are always verified, even with `NODE_TLS_REJECT_UNAUTHORIZED=0`. `ca` replaces the public
 * certificate authorities, and `serverName` the name of the host.
 *
 * @param keepAlive false: each call has its own connection
 * @throws Error when the proxy's address is not a valid URL; the message does not repeat it, because it may contain a password
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
    // With 0 undici keeps no connection open.
    pipelining: keepAlive ? 1 : 0,
    connect: upstreamTls,
    requestTls: upstreamTls,
    clientFactory: createTunnelPool,
    proxyTls: { rejectUnauthorized: true, timeout: options.requestTimeoutMs },
    // The caller limits the time of the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
    httpProxy: '',
    httpsProxy: proxyAddress(environment['https_proxy'] ?? environment['HTTPS_PROXY'] ?? ''),
    noProxy: environment['no_proxy'] ?? environment['NO_PROXY'] ?? '',
  });
}

/**
 * The connections to the proxy. If the proxy closes a connection in response to CONNECT, undici treats it as an idle connection
 * that broke, and reconnects forever, even after the call was given up. Another error makes the call fail instead.
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
  /** Connections after the reader was replaced; undefined before. */
  #unkept: Dispatcher | undefined;

  /** @throws Error when the proxy's address is not a valid URL */
  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#kept = createDispatcher(options);
  }

  get dispatcher(): Dispatcher {
    return this.#unkept ?? this.#kept;
  }

  /**
   * Closes idle connections now, and the others when their calls end. Later calls, such as further pages of a list, use
   * connections that are not kept.
   */
  retire(): void {
    if (this.#unkept !== undefined) return;
    this.#unkept = createDispatcher(this.#options, false);
    void this.#kept.close();
  }

  /** Closes all connections; calls in flight are aborted. */
  async close(): Promise<void> {
    await Promise.all([this.#kept.destroy(), this.#unkept?.destroy()]);
  }
}

/** Limits for an error body, in bytes and in milliseconds after its headers: only its title is shown. */
const ERROR_BODY_BYTES = 8_192;
const ERROR_BODY_MS = 1_000;

export interface RawResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The encoded body; incomplete where the status is not 2xx and the body is long, slow or broken. */
  readonly body: Buffer;
}

/** A request: a GET, or with a body a POST of JSON. */
export interface Request {
  readonly address: URL;
  readonly body?: string | undefined;
  /** Name of the key's header, where it differs from that of the account. */
  readonly keyHeader?: string | undefined;
}

/**
 * Sends one request and reads its whole response. Rejects with a CallFailure, or with the reason of the signal. The
 * dispatcher's handler interface is used directly, because a stream for each response would cost more than all other work on
 * it.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Request & {
    readonly headers: Record<string, string>;
    /** Limit from sending to the last byte of the body. */
    readonly timeoutMs: number;
    readonly maxBytes: number;
    readonly signal: AbortSignal;
  },
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const handler = new ResponseHandler(request, resolve, reject);
    const { address, body, headers } = request;
    const { origin, pathname, search } = address;
    const what = body === undefined ? { method: 'GET' as const } : { method: 'POST' as const, body };
    dispatcher.dispatch({ origin, path: pathname + search, headers, ...what }, handler);
  });
}

class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #options: Parameters<typeof exchange>[1];
  readonly #resolve: (response: RawResponse) => void;
  readonly #reject: (error: Error) => void;
  readonly #onAbort: () => void;
  readonly #started = performance.now();
  #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  /** The reason for closing the connection when the exchange ends before its response. */
  #over: Error | undefined;
  #ended = false;
  #status: number | undefined;
  #headers: ResponseHeaders = {};
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(
    options: Parameters<typeof exchange>[1],
    resolve: (response: RawResponse) => void,
    reject: (error: Error) => void,
  ) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onAbort = () => this.#fail(abortReason(options.signal));
    this.#timer = setTimeout(() => this.#late(), options.timeoutMs);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
    if (options.signal.aborted) this.#onAbort();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The exchange ended while it waited for a connection: nothing is sent.
    if (this.#over !== undefined) controller.abort(this.#over);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (this.#isError()) {
      clearTimeout(this.#timer);
      const left = this.#options.timeoutMs - (performance.now() - this.#started);
      this.#timer = setTimeout(() => this.#cut(), Math.min(ERROR_BODY_MS, left));
    } else if (Number(headers['content-length']) > this.#options.maxBytes) {
      this.#tooLarge();
    }
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    if (this.#isError()) {
      if (this.#bytes > ERROR_BODY_BYTES) this.#cut();
    } else if (this.#bytes > this.#options.maxBytes) {
      this.#tooLarge();
    }
  }

  onResponseEnd(): void {
    this.#succeed();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#isError()) this.#cut();
    else this.#fail(networkFailure(error, this.#status));
  }

  #isError(): boolean {
    return this.#status !== undefined && this.#status >= 300;
  }

  #late(): void {
    const what = this.#status === undefined ? 'no answer' : 'no whole answer';
    const words = `${what} within ${this.#options.timeoutMs / 1000} s`;
    this.#fail(new CallFailure('timeout', words, { status: this.#status, retriable: true }));
  }

  #tooLarge(): void {
    const words = `the answer is larger than ${this.#options.maxBytes} bytes`;
    this.#fail(new CallFailure('too_large', words, { status: this.#status }));
  }

  /** The status alone is enough: an error response counts as read even if its body is incomplete. */
  #cut(): void {
    this.#succeed();
    this.#hangUp(new Error('the rest of the error body is not read'));
  }

  #succeed(): void {
    const status = this.#status;
    if (status === undefined) {
      this.#fail(new CallFailure('invalid_response', 'the answer ended without a status'));
      return;
    }
    if (!this.#end()) return;
    const body = this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#resolve({ status, headers: this.#headers, body });
  }

  #fail(error: Error): void {
    if (!this.#end()) return;
    this.#reject(error);
    this.#hangUp(error);
  }

  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    return true;
  }

  #hangUp(error: Error): void {
    this.#over = error;
    this.#controller?.abort(error);
  }
}

const CUT = 'connection closed before the whole answer was there';

/** Explanations by error code for connection failures that a retry may solve. */
const PASSING: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name could not be looked up',
  ECONNABORTED: 'connection aborted',
  EHOSTUNREACH: 'host unreachable',
  EHOSTDOWN: 'host down',
  ENETUNREACH: 'network unreachable',
  ENETDOWN: 'network down',
  EADDRNOTAVAIL: 'no free local address or port',
  UND_ERR_SOCKET: CUT,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: CUT,
  HPE_INVALID_EOF_STATE: CUT,
};

/** Error codes of certificate verification. */
const UNTRUSTED =
  /^(CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|UNABLE_TO_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|HOSTNAME_)/;

/**
 * Translates an error of the system, TLS or the HTTP library into a reason and a message. These errors name the peer, never the
 * content of requests or responses.
 *
 * @param status of the response, if it had begun
 */
function networkFailure(error: Error, status: number | undefined): CallFailure {
  const root = rootCause(error);
  const { code = '', name, message } = root;
  const passing = PASSING[code];
  if (passing !== undefined) return new CallFailure('network', passing + peer(root), { status, retriable: true });
  if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT')
    return new CallFailure('timeout', 'no connection in time', { retriable: true });
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return new CallFailure('network', 'certificate not trusted: it was issued for another name');
  }
  // OpenSSL's own message is clear; newer releases of Node.js append advice that does not apply here.
  if (UNTRUSTED.test(code))
    return new CallFailure('network', `certificate not trusted: ${message.split(';', 1).join('')}`);
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO$)/.test(code)) {
    return new CallFailure('network', `no TLS connection (${code}): the address may be one for plain HTTP`);
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new CallFailure('too_large', 'the headers of the answer are too long', { status });
  }
  if (name === 'HTTPParserError') return new CallFailure('invalid_response', 'the answer is not HTTP', { status });
  const refusal = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (refusal !== undefined) {
    return new CallFailure('network', `the proxy answered ${refusal}`, { retriable: refusal >= '500' });
  }
  return new CallFailure('network', code === '' ? 'connection failed' : `connection failed (${code})`, { status });
}

interface SystemError extends Error {
  readonly code?: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

/** The first error of the chain that says what happened; the outer ones say only that a tunnel or a connection failed. */
function rootCause(error: Error): SystemError {
  let each: unknown = error;
  while (each instanceof Error) {
    const { code, cause, name }: SystemError = each;
    if ((code !== undefined && code !== 'UND_ERR_PRX_TLS') || name === 'HTTPParserError') return each;
    each = each instanceof AggregateError ? each.errors[0] : cause;
  }
  return error;
}

function peer({ code, address, port, hostname }: SystemError): string {
  if (hostname !== undefined) return `: ${hostname}`;
  return code === 'ECONNREFUSED' && address !== undefined && port !== undefined ? ` by ${address}:${port}` : '';
}
