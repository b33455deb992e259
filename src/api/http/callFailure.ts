import type { FailureReason } from '../types.ts';
import type { Overload } from '../reader.ts';
import { type AnswerHeaders, firstHeader } from './address.ts';

/**
 * One attempt at a call that failed. The message says why, in words that follow the endpoint. It keeps no cause: those of
 * the HTTP library hold parts of answers.
 */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly reason: FailureReason;
  readonly status: number | undefined;
  /** Whether the same call may well succeed when it is made again. */
  readonly retriable: boolean;
  /** Whether upstream itself says that the failure passes. */
  readonly isSaidToPass: boolean;
  readonly overload: Overload | undefined;

  constructor(
    reason: FailureReason,
    words: string,
    circumstances: Partial<Pick<CallFailure, 'status' | 'retriable' | 'isSaidToPass' | 'overload'>> = {},
  ) {
    super(words);
    this.reason = reason;
    this.status = circumstances.status;
    this.retriable = circumstances.retriable ?? false;
    this.isSaidToPass = circumstances.isSaidToPass ?? false;
    this.overload = circumstances.overload;
  }
}

const CUT = 'connection closed before the whole answer was there';

/** Ends of a connection in words, by code: another attempt may do better. */
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

/** What verification of a certificate ends with. */
const UNTRUSTED =
  /^(CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|UNABLE_TO_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|HOSTNAME_)/;

/**
 * Puts what the system, TLS or the HTTP library report into a reason and into words: they name the peer, never what was
 * sent or answered.
 *
 * @param status of the answer, when it had begun
 */
export function networkFailure(error: Error, status: number | undefined): CallFailure {
  const root = rootCause(error);
  const { code = '', name, message } = root;
  const passing = PASSING[code];
  if (passing !== undefined) return new CallFailure('network', passing + peer(root), { status, retriable: true });
  if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT')
    return new CallFailure('timeout', 'no connection in time', { retriable: true });
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return new CallFailure('network', 'certificate not trusted: it was issued for another name');
  }
  // OpenSSL's own words are plain ones; newer releases of Node add advice that is none for us.
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

/** The first error of the chain that says what happened: the outer ones only say that a tunnel or a connection failed. */
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

/**
 * The overload that an answer reports, if it does: 429 always, 503 when it carries `Retry-After` (docs/errors.md,
 * "Pauses"). How long comes from `Retry-After` (seconds or an HTTP date), `X-RateLimit-Reset` or the older
 * `NewRelic-OverloadProtection-Reset` (Unix seconds); of several, the longest. A time that has passed says nothing.
 *
 * @param now Unix milliseconds by the wall clock, which the times in headers are compared with
 */
export function overloadOf(status: number, headers: AnswerHeaders, now: number): Overload | undefined {
  if (status !== 429 && !(status === 503 && firstHeader(headers, 'retry-after') !== undefined)) return undefined;
  return announced(headers, now);
}

/** The overload of an answer whose body reports one, whatever its status; `now` as above. */
export function announced(headers: AnswerHeaders, now: number): Overload {
  const times = [
    retryAfterTime(firstHeader(headers, 'retry-after'), now),
    unixTime(firstHeader(headers, 'x-ratelimit-reset')),
    unixTime(firstHeader(headers, 'newrelic-overloadprotection-reset')),
  ].filter((time) => time !== undefined && time > now);
  const latest = times.reduce<number | undefined>((a, b) => (a === undefined ? b : Math.max(a, b ?? 0)), undefined);
  return { waitMs: latest === undefined ? undefined : latest - now };
}

function retryAfterTime(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const seconds = decimal(text);
  if (seconds !== undefined) return now + seconds * 1000;
  // Of the three date forms of HTTP only asctime names no zone; all are GMT.
  const date = Date.parse(/GMT|UTC|[+-]\d{4}$/.test(text) ? text : `${text} GMT`);
  return Number.isNaN(date) ? undefined : date;
}

function unixTime(text: string | undefined): number | undefined {
  const seconds = text === undefined ? undefined : decimal(text);
  return seconds === undefined ? undefined : seconds * 1000;
}

function decimal(text: string): number | undefined {
  return /^\d{1,12}(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
