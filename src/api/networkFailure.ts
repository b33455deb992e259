import { CallFailure } from './callFailure.ts';

/** What connecting, TLS and HTTP can end with, by the code of the error; another attempt may do better. */
const NETWORK_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name could not be looked up',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  UND_ERR_SOCKET: 'connection closed before the whole answer was there',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'connection closed before the whole answer was there',
  HPE_INVALID_EOF_STATE: 'connection closed before the whole answer was there',
};

const CERTIFICATE_CODES = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'HOSTNAME_MISMATCH',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

const TIMEOUT_CODES = new Set([
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** Puts what the HTTP library or the system reports into a reason and into words without any address but the peer's. */
export function networkFailure(error: Error, status: number | undefined): CallFailure {
  const root = rootCause(error);
  const { code = '', message } = root;
  const circumstances = { status, cause: error };
  const words = NETWORK_WORDS[code];
  if (words !== undefined) return new CallFailure('network', words + peer(root), { ...circumstances, retriable: true });
  if (CERTIFICATE_CODES.has(code)) {
    return new CallFailure('network', `certificate not trusted: ${certificateWords(root)}`, circumstances);
  }
  if (TIMEOUT_CODES.has(code)) return new CallFailure('timeout', 'no connection in time', circumstances);
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO$)/.test(code)) {
    return new CallFailure('network', `TLS failed (${code}): is this an HTTPS address?`, circumstances);
  }
  if (code === 'HPE_HEADER_OVERFLOW' || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new CallFailure('too_large', 'the headers of the answer are too long', circumstances);
  }
  if (root.name === 'HTTPParserError')
    return new CallFailure('invalid_response', 'the answer is not HTTP', circumstances);
  const refusal = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (refusal !== undefined) {
    return new CallFailure('network', `the proxy answered ${refusal}`, {
      ...circumstances,
      retriable: refusal >= '500',
    });
  }
  return new CallFailure('network', `connection failed${code === '' ? '' : ` (${code})`}`, circumstances);
}

interface SystemError extends Error {
  code?: string;
  address?: string;
  port?: number;
  hostname?: string;
}

/** The first error of the chain that has a code of the system's or of TLS; the outermost one otherwise. */
function rootCause(error: SystemError): SystemError {
  for (let each: unknown = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    const { code, cause, name }: SystemError = each;
    if ((code !== undefined && code !== 'UND_ERR_PRX_TLS') || name === 'HTTPParserError') return each;
    each = each instanceof AggregateError ? each.errors[0] : cause;
  }
  return error;
}

function peer({ code, address, port, hostname }: SystemError): string {
  if (hostname !== undefined) return `: ${hostname}`;
  return address !== undefined && port !== undefined && code !== 'ECONNRESET' ? ` by ${address}:${port}` : '';
}

/** OpenSSL's words are already plain; those for a wrong name list every name of the certificate. */
function certificateWords({ code, message }: SystemError): string {
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? 'it was issued for another name' : message;
}
