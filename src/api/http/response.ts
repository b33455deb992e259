import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { firstHeader, resolve, toUrl, type Address, type RawResponse, type ResponseHeaders } from './exchange.ts';
import { isObject, isList, type Json } from './validation.ts';
import { CallFailure, type FailureReason, type Overload } from '../upstreamError.ts';
import { KEY_LIKE, MASKED } from '../../log/secrets.ts';
import { cutAtWord } from '../../text/wording.ts';

/** Limits that are checked before parsing: it can take far more memory and time than the length suggests. */
export interface Bounds {
  /** Limit for the body, compressed and uncompressed. */
  readonly bytes: number;
  /** Limit for the objects, lists and their members together, at any depth. */
  readonly elements: number;
  /** Set for frequent small responses: short texts skip the check, because their nesting does no harm. */
  readonly mostlyShort?: true;
}

const MIB = 1024 * 1024;

/** Limits by kind of response, several times above the largest genuine response (docs/errors.md). */
export const BOUNDS = {
  /** Enough for a page of a list or one record: 200 applications with a few thousand hosts each. */
  list: { bytes: 8 * MIB, elements: 400_000 },
  metricData: { bytes: 4 * MIB, elements: 150_000, mostlyShort: true },
  query: { bytes: 16 * MIB, elements: 250_000 },
  /** Enough for 50,000 rows of buckets, which only commands read. */
  series: { bytes: 16 * MIB, elements: 1_000_000 },
} as const satisfies Record<string, Bounds>;

const unzip = promisify(gunzip);

/** Decodes a body, and empties the response, because several responses may wait. Rejects with a CallFailure. */
export async function decodeText(response: RawResponse, maxBytes: number): Promise<string> {
  const { status, headers, body } = response;
  response.body = Buffer.alloc(0);
  const encoding = (firstHeader(headers, 'content-encoding') ?? '').toLowerCase();
  if (encoding === '' || encoding === 'identity') return body.toString('utf8');
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw new CallFailure('invalid_response', 'the response has an encoding that was not requested', { status });
  }
  try {
    return (await unzip(body, { maxOutputLength: maxBytes })).toString('utf8');
  } catch (error) {
    throw error instanceof RangeError
      ? new CallFailure('too_large', `the response is larger than ${maxBytes} bytes`, { status })
      : new CallFailure('invalid_response', 'the response cannot be decompressed', { status });
  }
}

/** Status for a call that the account's plan or an exhausted compute limit refuses. */
const PAYMENT_REQUIRED = 402;

/**
 * Returns the overload that a response reports: 429, 503 with `Retry-After`, or 402 (docs/errors.md, "Pauses"), which
 * may last for a day or a month. `now` is Unix milliseconds, also below.
 */
export function findOverload(status: number, headers: ResponseHeaders, now: number): Overload | undefined {
  if (status === PAYMENT_REQUIRED) return { waitMs: undefined };
  if (status !== 429 && !(status === 503 && firstHeader(headers, 'retry-after') !== undefined)) return undefined;
  return readAnnouncedOverload(headers, now);
}

/** The longest announced time counts. */
function readAnnouncedOverload(headers: ResponseHeaders, now: number): Overload {
  const times = [
    parseRetryAfter(firstHeader(headers, 'retry-after'), now),
    1000 * parseDecimal(firstHeader(headers, 'x-ratelimit-reset')),
    1000 * parseDecimal(firstHeader(headers, 'newrelic-overloadprotection-reset')),
  ].filter((time) => time > now);
  return { waitMs: times.length === 0 ? undefined : Math.max(...times) - now };
}

function parseRetryAfter(text = '', now: number): number {
  const seconds = parseDecimal(text);
  if (!Number.isNaN(seconds)) return now + seconds * 1000;
  // All three date formats of HTTP are in GMT, but the asctime format does not say so.
  return Date.parse(/GMT|UTC|[+-]\d{4}$/.test(text) ? text : `${text} GMT`);
}

function parseDecimal(text = ''): number {
  return /^\d{1,12}(\.\d+)?$/.test(text) ? Number(text) : NaN;
}

