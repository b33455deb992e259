import type { Document } from './documents.ts';
import { WRONG_SERVER_REMEDY, readTitle } from '../http/response.ts';
import { isList, isObject, readPath, type Json } from '../http/validation.ts';
import { CallFailure, type FailureReason } from '../upstreamError.ts';
import { removeQuotations } from '../../nrql/quotations.ts';

/** Failures by the meaning of an error, most serious first. The most serious error of a body decides. */
const MEANINGS = {
  auth: { reason: 'auth' },
  forbidden: { reason: 'forbidden', isAnswer: true },
  rate_limited: { reason: 'rate_limited', overload: { waitMs: undefined } },
  /** The request or its result is too big. The caller requests less at a time. */
  too_big: { reason: 'too_large', isAnswer: true },
  timeout: { reason: 'timeout', retriable: true },
  server: { reason: 'server', retriable: true },
  /** None of the requested applications has data. */
  unmatched: { reason: 'invalid_response' },
  /** New Relic refuses the query. */
  other: { reason: 'other', isAnswer: true },
  invalid_response: { reason: 'invalid_response' },
} as const satisfies Record<string, { readonly reason: FailureReason } & ConstructorParameters<typeof CallFailure>[2]>;

export type Meaning = keyof typeof MEANINGS;

const CHARTS = 'the page "Troubleshooting chart errors"';
const CLIENT = 'newrelic-client-go, errors it retries';

/**
 * Meanings of errors. The first row that fits an error decides. Rows with exact codes come before words; rows that fit
 * many errors come last. `database` is a code of the database behind NRQL, in `extensions` or in the message. A
 * `classification` says too little, so the message must also match `and`. Quotations from a query are cut out of the
 * message before `words` are compared. `source` names evidence that New Relic returns the error.
 */
export const TABLE: readonly ({ readonly meaning: Meaning; readonly source: string } & (
  | { readonly database: string }
  | { readonly classification: string; readonly and: RegExp }
  | { readonly code: string }
  | { readonly begins: RegExp }
  | { readonly words: RegExp }
))[] = [
  {
    begins: /^\s*NRQL Syntax Error/i,
    meaning: 'other',
    source: `${CHARTS}; such a message repeats words of the query`,
  },
  { database: 'NRDB:1107005', meaning: 'other', source: 'public reports: a refused query, of class SERVER_ERROR' },
  { database: 'NRDB:1106924', meaning: 'rate_limited', source: 'public programs: limit of queries' },
  { database: 'NRDB:1101002', meaning: 'timeout', source: 'public programs: query duration' },
  {
    classification: 'DataFetchingException',
    and: /permission|authori[sz]|access|capability|\bkey\b/i,
    meaning: 'forbidden',
    source: 'CodeStream, getInsufficientApiKeyError; public reports of missing capabilities',
  },
  { code: 'BAD_API_KEY', meaning: 'auth', source: 'newrelic-client-go, internal/http/graphql.go' },
  { code: 'ACCESS_DENIED', meaning: 'forbidden', source: 'CodeStream' },
  { code: 'FORBIDDEN', meaning: 'forbidden', source: 'CodeStream' },
  { code: 'TOO_MANY_REQUESTS', meaning: 'rate_limited', source: CLIENT },
  { code: 'TIMEOUT', meaning: 'timeout', source: 'newrelic-client-go; nr-reports, issue 8' },
  { code: 'SERVER_ERROR', meaning: 'server', source: CLIENT },
  { code: 'INTERNAL_SERVER_ERROR', meaning: 'server', source: CLIENT },
  { words: /unknown function|syntax error/i, meaning: 'other', source: `${CHARTS}; public reports` },
  {
    words: /too big|due to complexity|characters exceeded/i,
    meaning: 'too_big',
    source: 'nr1-cloud-optimize, issue 17; the page of NRQL on LIMIT MAX',
  },
  { words: /not authorized|access denied/i, meaning: 'forbidden', source: CHARTS },
  {
    words: /query limit|too many concurrent|too many requests|maximum number of requests/i,
    meaning: 'rate_limited',
    source: 'the pages of rate limits of NRQL and of NerdGraph',
  },
  { words: /exceeded the set timeout/i, meaning: 'timeout', source: 'argo-rollouts, issue 3741' },
  { words: /no application was matched/i, meaning: 'unmatched', source: CHARTS },
  {
    words:
      /timed out or we're under heavy load|something went wrong while executing|short-circuited|error occurred resolving this field/i,
    meaning: 'server',
    source: CHARTS,
  },
  { code: 'INVALID_INPUT', meaning: 'other', source: 'CodeStream: the query was not liked' },
  { words: /execution resulted in 400/i, meaning: 'other', source: CHARTS },
  { words: /nrql|syntax|query|NRDB:/i, meaning: 'other', source: 'our reading: a complaint about the query' },
];

/** The codes and classifications that the table knows. */
export const KNOWN_CODES: readonly string[] = TABLE.flatMap((row) => {
  if ('database' in row) return [row.database];
  if ('classification' in row) return [row.classification];
  return 'code' in row ? [row.code] : [];
});

/** Members of `extensions` that may contain a code, most precise first. */
const CODES = ['errorClass', 'errorCode', 'error_code', 'code', 'classification'] as const;
const DEPRECATED = 'This field is deprecated';
/** Limits for the errors of a body, and for their length. A hostile body must not take long to read. */
const MAX_ERRORS = 100;
const LONGEST_WORDS = 1_000;
const LONGEST_CODE = 60;

