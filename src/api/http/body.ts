import { promisify } from 'node:util';
import { gunzip, gunzipSync } from 'node:zlib';
import { CallFailure, announced } from './callFailure.ts';
import type { RawResponse } from './exchange.ts';
import { firstHeader, resolve } from './address.ts';
import { KeyMask } from './keyMask.ts';
import { MASKED } from '../../log/secrets.ts';
import { isList, isObject, type Json } from './readRecords.ts';
import { KEY_LIKE } from '../../log/secrets.ts';
import type { FailureReason } from '../types.ts';
import type { Overload } from '../upstreamReader.ts';

/** Bodies up to this size are unpacked synchronously, because handing them to another thread would cost more. */
const SMALL_BYTES = 32 * 1024;

const unzip = promisify(gunzip);

/**
 * The text of a response. Unpacking stops at `maxBytes`, so that a small body cannot fill the memory. Rejects with a
 * CallFailure: `too_large`, or `invalid_response` for a body that cannot be unpacked.
 */
async function decodeText({ status, headers, body }: RawResponse, maxBytes: number): Promise<string> {
  const encoding = (firstHeader(headers, 'content-encoding') ?? '').toLowerCase();
  if (encoding === '' || encoding === 'identity') {
    if (body.length > maxBytes) throw tooLarge(maxBytes, status);
    return body.toString('utf8');
  }
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw new CallFailure('invalid_response', 'the answer has an encoding that was not asked for', { status });
  }
  try {
    const limit = { maxOutputLength: maxBytes };
    const plain = body.length <= SMALL_BYTES ? gunzipSync(body, limit) : await unzip(body, limit);
    return plain.toString('utf8');
  } catch (error) {
    throw error instanceof RangeError
      ? tooLarge(maxBytes, status)
      : new CallFailure('invalid_response', 'the answer cannot be unpacked', { status });
  }
}

function tooLarge(bytes: number, status: number): CallFailure {
  return new CallFailure('too_large', `the answer is larger than ${bytes} bytes`, { status });
}

const LONGEST_TITLE = 120;
/** Bounds for the work on a body that was made to be expensive. */
const LONGEST_READ = 10_000;
const LONGEST_KEY = 256;
const MOST_KEYS = 10;
const MOST_MEMBERS = 1_000;
const MOST_REASONS = 5;

/**
 * The title of an error body, for a message: read in the shapes that public clients know, without control characters, with the
 * key hidden, cut to 120 characters. Undefined for any other body, such as a web page.
 */
export function errorTitle(text: string, mask: KeyMask): string | undefined {
  try {
    return titleOf(JSON.parse(text), mask);
  } catch {
    return undefined;
  }
}

/** The same as `errorTitle`, for a body that was already parsed. */
export function titleOf(body: unknown, mask: KeyMask): string | undefined {
  const title = findTitle(body);
  if (title === undefined) return undefined;
  // A 401 echoes the key of the request, which may be older than the current one.
  const echoed = echoedKeys(body).map((key) => new KeyMask(key));
  // New Relic may show a part of the key that it received.
  const shown = [mask, ...echoed]
    .reduce((text, each) => each.hide(text), withoutControls(title.slice(0, LONGEST_READ)))
    .replace(KEY_LIKE, MASKED);
  return shown === '' ? undefined : Array.from(shown).slice(0, LONGEST_TITLE).join('');
}

/** True for a body that reports an error, which is possible even with status 200. */
export function hasError(body: Json): boolean {
  const { error, errors } = body;
  return isGiven(error) || (Array.isArray(errors) ? errors.length > 0 : isObject(errors));
}

/** Null means no error, like a missing member. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function findTitle(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const errors: readonly unknown[] = Array.isArray(body['errors']) ? body['errors'] : [];
  for (const error of [body['error'], errors[0]]) {
    if (typeof error === 'string') return error;
    if (!isObject(error)) continue;
    const title = error['title'] ?? error['message'];
    const reasons = reasonsIn(error['messages']);
    if (typeof title === 'string') return [title, reasons].filter((part) => part !== '').join(': ');
    if (reasons !== '') return reasons;
  }
  return undefined;
}

/** The title says what failed ("The metric data could not be read"), and the messages beside it say why. */
function reasonsIn(messages: unknown): string {
  if (!isList(messages)) return '';
  const texts = messages.slice(0, MOST_REASONS).filter((each) => typeof each === 'string');
  return texts.map((each) => each.slice(0, LONGEST_READ)).join('; ');
}

