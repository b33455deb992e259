import { promisify } from 'node:util';
import { gunzip, gunzipSync } from 'node:zlib';
import { firstHeader, resolve, urlOf, type Address } from './address.ts';
import { isTooDeep, tooMuchOf, type Bounds } from './bounds.ts';
import { CallFailure, announced } from './callFailure.ts';
import { errorTitle, hasError, titleOf } from './errorTitle.ts';
import type { RawResponse } from './exchange.ts';
import type { KeyMask } from './keyMask.ts';
import { hasMembers, isList, type Json } from './validation.ts';
import type { FailureReason } from '../upstreamError.ts';
import type { Overload } from '../upstreamReader.ts';

/** Bodies up to this size are unpacked synchronously, because handing them to another thread would cost more. */
const SMALL_BYTES = 32 * 1024;

const unzip = promisify(gunzip);

/** Unpacking stops at `maxBytes`. Rejects with a CallFailure: `too_large`, or `invalid_response`. */
async function decodeText({ status, headers, body }: RawResponse, maxBytes: number): Promise<string> {
  const encoding = (firstHeader(headers, 'content-encoding') ?? '').toLowerCase();
  if (encoding === '' || encoding === 'identity') {
    if (body.length > maxBytes) throw tooLarge(maxBytes, status);
    return body.toString('utf8');
  }
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw new CallFailure('invalid_response', 'the response has an encoding that was not asked for', { status });
  }
  try {
    const limit = { maxOutputLength: maxBytes };
    const plain = body.length <= SMALL_BYTES ? gunzipSync(body, limit) : await unzip(body, limit);
    return plain.toString('utf8');
  } catch (error) {
    throw error instanceof RangeError
      ? tooLarge(maxBytes, status)
      : new CallFailure('invalid_response', 'the response cannot be unpacked', { status });
  }
}

function tooLarge(bytes: number, status: number): CallFailure {
  return new CallFailure('too_large', `the response is larger than ${bytes} bytes`, { status });
}

const BY_STATUS: Readonly<Record<number, FailureReason>> = {
  401: 'auth',
  403: 'forbidden',
  404: 'not_found',
  429: 'rate_limited',
};

/** True for a status whose body is the requested result. */
export function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

function reasonOf(status: number): FailureReason {
  if (status >= 500) return 'server';
  return BY_STATUS[status] ?? (status >= 300 && status < 400 ? 'redirect' : 'other');
}

/** Server errors may be transient, except 501 (not supported) and an overload, which has its own time to wait. */
function statusFailure(
  { address, status, headers, overload }: ReceivedResponse,
  title: string | undefined,
): CallFailure {
  const reason = reasonOf(status);
  if (reason === 'redirect') {
    // Only the origin is shown, because the rest of the address may contain anything, secrets included.
    const target = resolve(firstHeader(headers, 'location'), urlOf(address))?.origin;
    const words = `status ${status}, a redirect${target === undefined ? '' : ` to ${target}`}`;
    return new CallFailure(reason, words, { status });
  }
  const retriable = reason === 'server' && status !== 501 && overload === undefined;
  const words = `status ${status}${title === undefined ? '' : `: ${title}`}`;
  return new CallFailure(reason, words, { status, retriable, overload });
}

/** The JSON object in a text. Throws a CallFailure: `too_large` for too many elements, else `invalid_response`. */
function parseObject(text: string, status: number, mask: KeyMask, { elements, onlyNumbers }: Bounds): Json {
  const invalid = (words: string): CallFailure => new CallFailure('invalid_response', words, { status });
  // Each element takes at least one character, so a short text cannot have too many. Its nesting is cheaper to check after
  // parsing, and does no harm where numbers at known places are read only.
  const isShort = text.length <= elements;
  const tooMuch = isShort ? undefined : tooMuchOf(text, elements);
  if (tooMuch === 'nesting') throw invalid('the response is nested too deep');
  if (tooMuch === 'elements') {
    throw new CallFailure('too_large', `the response has more than ${elements} elements`, { status });
  }
  const shown = onlyNumbers === true ? text : mask.hideInBody(text);
  let body: unknown;
  try {
    body = JSON.parse(shown);
  } catch {
    throw invalid(notJson(text));
  }
  if (!hasMembers(body) || isList(body)) throw invalid('the response is no JSON object');
  if (isShort && onlyNumbers !== true && isTooDeep(body)) throw invalid('the response is nested too deep');
  return body;
}

