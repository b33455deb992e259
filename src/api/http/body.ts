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

/** Up to here unpacking at once costs less than handing it to another thread. */
const SMALL_BYTES = 32 * 1024;

const unzip = promisify(gunzip);

/**
 * The text of a response. Unpacking stops at `maxBytes`, so that a small body cannot fill the memory. Rejects with a
 * CallFailure: `too_large`, or `invalid_response` for what cannot be unpacked.
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
/** Bounds for the work on a body that is made to be costly. */
const LONGEST_READ = 10_000;
const LONGEST_KEY = 256;
const MOST_KEYS = 10;
const MOST_MEMBERS = 1_000;
const MOST_REASONS = 5;

/**
 * What an error body says, for a message: the title in the shapes that public clients read, without control characters, with
 * the key hidden, cut to 120 characters. Undefined for anything else, such as a web page.
 */
export function errorTitle(text: string, mask: KeyMask): string | undefined {
  try {
    return titleOf(JSON.parse(text), mask);
  } catch {
    return undefined;
  }
}

/** As `errorTitle`, of a body that has been parsed. */
export function titleOf(body: unknown, mask: KeyMask): string | undefined {
  const title = findTitle(body);
  if (title === undefined) return undefined;
  // A 401 echoes the key it was sent, which may be an older one than ours.
  const echoed = echoedKeys(body).map((key) => new KeyMask(key));
  // Upstream may show a part of the key that it was sent.
  const shown = [mask, ...echoed]
    .reduce((text, each) => each.hide(text), withoutControls(title.slice(0, LONGEST_READ)))
    .replace(KEY_LIKE, MASKED);
  return shown === '' ? undefined : Array.from(shown).slice(0, LONGEST_TITLE).join('');
}

/** Whether a body reports an error, which a status of 200 does not rule out. */
export function hasError(body: Json): boolean {
  const { error, errors } = body;
  return isGiven(error) || (Array.isArray(errors) ? errors.length > 0 : isObject(errors));
}

/** Null stands for no error, as a missing member does. */
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

/** The title says what failed ("The metric data could not be read"), the messages beside it say why. */
function reasonsIn(messages: unknown): string {
  if (!isList(messages)) return '';
  const texts = messages.slice(0, MOST_REASONS).filter((each) => typeof each === 'string');
  return texts.map((each) => each.slice(0, LONGEST_READ)).join('; ');
}

/** Of as many members as an honest error has, those that come first. */
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
function statusFailure(
  requested: URL,
  { status, headers }: RawResponse,
  title: string | undefined,
  overload: Overload | undefined,
): CallFailure {
  const reason = reasonOf(status);
  if (reason === 'redirect') {
    // The rest of the address may hold anything.
    const target = resolve(firstHeader(headers, 'location'), requested)?.origin;
    const words = `status ${status}, a redirect${target === undefined ? '' : ` to ${target}`}`;
    return new CallFailure(reason, words, { status });
  }
  const retriable = reason === 'server' && status !== 501 && overload === undefined;
  const words = `status ${status}${title === undefined ? '' : `: ${title}`}`;
  return new CallFailure(reason, words, { status, retriable, overload });
}

/** The most that a response may hold. What is beyond is not parsed: it would cost more memory and time than the body is long. */
export interface Bounds {
  /** As sent, and as unpacked. */
  readonly bytes: number;
  /** Objects, lists and their members, however deep. */
  readonly elements: number;
  /** The reader takes only numbers, under names that it has sent: no text of the response is shown, so no key is hidden in it. */
  readonly onlyNumbers?: true;
}

const MIB = 1024 * 1024;