const BY_STATUS: Readonly<Record<number, FailureReason>> = {
  401: 'auth',
  403: 'forbidden',
  404: 'not_found',
  429: 'rate_limited',
};

function reasonOf(status: number): FailureReason {
  if (status >= 500) return 'server';
  return BY_STATUS[status] ?? (status >= 300 && status < 400 ? 'redirect' : 'other');
}

const REFUSALS: ReadonlySet<number> = new Set([400, 403, 404, 422]);

const USED_UP =
  "the account's plan, or a compute limit of the key's user, refuses the call; see New Relic's page Compute Budgets";

function explainStatus(
  { address, status, headers }: ReceivedResponse,
  title: string | undefined,
  overload: Overload | undefined,
): CallFailure {
  const reason = reasonOf(status);
  if (reason === 'redirect') {
    // Show only the origin: the rest of the address may contain secrets.
    const target = resolve(firstHeader(headers, 'location'), toUrl(address))?.origin;
    const words = `status ${status}, a redirect${target === undefined ? '' : ` to ${target}`}`;
    return new CallFailure(reason, words, { status });
  }
  // 501 means "not supported".
  const retriable = reason === 'server' && status !== 501 && overload === undefined;
  const isUsedUp = status === PAYMENT_REQUIRED;
  const words = [`status ${status}`, title ?? [], isUsedUp ? USED_UP : []].flat().join(': ');
  // A title means New Relic's own error: a proxy sends another form, or a web page.
  const isAnswer = title !== undefined && REFUSALS.has(status);
  return new CallFailure(reason, words, { status, retriable, overload, isAnswer, isLasting: isUsedUp });
}

/** Returns the failure that a body with a good status reports. */
function findBodyFailure(body: Json, status: number): CallFailure | undefined {
  const { error, errors } = body;
  const isInList = isList(errors) ? errors.length > 0 : isObject(errors);
  if ((error ?? undefined) === undefined && !isInList) return undefined;
  const title = readTitle(body);
  const words = `status ${status} with an error in its body${title === undefined ? '' : `: ${title}`}`;
  return new CallFailure('invalid_response', words, { status });
}

/** The remedy for a response that is not a JSON object. Every response of New Relic is a JSON object. */
export const WRONG_SERVER_REMEDY = 'check what answers instead of New Relic, for example a proxy';

function describeNotJson(text: string): string {
  const start = text.trimStart();
  const fault = start === '' ? 'is empty' : start.startsWith('<') ? 'is a web page, not JSON' : 'is not JSON';
  return `the response ${fault}: ${WRONG_SERVER_REMEDY}`;
}

const LONGEST_ERROR = 64 * 1024;

export interface JsonResponse {
  /** Readers empty a large body: promises of the call may keep it until a full garbage collection. */
  body: Json;
  readonly origin: string;
  /** All `Link` headers, joined. */
  readonly link: string;
}

export interface ResponsePolicy {
  readonly bounds: Bounds;
  /** Finds the failure that a body with a good status reports. By default any error is a failure. */
  readonly inspect?: (body: Json, status: number) => CallFailure | undefined;
  /** Like `inspect` for any other status: finds a failure that says more than the status. */
  readonly inspectRefusal?: (body: unknown, status: number) => CallFailure | undefined;
  /** True for a text that may report an overload. Its place is free only after parsing. */
  readonly mayBeOverload?: (text: string) => boolean;
  /**
   * Selects the failures to retry. `all`: every retriable failure. `but_timeouts`: timeouts only for patient callers,
   * because a timeout holds a place for long. `none`: the caller itself tries again later, or requests less.
   */
  readonly retries: 'all' | 'but_timeouts' | 'none';
}

export interface ReceivedResponse extends RawResponse {
  readonly address: Address;
  /** Unix milliseconds of the wall clock, for comparison with times in headers. */
  readonly receivedAt: number;
}

/** Returns the failure of a response without a good status. A readable body adds to the message. */
export async function readRefusal(
  response: ReceivedResponse,
  { inspectRefusal }: ResponsePolicy,
  overload: Overload | undefined,
): Promise<CallFailure> {
  const { status } = response;
  let body: unknown;
  try {
    const text = await decodeText(response, LONGEST_ERROR);
    if (findExceededLimit(text, Infinity) === undefined) body = JSON.parse(text);
  } catch {
    // The status alone is enough.
  }
  return inspectRefusal?.(body, status) ?? explainStatus(response, readTitle(body), overload);
}