/** The keys that an error body echoes. Only its first members are searched, as many as a genuine error has. */
function echoedKeys(body: unknown): string[] {
  const keys: string[] = [];
  const open = [body];
  let looked = 0;
  for (let each = open.shift(); each !== undefined; each = open.shift()) {
    if (!isObject(each)) continue;
    for (const name in each) {
      looked += 1;
      if (looked > MOST_MEMBERS || keys.length === MOST_KEYS) return keys;
      const value = each[name];
      if (isKey(name, value)) keys.push(value);
      else if (isObject(value)) open.push(value);
    }
  }
  return keys;
}

function isKey(name: string, value: unknown): value is string {
  return name === 'api_key' && typeof value === 'string' && value.length <= LONGEST_KEY;
}

function withoutControls(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/\p{C}/gu, '').trim();
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

/**
 * The failure for a status other than 2xx. Server errors may be transient, except 501 (not supported) and an overload, which
 * has its own time to wait.
 *
 * @param title the title of the body, safe to show
 */
function statusFailure(
  requested: URL,
  { status, headers }: RawResponse,
  title: string | undefined,
  overload: Overload | undefined,
): CallFailure {
  const reason = reasonOf(status);
  if (reason === 'redirect') {
    // Only the origin is shown, because the rest of the address may contain anything, secrets included.
    const target = resolve(firstHeader(headers, 'location'), requested)?.origin;
    const words = `status ${status}, a redirect${target === undefined ? '' : ` to ${target}`}`;
    return new CallFailure(reason, words, { status });
  }
  const retriable = reason === 'server' && status !== 501 && overload === undefined;
  const words = `status ${status}${title === undefined ? '' : `: ${title}`}`;
  return new CallFailure(reason, words, { status, retriable, overload });
}

/**
 * Limits for a response. A response beyond them is not parsed, because parsing takes far more memory and time than its length
 * suggests.
 */
export interface Bounds {
  /** Limit for the body both as sent and as unpacked. */
  readonly bytes: number;
  /** Limit for the objects, lists and their members together, at any depth. */
  readonly elements: number;
  /**
   * The reader takes only numbers, under names from its own request. No text of the response is shown, so no key has to be
   * hidden.
   */
  readonly onlyNumbers?: true;
}

const MIB = 1024 * 1024;

/** Limits by kind of response, several times larger than the largest genuine response (docs/errors.md). */
export const BOUNDS = {
  /** Enough for a page of a list or one record: 200 applications with a few thousand hosts each. */
  list: { bytes: 8 * MIB, elements: 400_000 },
  /** Enough for 30 metrics with three hours of minutes. */
  metricData: { bytes: 4 * MIB, elements: 150_000, onlyNumbers: true },
  /** Enough for 5,000 rows. */
  query: { bytes: 16 * MIB, elements: 250_000 },
  /** Enough for 50,000 rows of buckets; only commands read them. */
  series: { bytes: 16 * MIB, elements: 1_000_000 },
} as const satisfies Record<string, Bounds>;

/** New Relic's own responses are nested 12 deep. */
const DEEPEST = 32;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * The limit that a JSON text exceeds, found in one pass before it is parsed; undefined within the limits. Text that is not JSON
 * may pass here, because parsing rejects it.
 */
function tooMuchOf(text: string, elements: number): 'nesting' | 'elements' | undefined {
  let depth = 0;
  let found = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
        index = endOfText(text, index);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        found += 1;
        if (depth > DEEPEST) return 'nesting';
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case COMMA:
        found += 1;
        if (found > elements) return 'elements';
        break;
    }
  }
  return undefined;
}

