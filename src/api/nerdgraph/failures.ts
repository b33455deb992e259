import { CallFailure } from '../http/callFailure.ts';
import { titleOf } from '../http/body.ts';
import type { KeyMask } from '../http/keyMask.ts';
import { isList, isObject } from '../http/jsonShape.ts';
import type { FailureReason } from '../types.ts';

type Body = Readonly<Record<string, unknown>>;

/** What an error of a body means; `too_big` is a complaint about the size of a query or of its result. */
type Kind = Extract<FailureReason, 'auth' | 'forbidden' | 'rate_limited' | 'timeout' | 'server'> | 'too_big' | 'other';

/** The most serious first: of several errors in one body it decides. */
const KINDS = ['auth', 'forbidden', 'rate_limited', 'too_big', 'timeout', 'server', 'other'] as const;

/** Of the codes of an error. */
const BY_CODE: Readonly<Record<string, Kind>> = {
  BAD_API_KEY: 'auth',
  ACCESS_DENIED: 'forbidden',
  FORBIDDEN: 'forbidden',
  TOO_MANY_REQUESTS: 'rate_limited',
  TIMEOUT: 'timeout',
  SERVER_ERROR: 'server',
  INTERNAL_SERVER_ERROR: 'server',
};

/**
 * Of the words of an error. No public source tells how the service words its query limit (`NRDB:1106924` is second-hand)
 * or the limits of length, so these match widely.
 */
const BY_WORDS: readonly (readonly [RegExp, Kind])[] = [
  [/not authorized|access denied/i, 'forbidden'],
  // Of so many queries, not of what one query may be or ask for.
  [
    /NRDB:1106924|(quer(y|ies)|rate|request)[- ]limit|quer(y|ies) ((count|rate|usage|volume|quota|per|a|minute|account) ){1,4}limit|too many (quer|request)/i,
    'rate_limited',
  ],
  [/limit (of|on|for) (?!.*(bucket|facet|row|result|character)).*quer/i, 'rate_limited'],
  [/too (big|large|long)|(size|length)\b.*\b(limit|max|exceed)|(limit|max|exceed)\w*\b.*\b(size|length)\b/i, 'too_big'],
  [/exceeded the set timeout/i, 'timeout'],
];

/** Which words say that the query itself was not liked. */
const COMPLAINT = /nrql|syntax|query|NRDB:/i;
const DEPRECATED = 'This field is deprecated';

/**
 * The failure that the body of an answer reports.
 *
 * @param root where in `data` the part stands without which the answer is useless, such as `['actor', 'account', 'nrql']`.
 * An error whose path leads below it concerns a field only, which is null then.
 * @param needed further on the way, what is not there or failed makes errors count; undefined: all of them count
 */
export function failureOf(
  body: Body,
  status: number,
  mask: KeyMask,
  root: readonly string[],
  needed: readonly string[] | undefined,
): CallFailure | undefined {
  const errors = errorsOf(body);
  const missing = missingAt(body, root);
  const way = [...root, ...(needed ?? [])];
  const isPartial = needed !== undefined && missingAt(body, way) === undefined;
  const serious = errors.filter((error) => !isPartial || !isBelow(error, way));
  const kind = KINDS.find((each) => errors.some((error) => kindOf(error) === each));
  const wholeAccount = kind === 'auth' || kind === 'rate_limited';
  if (kind !== undefined && (serious.length > 0 || wholeAccount)) {
    const decisive = (serious.length > 0 ? serious : errors).find((error) => kindOf(error) === kind) ?? serious[0];
    if (decisive !== undefined) return failure(kindOf(decisive), decisive, status, mask);
  }
  return missing === undefined
    ? undefined
    : new CallFailure('invalid_response', `the answer has no "${missing}"`, { status });
}

/**
 * False for a text without the member `error` or `errors`, however it is escaped: all that `failureOf` can find in it is that
 * something is missing. Told before the text is parsed.
 */
export function mayReportError(text: string): boolean {
  return text.includes('"error') || text.includes('\\u00');
}

/** A bad key is told from other refusals by its code, whatever the status. Undefined: the status says it all. */
export function badKeyOf(text: string, status: number, mask: KeyMask): CallFailure | undefined {
  if (!text.includes('BAD_API_KEY')) return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const bad = isObject(body) ? errorsOf(body).find((error) => kindOf(error) === 'auth') : undefined;
  return bad === undefined ? undefined : failure('auth', bad, status, mask);
}

/** A complaint about size or length: asking for less helps. */
export class TooBig extends CallFailure {}

function failure(kind: Kind, error: unknown, status: number, mask: KeyMask): CallFailure {
  const title = titleOf({ errors: [error] }, mask);
  const words = `status ${status} with an error in its body${title === undefined ? '' : `: ${title}`}`;
  switch (kind) {
    case 'auth':
    case 'forbidden':
      return new CallFailure(kind, words, { status });
    case 'rate_limited':
      return new CallFailure(kind, words, { status, overload: { waitMs: undefined } });
    case 'timeout':
    case 'server':
      return new CallFailure(kind, words, { status, retriable: true });
    case 'too_big':
      return new TooBig('invalid_response', words, { status });
    case 'other':
      return new CallFailure(isComplaint(error) ? 'other' : 'invalid_response', words, { status });
  }
}

/** All errors but those that come with good data. An `errors` that is no list is one error. */
function errorsOf(body: Body): readonly unknown[] {
  const errors = body['errors'] ?? undefined;
  const list = isList(errors) ? errors : errors === undefined ? [] : [errors];
  const alone = body['error'] ?? undefined;
  return [...list, ...(alone === undefined ? [] : [alone])].filter((error) => !wordsOf(error).startsWith(DEPRECATED));
}

function kindOf(error: unknown): Kind {
  const byCode = codesOf(error).find((code) => Object.hasOwn(BY_CODE, code));
  const kind = byCode === undefined ? undefined : BY_CODE[byCode];
  if (kind !== undefined && kind !== 'server') return kind;
  const words = wordsOf(error);
  const byWords = BY_WORDS.find(([pattern]) => pattern.test(words))?.[1];
  // Calls after a query limit make it worse, whatever the class of the error.
  return kind === undefined || byWords === 'rate_limited' ? (byWords ?? 'other') : kind;
}

function isComplaint(error: unknown): boolean {
  return codesOf(error).includes('INVALID_INPUT') || COMPLAINT.test(wordsOf(error));
}

function codesOf(error: unknown): readonly string[] {
  const extensions = isObject(error) ? error['extensions'] : undefined;
  if (!isObject(extensions)) return [];
  return ['errorClass', 'errorCode', 'error_code', 'code', 'classification']
    .map((name) => extensions[name])
    .filter((code) => typeof code === 'string');
}

/** Only the beginning is looked at: a body may be made to be costly. */
function wordsOf(error: unknown): string {
  const words = isObject(error) ? error['message'] : error;
  return typeof words === 'string' ? words.slice(0, 1_000) : '';
}

function isBelow(error: unknown, root: readonly string[]): boolean {
  const path = isObject(error) ? error['path'] : undefined;
  return isList(path) && path.length > root.length && root.every((name, index) => path[index] === name);
}

/** The first member on the way to the root that is not there. */
function missingAt(body: Body, root: readonly string[]): string | undefined {
  let value: unknown = body['data'];
  if (!isObject(value)) return 'data';
  for (const name of root) {
    value = isObject(value) ? value[name] : undefined;
    if (!isObject(value)) return name;
  }
  return undefined;
}