/** By kind of response, some times as much as the widest that the service can mean (docs/errors.md). */
export const BOUNDS = {
  /** A page of a list, or one record: 200 applications with a few thousand hosts each. */
  list: { bytes: 8 * MIB, elements: 400_000 },
  /** 30 metrics with three hours of minutes. */
  metricData: { bytes: 4 * MIB, elements: 150_000, onlyNumbers: true },
  /** 5,000 rows. */
  query: { bytes: 16 * MIB, elements: 250_000 },
  /** Up to 50,000 rows of buckets; only commands read them. */
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
 * What a JSON text has too much of, told in one pass before it is parsed; undefined where it is within bounds. A text that is
 * no JSON may pass: parsing it fails.
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

/** Where the text that begins with a quote at `start` ends; the end of all where it does not. */
function endOfText(text: string, start: number): number {
  for (let end = start; ;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
}

/** Whether objects or lists are nested deeper than `levels` in a value that was parsed. */
function isNestedDeeper(value: Json | readonly unknown[], levels: number): boolean {
  if (levels === 0) return true;
  if (isList(value)) return value.some((each) => isObject(each) && isNestedDeeper(each, levels - 1));
  for (const name in value) {
    const member = value[name];
    if (isObject(member) && isNestedDeeper(member, levels - 1)) return true;
  }
  return false;
}

/**
 * The JSON object in the text of a response. Throws a CallFailure for anything else: `too_large` where it holds more elements
 * than the service could mean, else `invalid_response`.
 */
function parseObject(text: string, status: number, mask: KeyMask, { elements, onlyNumbers }: Bounds): Json {
  const invalid = (words: string): CallFailure => new CallFailure('invalid_response', words, { status });
  // Each element takes a character. In a short text only the nesting is left to check, which costs less once it is parsed.
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

/** The failure that a body reports by itself, which a status of 200 does not rule out. */
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

/** Of an error body, unpacked. */
const LONGEST_ERROR = 64 * 1024;

/** A good response: its JSON object, and the address that gave it. */
export interface JsonResponse {
  readonly body: Json;
  readonly address: URL;
  /** Of all its `Link` headers. */
  readonly link: string;
}

/** How the body of a response is read and judged, and when its call is made again. */
export interface ResponsePolicy {
  readonly bounds: Bounds;
  /**
   * Finds the failure that the body of a good status reports, if any; `mask` hides the key in what it says. Without it, every
   * body with an error is one.
   */
  readonly inspect?: (body: Json, status: number, mask: KeyMask) => CallFailure | undefined;
  /** As `inspect`, of the text of another status: a failure that says more than the status does. */
  readonly inspectRefusal?: (text: string, status: number, mask: KeyMask) => CallFailure | undefined;
  /**
   * Where it is true of a text, the call ends only when the body was read, for it may report an overload. Otherwise, and
   * without it, the place of the call is given back as soon as the response is there, and the next calls go out before it is
   * read.
   */
  readonly mayBeOverload?: (text: string) => boolean;
  /**
   * Which failures that may pass are tried again. `but_timeouts`: a call that timed out only for patient callers, because it
   * holds a place so long. `said_to_pass`: only what upstream itself calls passing; after anything else the caller asks for
   * less. `none`: the caller comes back later.
   */
  readonly retries: 'all' | 'but_timeouts' | 'transient' | 'none';
}

/** A response that has come in, and what was sent for it. */
export interface Sent {
  readonly address: URL;
  readonly raw: RawResponse;
  /** Unix milliseconds by the wall clock, which times in headers are compared with. */
  readonly receivedAt: number;
  readonly overload: Overload | undefined;
  /** Hides the key that was sent. */
  readonly mask: KeyMask;
}

/** The text of a good status. Throws the CallFailure that another status, and what its text says, stands for. */
export async function textOf(
  { address, raw, overload, mask }: Sent,
  { bounds, inspectRefusal }: ResponsePolicy,
): Promise<string> {
  if (isGood(raw.status)) return decodeText(raw, bounds.bytes);
  const text = await decodeText(raw, LONGEST_ERROR).catch(() => '');
  throw inspectRefusal?.(text, raw.status, mask) ?? statusFailure(address, raw, errorTitle(text, mask), overload);
}

/** The response in the text of a good status. Throws the CallFailure that its body reports. */
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