/** Parses the text of a response with a good status. Throws a CallFailure for anything but a good JSON object. */
export function parseResponse(
  { address, status, headers, receivedAt }: ReceivedResponse,
  text: string,
  { bounds, inspect = findBodyFailure }: ResponsePolicy,
): JsonResponse {
  const invalid = (words: string): CallFailure => new CallFailure('invalid_response', words, { status });
  const { elements, mostlyShort } = bounds;
  const tooMuch = mostlyShort === true && text.length <= SHORT_TEXT ? undefined : findExceededLimit(text, elements);
  if (tooMuch !== undefined) {
    const limit = tooMuch === 'nesting' ? `is nested deeper than ${MAX_NESTING}` : `has more than ${elements} elements`;
    throw new CallFailure('too_large', `the response ${limit}`, { status });
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw invalid(describeNotJson(text));
  }
  if (!isObject(body) || isList(body)) throw invalid(`the response is not a JSON object: ${WRONG_SERVER_REMEDY}`);
  const failure = inspect(body, status);
  if (failure?.circumstances.overload !== undefined) {
    const overload = readAnnouncedOverload(headers, receivedAt);
    throw new CallFailure(failure.reason, failure.message, { status, overload });
  }
  if (failure !== undefined) throw failure;
  return { body, origin: address.origin, link: [headers['link'] ?? []].flat().join(', ') };
}

/** Length in characters below which parsing takes at most a millisecond, at any nesting. */
const SHORT_TEXT = 16 * 1024;
/** Limit for the nesting. New Relic's own responses are nested 12 deep. */
const MAX_NESTING = 32;

/** Returns the limit that a JSON text exceeds, without parsing it. Text that is not JSON may pass. */
function findExceededLimit(text: string, elements: number): 'nesting' | 'elements' | undefined {
  let depth = 0;
  let found = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charAt(index)) {
      case '"':
        index = findStringEnd(text, index);
        break;
      case '[':
      case '{':
        depth += 1;
        found += 1;
        if (depth > MAX_NESTING) return 'nesting';
        break;
      case ']':
      case '}':
        depth -= 1;
        break;
      case ',':
        found += 1;
        if (found > elements) return 'elements';
        break;
    }
  }
  return undefined;
}

/** Returns the position of the quote that closes the string at `start`, or the end of the text. */
function findStringEnd(text: string, start: number): number {
  for (let end = start; ;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return end;
  }
}

const LONGEST_TITLE = 120;
/** Limits for a hostile body, in characters and reasons, far above any genuine error. */
const LONGEST_READ = 10_000;
const MAX_REASONS = 5;

/** Returns the title of a parsed error body, cut to 120 characters. Public clients show the shapes. */
export function readTitle(body: unknown): string | undefined {
  const title = findTitle(body).slice(0, LONGEST_READ).replace(/\s+/g, ' ').replace(/\p{C}/gu, '').trim();
  // New Relic may quote a part of the received key.
  return cutAtWord(title.replace(KEY_LIKE, MASKED), LONGEST_TITLE) || undefined;
}

/** Finds the first error that has a title, or messages beside it. The title says what failed; the messages say why. */
function findTitle(body: unknown): string {
  if (!isObject(body)) return '';
  for (const error of [body['error'], isList(body['errors']) ? body['errors'][0] : undefined]) {
    if (typeof error === 'string') return error;
    if (!isObject(error)) continue;
    const title = error['title'] ?? error['message'];
    const messages = isList(error['messages']) ? error['messages'].slice(0, MAX_REASONS) : [];
    const texts = messages.filter((each) => typeof each === 'string').map((each) => each.slice(0, LONGEST_READ));
    const parts = [typeof title === 'string' ? title : '', texts.join('; ')].filter((part) => part !== '');
    if (parts.length > 0) return parts.join(': ');
  }
  return '';
}