/** The position after the string that begins with a quote at `start`, or the end of the text if the string is not closed. */
function endOfText(text: string, start: number): number {
  for (let end = start; ;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
}

/** True when objects or lists of a parsed value are nested deeper than `levels`. */
function isNestedDeeper(value: Json | readonly unknown[], levels: number): boolean {
  if (levels === 0) return true;
  if (isList(value)) {
    for (const each of value) if (isObject(each) && isNestedDeeper(each, levels - 1)) return true;
    return false;
  }
  for (const name in value) {
    const member = value[name];
    if (isObject(member) && isNestedDeeper(member, levels - 1)) return true;
  }
  return false;
}

/**
 * The JSON object in the text of a response. Throws a CallFailure otherwise: `too_large` if it has more elements than a genuine
 * response, else `invalid_response`.
 */
function parseObject(text: string, status: number, mask: KeyMask, { elements, onlyNumbers }: Bounds): Json {
  const invalid = (words: string): CallFailure => new CallFailure('invalid_response', words, { status });
  // Each element takes at least one character, so a short text cannot have too many. Its nesting is cheaper to check after
  // parsing.
  const isShort = text.length <= elements;
  const tooMuch = isShort ? undefined : tooMuchOf(text, elements);
  if (tooMuch === 'nesting') throw invalid('the answer is nested too deep');
  if (tooMuch === 'elements') {
    throw new CallFailure('too_large', `the answer has more than ${elements} elements`, { status });
  }
  const shown = onlyNumbers === true ? text : mask.hideInBody(text);
  let body: unknown;
  try {
    body = JSON.parse(shown);
  } catch {
    throw invalid(notJson(text));
  }
  if (!isObject(body) || Array.isArray(body)) throw invalid('the answer is no JSON object');
  if (isShort && isNestedDeeper(body, DEEPEST)) throw invalid('the answer is nested too deep');
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
  if (start === '') return 'the answer is empty';
  return start.startsWith('<') ? 'the answer is a web page, not JSON' : 'the answer is not JSON';
}

const LONGEST_ERROR = 64 * 1024;

/** A successful response: its JSON object, and the address that sent it. */
export interface JsonResponse {
  readonly body: Json;
  readonly address: URL;
  /** All `Link` headers, joined. */
  readonly link: string;
}

/** Rules for one kind of response: how its body is read and checked, and when the call is repeated. */
export interface ResponsePolicy {
  readonly bounds: Bounds;
  /**
   * Finds the failure that the body of a successful response reports, if any; `mask` hides the key in its words. Without this
   * function, every body with an error is a failure.
   */
  readonly inspect?: (body: Json, status: number, mask: KeyMask) => CallFailure | undefined;
  /** The same as `inspect`, for the text of any other status: finds a failure that says more than the status does. */
  readonly inspectRefusal?: (text: string, status: number, mask: KeyMask) => CallFailure | undefined;
  /**
   * True for a text that may report an overload: the call then ends only after its body was read. Otherwise, and without this
   * function, the slot is released as soon as the response arrives, so the next calls start before the body is read.
   */
  readonly mayBeOverload?: (text: string) => boolean;
  /**
   * Selects the failures that are retried. `all`: every retriable failure. `but_timeouts`: a timeout only for patient callers,
   * because it holds a slot for a long time. `transient`: only failures that New Relic calls transient; after any other the
   * caller requests less. `none`: the caller tries again later.
   */
  readonly retries: 'all' | 'but_timeouts' | 'transient' | 'none';
}

export interface Sent {
  readonly address: URL;
  readonly raw: RawResponse;
  /** Unix milliseconds of the wall clock, for comparison with times in headers. */
  readonly receivedAt: number;
  readonly overload: Overload | undefined;
  readonly mask: KeyMask;
}

/** The text of a successful response. For any other status it throws the CallFailure that the status and the text mean. */
export async function textOf(
  { address, raw, overload, mask }: Sent,
  { bounds, inspectRefusal }: ResponsePolicy,
): Promise<string> {
  if (isGood(raw.status)) return decodeText(raw, bounds.bytes);
  const text = await decodeText(raw, LONGEST_ERROR).catch(() => '');
  throw inspectRefusal?.(text, raw.status, mask) ?? statusFailure(address, raw, errorTitle(text, mask), overload);
}

/** The response parsed from the text of a successful status. Throws the CallFailure that its body reports. */
export function parseResponse(
  { address, raw, receivedAt, mask }: Sent,
  text: string,
  { bounds, inspect = bodyFailure }: ResponsePolicy,
): JsonResponse {
  const body = parseObject(text, raw.status, mask, bounds);
  const failure = inspect(body, raw.status, mask);
  if (failure?.overload !== undefined) {
    const { reason, message, status } = failure;
    throw new CallFailure(reason, message, { status, overload: announced(raw.headers, receivedAt) });
  }
  if (failure !== undefined) throw failure;
  return { body, address, link: [raw.headers['link'] ?? []].flat().join(', ') };
}