/** Finds the most serious error in a body with status 200; undefined for a good body. */
export function judge(
  body: Json,
  status: number,
  { root, list }: Omit<Document, 'text'>,
): { readonly meaning: Meaning; readonly failure: CallFailure } | undefined {
  const errors = errorsOf(body);
  const missing = findMissing(body, root);
  const listPath = list === undefined ? root : [...root, ...list];
  const isPartial = list !== undefined && findMissing(body, listPath) === undefined;
  // An error about the account counts at any path. Other errors below a readable list make only a field null.
  const isAccountError = (error: unknown): boolean => ['auth', 'rate_limited'].includes(meaningOf(error));
  const serious = errors.filter((error) => !isPartial || !isBelow(error, listPath) || isAccountError(error));
  const order = Object.keys(MEANINGS);
  const [decisive] = serious.toSorted((a, b) => order.indexOf(meaningOf(a)) - order.indexOf(meaningOf(b)));
  if (serious.length > 0) return makeVerdict(decisive, status);
  if (missing === undefined) return undefined;
  // A GraphQL response has `data` or errors; a body with neither is not from New Relic.
  const words = `the response has no "${missing}"${'data' in body ? '' : `: ${WRONG_SERVER_REMEDY}`}`;
  const failure = new CallFailure('invalid_response', words, { status, isAnswer: missing === 'nrql' });
  return { meaning: 'invalid_response', failure };
}

/** Failed fields of the records of a list. Null in a failed field means unknown, not absent. */
export interface FailedFields {
  readonly failure: CallFailure;
  /** Names of the failed fields, by the index of their record in the list. */
  readonly fields: ReadonlyMap<number, ReadonlySet<string>>;
}

/** Finds the fields of the records at `listPath` that a response reports as failed; undefined if none failed. */
export function readFailedFields(body: Json, status: number, listPath: readonly string[]): FailedFields | undefined {
  const first = errorsOf(body).find((error) => isBelow(error, listPath));
  if (first === undefined) return undefined;
  const fields = new Map<number, Set<string>>();
  // Reads beyond `MAX_ERRORS`, because each of thousands of records may lack a field.
  for (const error of isList(body['errors']) ? body['errors'] : []) {
    const [index, field] = isBelow(error, listPath) ? pathOf(error).slice(listPath.length) : [];
    if (isDeprecation(error) || typeof index !== 'number' || typeof field !== 'string') continue;
    fields.set(index, (fields.get(index) ?? new Set()).add(field));
  }
  return { failure: makeVerdict(first, status).failure, fields };
}

/** False for a body that cannot report an overload: no member `error` or `errors`, not even with an escaped name. */
export function mayReportError(text: string): boolean {
  return text.includes('"error') || text.includes('\\u00');
}

/** Finds an invalid key in the body of a refused call. Undefined for status 403, which decides alone. */
export function findBadKey(body: unknown, status: number): CallFailure | undefined {
  if (status === 403 || !isObject(body)) return undefined;
  const bad = errorsOf(body).find((error) => meaningOf(error) === 'auth');
  return bad === undefined ? undefined : makeVerdict(bad, status).failure;
}

function makeVerdict(error: unknown, status: number): NonNullable<ReturnType<typeof judge>> {
  const meaning = meaningOf(error);
  // A code such as TIMEOUT says more than its message, "An error occurred".
  const [code] = codesOf(error);
  const parts = [code, readTitle({ errors: [error] })].filter((part) => part !== undefined);
  const words = `status ${status} with an error: ${parts.length === 0 ? 'it has no message' : parts.join(': ')}`;
  const { reason, ...circumstances } = MEANINGS[meaning];
  return { meaning, failure: new CallFailure(reason, words, { ...circumstances, status, code }) };
}

function meaningOf(error: unknown): Meaning {
  const codes = codesOf(error);
  const message = wordsOf(error);
  const words = removeQuotations(message);
  const { classification } = extensionsOf(error);
  const found = TABLE.find((row) => {
    if ('database' in row) return codes.includes(row.database) || words.includes(row.database);
    if ('classification' in row) return classification === row.classification && row.and.test(words);
    if ('begins' in row) return row.begins.test(message);
    return 'code' in row ? codes.includes(row.code) : row.words.test(words);
  });
  return found?.meaning ?? 'invalid_response';
}

/** Returns the errors of a body, without deprecations of good data. `errors` that is no list is one error. */
function errorsOf(body: Json): readonly unknown[] {
  const lists = [body['errors'], body['error']].map((each) => [each ?? []].flat().slice(0, MAX_ERRORS));
  return lists.flat().filter((error) => !isDeprecation(error));
}

function isDeprecation(error: unknown): boolean {
  return wordsOf(error).startsWith(DEPRECATED);
}

function codesOf(error: unknown): readonly string[] {
  const extensions = extensionsOf(error);
  const codes = CODES.map((name) => extensions[name]).filter((code) => typeof code === 'string');
  return codes.filter((code) => code.length <= LONGEST_CODE && /^[\w:.-]+$/.test(code));
}

function extensionsOf(error: unknown): Json {
  const extensions = isObject(error) ? error['extensions'] : undefined;
  return isObject(extensions) ? extensions : {};
}

function wordsOf(error: unknown): string {
  const words = isObject(error) ? error['message'] : error;
  return typeof words === 'string' ? words.slice(0, LONGEST_WORDS) : '';
}

function isBelow(error: unknown, root: readonly string[]): boolean {
  const path = pathOf(error);
  return path.length > root.length && root.every((name, index) => path[index] === name);
}

function pathOf(error: unknown): readonly unknown[] {
  const path = readPath(error, ['path']);
  return isList(path) ? path : [];
}

function findMissing(body: Json, root: readonly string[]): string | undefined {
  const path = ['data', ...root];
  return path.find((_, index) => !isObject(readPath(body, path.slice(0, index + 1))));
}
