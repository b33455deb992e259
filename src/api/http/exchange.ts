import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import { abortReason } from '../../eventLoop/clock.ts';
import { CallFailure } from '../upstreamError.ts';

/** Headers of a response; names are in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Returns the first value of a header. */
export function firstHeader(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value)?.trim();
}

/** Resolves a reference against a page; undefined if the result is not a valid address. */
export function resolve(reference: string | undefined, page: URL): URL | undefined {
  return reference !== undefined && URL.canParse(reference, page.href) ? new URL(reference, page) : undefined;
}

/** The address of a call in two parts, because parsing a URL for each call is expensive. */
export interface Address {
  readonly origin: string;
  /** Percent-encoded path and query. */
  readonly path: string;
}

export function toUrl({ origin, path }: Address): URL {
  return new URL(origin + path);
}

/** Limits for an error body, in bytes and in milliseconds after its headers. Messages show only its title. */
const ERROR_BODY_BYTES = 8_192;
const ERROR_BODY_MS = 1_000;

export interface RawResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The encoded body. An error body may be incomplete. `decodeText` empties the body. */
  body: Buffer;
}

export interface Request extends Address {
  readonly body?: string | undefined;
  /** Name of the key's header, if it differs from the account's. */
  readonly keyHeader?: string | undefined;
}

interface Limits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/**
 * Sends one request and reads its whole response, without the cost of a stream. Rejects with a CallFailure, or with the
 * reason of the signal.
 */
export function exchange(
  dispatcher: Dispatcher,
  { origin, path, body }: Request,
  headers: Record<string, string>,
  limits: Limits,
  signal: AbortSignal,
): Promise<RawResponse> {
  // Node.js warns about more than ten listeners, but more exchanges may share the signal.
  setMaxListeners(0, signal);
  return new Promise((resolve, reject) => {
    const handler = new ResponseHandler(limits, signal, resolve, reject);
    const method = body === undefined ? 'GET' : 'POST';
    dispatcher.dispatch({ origin, path, headers, method, body: body ?? null }, handler);
  });
}

/** A class, because closures for each of thousands of calls took 3 % more processor time in a refresh. */
class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #limits: Limits;
  readonly #signal: AbortSignal;
  readonly #resolve: (response: RawResponse) => void;
  readonly #reject: (error: Error) => void;
  readonly #started = performance.now();
  #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  /** Why the exchange closes the connection before the end of the response. */
  #hangUpReason: Error | undefined;
  #ended = false;
  #status: number | undefined;
  #isError = false;
  #headers: ResponseHeaders = {};
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(
    limits: Limits,
    signal: AbortSignal,
    resolve: (response: RawResponse) => void,
    reject: (error: Error) => void,
  ) {
    this.#limits = limits;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.#failLate(), limits.timeoutMs);
    signal.addEventListener('abort', this.#stop);
    if (signal.aborted) this.#stop();
  }

  readonly #stop = (): void => this.#abort(abortReason(this.#signal));

  /** Fails the exchange, and closes its connection. */
  #abort(error: Error): void {
    if (!this.#end()) return;
    this.#reject(error);
    this.#hangUp(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The exchange ended while it waited for a connection. Send nothing.
    if (this.#hangUpReason !== undefined) controller.abort(this.#hangUpReason);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#isError = status >= 300;
    this.#headers = headers;
    if (this.#isError) {
      clearTimeout(this.#timer);
      const remainingMs = this.#limits.timeoutMs - (performance.now() - this.#started);
      this.#timer = setTimeout(() => this.#cutErrorBody(), Math.min(ERROR_BODY_MS, remainingMs));
    } else if (Number(headers['content-length']) > this.#limits.maxBytes) {
      this.#failTooLarge();
    }
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    if (this.#isError) {
      if (this.#bytes > ERROR_BODY_BYTES) this.#cutErrorBody();
    } else if (this.#bytes > this.#limits.maxBytes) {
      this.#failTooLarge();
    }
  }

  onResponseEnd(): void {
    const status = this.#status;
    if (status === undefined) {
      this.#abort(new CallFailure('invalid_response', 'the response ended without a status'));
      return;
    }
    if (!this.#end()) return;
    const body = this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#resolve({ status, headers: this.#headers, body });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#isError) this.#cutErrorBody();
    else this.#abort(explainNetworkError(error, this.#status));
  }

  #failLate(): void {
    const missing = this.#status === undefined ? 'no response' : 'no complete response';
    const words = `${missing} within ${this.#limits.timeoutMs / 1000} s`;
    this.#abort(new CallFailure('timeout', words, { status: this.#status, retriable: true }));
  }

  #failTooLarge(): void {
    const words = `the response is larger than ${this.#limits.maxBytes} bytes`;
    this.#abort(new CallFailure('too_large', words, { status: this.#status }));
  }

  /** Completes an error response without the rest of its body. The status alone is enough. */
  #cutErrorBody(): void {
    this.onResponseEnd();
    this.#hangUp(new Error('the rest of the error body is not read'));
  }

  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#stop);
    return true;
  }

  #hangUp(error: Error): void {
    this.#hangUpReason = error;
    this.#controller?.abort(error);
  }
}

const CUT = 'connection closed before the end of the response';

/** Connection failures that a retry may solve, by error code. */
const TRANSIENT: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name lookup failed',
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

const UNTRUSTED =
  /^(CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|UNABLE_TO_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|HOSTNAME_)/;

/** Explains an error of the system, TLS or the HTTP library, without parts of requests or responses. */
function explainNetworkError(error: Error, status: number | undefined): CallFailure {
  const root = findRootCause(error);
  const { code = '', name, message } = root;
  const words = TRANSIENT[code];
  if (words !== undefined) return new CallFailure('network', words + describePeer(root), { status, retriable: true });
  if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT')
    return new CallFailure('timeout', 'no connection in time', { retriable: true });
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return new CallFailure('network', 'certificate not trusted: it was issued for another name');
  }
  // Keep OpenSSL's own message. Newer releases of Node.js append advice that does not apply here.
  if (UNTRUSTED.test(code))
    return new CallFailure('network', `certificate not trusted: ${message.split(';', 1).join('')}`);
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO$)/.test(code)) {
    return new CallFailure('network', `no TLS connection (${code}): the address may be one for plain HTTP`);
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new CallFailure('too_large', 'the headers of the response are too long', { status });
  }
  if (name === 'HTTPParserError') return new CallFailure('invalid_response', 'the response is not HTTP', { status });
  const refusal = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (refusal !== undefined) {
    return new CallFailure('network', `the proxy answered ${refusal}`, { retriable: refusal >= '500' });
  }
  return new CallFailure('network', code === '' ? 'connection failed' : `connection failed (${code})`, { status });
}

type NetworkError = NodeJS.ErrnoException & {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
};

/** Returns the outermost cause with a code. Errors around it say only that a tunnel or connection failed. */
function findRootCause(error: Error): NetworkError {
  let each: unknown = error;
  while (each instanceof Error) {
    const { code, cause, name }: NetworkError = each;
    if ((code !== undefined && code !== 'UND_ERR_PRX_TLS') || name === 'HTTPParserError') return each;
    each = each instanceof AggregateError ? each.errors[0] : cause;
  }
  return error;
}

function describePeer({ code, address, port, hostname }: NetworkError): string {
  if (hostname !== undefined) return `: ${hostname}`;
  return code === 'ECONNREFUSED' && address !== undefined && port !== undefined ? ` by ${address}:${port}` : '';
}
