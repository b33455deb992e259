import { CallFailure } from './callFailure.ts';

const CUT = 'connection closed before the whole response was there';

/** Explanations by error code for connection failures that a retry may solve. */
const TRANSIENT: Readonly<Record<string, string>> = {
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

/** The failure for an error of the system, TLS or the HTTP library, which never has parts of requests or responses. */
export function networkFailure(error: Error, status: number | undefined): CallFailure {
  const root = rootCause(error);
  const { code = '', name, message } = root;
  const words = TRANSIENT[code];
  if (words !== undefined) return new CallFailure('network', words + peer(root), { status, retriable: true });
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
    return new CallFailure('too_large', 'the headers of the response are too long', { status });
  }
  if (name === 'HTTPParserError') return new CallFailure('invalid_response', 'the response is not HTTP', { status });
  const refusal = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (refusal !== undefined) {
    return new CallFailure('network', `the proxy answered ${refusal}`, { retriable: refusal >= '500' });
  }
  return new CallFailure('network', code === '' ? 'connection failed' : `connection failed (${code})`, { status });
}

/** The outermost error in the chain of causes that has a code: those around it say only that a tunnel or connection failed. */
function rootCause(error: Error): Parameters<typeof peer>[0] {
  let each: unknown = error;
  while (each instanceof Error) {
    const { code, cause, name }: Parameters<typeof peer>[0] = each;
    if ((code !== undefined && code !== 'UND_ERR_PRX_TLS') || name === 'HTTPParserError') return each;
    each = each instanceof AggregateError ? each.errors[0] : cause;
  }
  return error;
}

function peer({
  code,
  address,
  port,
  hostname,
}: NodeJS.ErrnoException & { readonly address?: string; readonly port?: number; readonly hostname?: string }): string {
  if (hostname !== undefined) return `: ${hostname}`;
  return code === 'ECONNREFUSED' && address !== undefined && port !== undefined ? ` by ${address}:${port}` : '';
}
