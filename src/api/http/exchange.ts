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

/**
 * Sends one request and reads its whole response, without the cost of a stream. Rejects with a CallFailure, or with the
 * reason of the signal.
 */
export function exchange(
  dispatcher: Dispatcher,
  { origin, path, body }: Request,
  headers: Record<string, string>,
  { timeoutMs, maxBytes }: { readonly timeoutMs: number; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<RawResponse> {
  // Node.js warns about more than ten listeners, but more exchanges may share the signal.
  setMaxListeners(0, signal);
  return new Promise((resolve, reject) => {
    const started = performance.now();
    let controller: Dispatcher.DispatchController | undefined;
    /** Why the exchange closes the connection before the end of the response. */
    let hangUpReason: Error | undefined;
    let hasEnded = false;
    let status: number | undefined;
    let isError = false;
    let responseHeaders: ResponseHeaders = {};
    const chunks: Buffer[] = [];
    let bytes = 0;

    const end = (): void => {
      hasEnded = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    };
    const hangUp = (reason: Error): void => {
      hangUpReason = reason;
      controller?.abort(reason);
    };
    const fail = (error: Error): void => {
      if (hasEnded) return;
      end();
      reject(error);
      hangUp(error);
    };
    const succeed = (): void => {
      if (status === undefined) fail(new CallFailure('invalid_response', 'the response ended without a status'));
      if (status === undefined || hasEnded) return;
      end();
      const body = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
      resolve({ status, headers: responseHeaders, body });
    };
    /** Completes an error response without the rest of its body. The status alone is enough. */
    const cutErrorBody = (): void => {
      succeed();
      hangUp(new Error('the rest of the error body is not read'));
    };
    const failTooLarge = (): void =>
      fail(new CallFailure('too_large', `the response is larger than ${maxBytes} bytes`, { status }));
    const failLate = (): void => {
      const missing = status === undefined ? 'no response' : 'no complete response';
      fail(new CallFailure('timeout', `${missing} within ${timeoutMs / 1000} s`, { status, retriable: true }));
    };
    const stop = (): void => fail(abortReason(signal));

    let timer = setTimeout(failLate, timeoutMs);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(dispatched) {
        controller = dispatched;
        // The exchange ended while it waited for a connection. Send nothing.
        if (hangUpReason !== undefined) controller.abort(hangUpReason);
      },
      onResponseStart(_, code, received) {
        if (code < 200) return;
        status = code;
        isError = code >= 300;
        responseHeaders = received;
        if (isError) {
          clearTimeout(timer);
          timer = setTimeout(cutErrorBody, Math.min(ERROR_BODY_MS, timeoutMs - (performance.now() - started)));
        } else if (Number(received['content-length']) > maxBytes) {
          failTooLarge();
        }
      },
      onResponseData(_, chunk) {
        if (hasEnded) return;
        bytes += chunk.length;
        chunks.push(chunk);
        if (isError && bytes > ERROR_BODY_BYTES) cutErrorBody();
        else if (!isError && bytes > maxBytes) failTooLarge();
      },
      onResponseEnd: succeed,
      onResponseError(_, error) {
        if (isError) cutErrorBody();
        else fail(explainNetworkError(error, status));
      },
    };
    const method = body === undefined ? 'GET' : 'POST';
    dispatcher.dispatch({ origin, path, headers, method, body: body ?? null }, handler);
  });
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
