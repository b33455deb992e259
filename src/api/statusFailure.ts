import { resolve } from './address.ts';
import { CallFailure } from './callFailure.ts';
import type { FailureReason } from './errors.ts';
import { errorTitle } from './errorTitle.ts';
import type { RawAnswer } from './exchange.ts';
import { firstHeader } from './headers.ts';
import type { KeyMask } from './keyMask.ts';
import type { Overload } from './reader.ts';

const BY_STATUS: Readonly<Record<number, FailureReason>> = {
  401: 'auth',
  403: 'forbidden',
  404: 'not_found',
  429: 'rate_limited',
};

/** The reason a status stands for (contract 5.5). Undefined for 2xx. */
export function reasonOf(status: number): FailureReason | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status >= 500) return 'server';
  return BY_STATUS[status] ?? (status >= 300 && status < 400 ? 'redirect' : 'other');
}

/**
 * The failure an answer's status means; undefined for 2xx. Server errors may pass, except 501, which says that the
 * service cannot, and an overload, which says when to come back.
 */
export function statusFailure(
  asked: URL,
  { status, headers, body }: RawAnswer,
  overload: Overload | undefined,
  mask: KeyMask,
): CallFailure | undefined {
  const reason = reasonOf(status);
  if (reason === undefined) return undefined;
  if (reason === 'redirect') {
    // The rest of the address may hold anything.
    const target = resolve(firstHeader(headers, 'location'), asked)?.origin;
    const words = `status ${status}, a redirect${target === undefined ? '' : ` to ${target}`}`;
    return new CallFailure(reason, words, { status });
  }
  const title = errorTitle(body.toString('utf8'), mask);
  const retriable = reason === 'server' && status !== 501 && overload === undefined;
  return new CallFailure(reason, `status ${status}${title === undefined ? '' : `: ${title}`}`, {
    status,
    retriable,
    overload,
  });
}