/** The failure that a body reports, which is possible even with status 200. */
function bodyFailure(body: Json, status: number, mask: KeyMask): CallFailure | undefined {
  if (!hasError(body)) return undefined;
  const title = titleOf(body, mask);
  const words = `status ${status} with an error in its body${title === undefined ? '' : `: ${title}`}`;
  return new CallFailure('invalid_response', words, { status });
}

function notJson(text: string): string {
  const start = text.trimStart();
  if (start === '') return 'the response is empty';
  return start.startsWith('<') ? 'the response is a web page, not JSON' : 'the response is not JSON';
}

const LONGEST_ERROR = 64 * 1024;

/** A successful response: its JSON object, and the address that sent it. */
export interface JsonResponse {
  /** Emptied by its reader where it may be large: promises of its call may keep it until a full garbage collection. */
  body: Json;
  readonly address: Address;
  /** All `Link` headers, joined. */
  readonly link: string;
}

/** Rules for one kind of response: how its body is read and checked, and when the call is repeated. */
export interface ResponsePolicy {
  readonly bounds: Bounds;
  /** Finds the failure that a body with a good status reports; by default any error is one. `mask` hides the key. */
  readonly inspect?: (body: Json, status: number, mask: KeyMask) => CallFailure | undefined;
  /** The same as `inspect`, for the text of any other status: finds a failure that says more than the status does. */
  readonly inspectRefusal?: (text: string, status: number, mask: KeyMask) => CallFailure | undefined;
  /** True for a text that may report an overload: its slot is released only after the body was parsed. */
  readonly mayBeOverload?: (text: string) => boolean;
  /**
   * Selects the failures that are retried. `all`: every retriable failure. `but_timeouts`: a timeout only for patient callers,
   * because it holds a slot for a long time. `transient`: only failures that New Relic calls transient; after any other the
   * caller requests less. `none`: the caller tries again later.
   */
  readonly retries: 'all' | 'but_timeouts' | 'transient' | 'none';
}

export interface ReceivedResponse extends RawResponse {
  readonly address: Address;
  /** Unix milliseconds of the wall clock, for comparison with times in headers. */
  readonly receivedAt: number;
  readonly overload: Overload | undefined;
  readonly mask: KeyMask;
}

const EMPTY = Buffer.alloc(0);

/** The text of a good response, whose body is dropped, because several may wait. Throws for any other status. */
export async function textOf(response: ReceivedResponse, { bounds, inspectRefusal }: ResponsePolicy): Promise<string> {
  const { status, mask } = response;
  if (isGood(status)) {
    const text = await decodeText(response, bounds.bytes);
    response.body = EMPTY;
    return text;
  }
  const text = await decodeText(response, LONGEST_ERROR).catch(() => '');
  throw inspectRefusal?.(text, status, mask) ?? statusFailure(response, errorTitle(text, mask));
}

/** The response parsed from the text of a successful status. Throws the CallFailure that its body reports. */
export function parseResponse(
  { address, status, headers, receivedAt, mask }: ReceivedResponse,
  text: string,
  { bounds, inspect = bodyFailure }: ResponsePolicy,
): JsonResponse {
  const body = parseObject(text, status, mask, bounds);
  const failure = inspect(body, status, mask);
  if (failure?.circumstances.overload !== undefined) {
    throw new CallFailure(failure.reason, failure.message, { status, overload: announced(headers, receivedAt) });
  }
  if (failure !== undefined) throw failure;
  return { body, address, link: [headers['link'] ?? []].flat().join(', ') };
}
