import { resolve } from './address.ts';
import { CallFailure } from './callFailure.ts';
import type { FailureReason } from '../errors.ts';
import { firstHeader } from './headers.ts';
import type { RawAnswer } from './exchange.ts';
import type { Overload } from '../reader.ts';

const BY_STATUS: Readonly<Record<number, FailureReason>> = {
  401: 'auth',
  403: 'forbidden',
  404: 'not_found',
  429: 'rate_limited',
};

/** Whether a status says that the body is what was asked for. */
export function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

function reasonOf(status: number): FailureReason {
  if (status >= 500) return 'server';
  return BY_STATUS[status] ?? (status >= 300 && status < 400 ? 'redirect' : 'other');
}

/**
 * The failure that a status other than 2xx means. Server errors may pass, except 501, which says that the
 * service cannot, and an overload, which says when to come back.
 *
 * @param title what the body says, fit to be shown
 */
export function statusFailure(
  asked: URL,
  { status, headers }: RawAnswer,
  title: string | undefined,
  overload: Overload | undefined,
): CallFailure {
  const reason = reasonOf(status);
  if (reason === 'redirect') {
    // The rest of the address may hold anything.
    const target = resolve(firstHeader(headers, 'location'), asked)?.origin;
    const words = `status ${status}, a redirect${target === undefined ? '' : ` to ${target}`}`;
    return new CallFailure(reason, words, { status });
  }
  const retriable = reason === 'server' && status !== 501 && overload === undefined;
  const words = `status ${status}${title === undefined ? '' : `: ${title}`}`;
  return new CallFailure(reason, words, { status, retriable, overload });
}
