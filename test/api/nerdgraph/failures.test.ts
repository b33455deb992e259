import { describe, expect, it } from 'vitest';
import { findBadKey, judge, mayReportError, TABLE } from '../../../src/api/nerdgraph/failures.ts';

const ROOT = ['actor', 'account', 'nrql'];
const GOOD = { actor: { account: { nrql: { results: [] } } } };

const LIMIT = { errorCode: 'NRDB:1106924' };

const errors = (message: string, extensions?: unknown, path?: unknown): unknown[] => [{ message, extensions, path }];

describe('the body of a response', () => {
  it.each<[meaning: string, message: string, extensions?: unknown]>([
    ['auth', 'x', { error_code: 'BAD_API_KEY' }],
    ['auth', 'x', { errorClass: 'BAD_API_KEY' }],
    ['forbidden', 'x', { errorClass: 'ACCESS_DENIED' }],
    ['forbidden', 'x', { errorClass: 'FORBIDDEN' }],
    ['forbidden', 'Access denied.'],
    ['forbidden', 'You are not authorized to query account 7'],
    ['forbidden', 'You lack permission', { errorClass: 'SERVER_ERROR', classification: 'DataFetchingException' }],
    ['server', 'An error occurred', { errorClass: 'SERVER_ERROR', classification: 'DataFetchingException' }],
    ['rate_limited', 'x', { errorClass: 'TOO_MANY_REQUESTS' }],
    ['rate_limited', 'x', LIMIT],
    ['rate_limited', 'x', { ...LIMIT, errorClass: 'SERVER_ERROR' }],
    ['rate_limited', 'NRDB:1106924: limit'],
    ['rate_limited', 'You have exceeded the query limit'],
    ['rate_limited', 'Too many concurrent queries'],
    ['rate_limited', 'Exceeded maximum number of requests per minute'],
    ['server', 'The query limit of the account is reached', { errorClass: 'SERVER_ERROR' }],
    ['too_big', 'Query limit of 10000 characters exceeded'],
    ['too_big', 'The query may fail due to complexity', { errorClass: 'INVALID_INPUT' }],
    ['too_big', 'that query is a little too big. If using TIMESERIES, try fewer buckets'],
    ['other', 'TIMESERIES query supports a maximum of 366 buckets'],
    ['other', 'Syntax error in query near LIMIT'],
    ['rate_limited', 'API is receiving too many requests'],
    ['timeout', 'x', { errorClass: 'TIMEOUT' }],
    ['timeout', 'x', { errorCode: 'NRDB:1101002' }],
    ['timeout', 'NRDB query duration exceeded the set timeout'],
    ['server', 'x', { errorClass: 'SERVER_ERROR' }],
    ['server', 'x', { errorClass: 'INTERNAL_SERVER_ERROR' }],
    ['server', "Your query either timed out or we're under heavy load"],
    ['server', 'Something went wrong while executing your query', { errorClass: 'INVALID_INPUT' }],
    ['server', 'NerdGraphGetAuthorizedAccountsCommand short-circuited and fallback failed'],
    ['server', 'An error occurred resolving this field'],
    ['unmatched', 'No application was matched (did you specify appId, appName or entity.guid?)'],
    ['other', 'NRQL Syntax error: invalid query'],
    ['other', 'no', { errorClass: 'INVALID_INPUT' }],
  ])('gives %s: %s %j', (meaning, message, extensions) => {
    const verdict = judge({ errors: errors(message, extensions) }, 200, { root: ROOT });
    expect(verdict?.meaning).toBe(meaning);
    const { overload, retriable = false } = verdict!.failure.circumstances;
    expect(overload !== undefined).toBe(meaning === 'rate_limited');
    expect(retriable).toBe(['timeout', 'server'].includes(meaning));
  });

  /** Words of a user's query that would mean something else in a message of New Relic. */
  const QUOTED = [
    ...['key', 'access', 'permission', 'authorized', 'access denied', 'not authorized', 'query limit', 'too big'],
    ...[
      'too many requests',
      'exceeded the set timeout',
      'no application was matched',
      'short-circuited',
      'NRDB:1106924',
    ],
  ];

  /** Error codes of faults in a query. With the first two codes the words do not matter. */
  const EXTENSIONS: readonly [string, unknown][] = [
    ['the code of a refused query', { errorCode: 'NRDB:1107005', errorClass: 'SERVER_ERROR' }],
    ['that code alone', { errorCode: 'NRDB:1107005' }],
    ['a class that names none', { errorClass: 'INVALID_INPUT' }],
    ['no extensions', undefined],
  ];

  describe.each(EXTENSIONS)('with %s', (_, extensions) => {
    it.each([
      (quoted: string) => `NRQL Syntax Error: Error at line 1 position 15, unexpected '${quoted}'`,
      (quoted: string) => `NRQL Syntax Error: unexpected ${quoted}`,
      (quoted: string) => `Unknown function ${quoted.replaceAll(' ', '_')}()`,
      (quoted: string) => `Unknown function '${quoted}'`,
      (quoted: string) => `External Service 'NRDB' execution resulted in 400 - cause: no attribute "${quoted}"`,
      (quoted: string) => `Syntax error near \`${quoted}\``,
    ])('is a fault of the query, whatever words of it the message repeats', (wordsOf) => {
      for (const quoted of QUOTED) {
        const message = wordsOf(quoted);
        const verdict = judge({ errors: errors(message, extensions) }, 200, { root: ROOT });
        expect([message, verdict?.meaning]).toEqual([message, 'other']);
        expect(verdict?.failure.circumstances.retriable).toBeUndefined();
      }
    });
  });

  it.each(QUOTED)('is a fault of a function, also where fetching its data failed: %s', (quoted) => {
    const both = { errorCode: 'NRDB:1107005', errorClass: 'SERVER_ERROR', classification: 'DataFetchingException' };
    for (const message of [`Unknown function '${quoted}'`, `NRQL Syntax Error: ${quoted}`, quoted]) {
      const verdict = judge({ errors: errors(message, both) }, 200, { root: ROOT });
      expect([message, verdict?.meaning]).toEqual([message, 'other']);
    }
    const fetching = { classification: 'DataFetchingException' };
    const verdict = judge({ errors: errors(`Unknown function "${quoted}"`, fetching) }, 200, { root: ROOT });
    expect(verdict?.meaning).toBe('other');
  });

  it('may have apostrophes that are not quotes', () => {
    const message = "We're sorry, but that query is a little too big. It's limited";
    expect(judge({ errors: errors(message) }, 200, { root: ROOT })?.meaning).toBe('too_big');
  });

  it.each<[string, Record<string, unknown>, string | undefined]>([
    ['is good without errors', { data: GOOD }, undefined],
    ['is good with an empty list of errors', { data: GOOD, errors: [] }, undefined],
    [
      'is good with the note that a field is deprecated',
      { data: GOOD, errors: errors('This field is deprecated! Use x') },
      undefined,
    ],
    [
      'is bad with such a note and another error',
      { data: GOOD, errors: [...errors('This field is deprecated!'), ...errors('odd')] },
      'invalid_response',
    ],
    ['is bad without data', {}, 'invalid_response'],
    ['is bad where the actor is null', { data: { actor: null } }, 'invalid_response'],
    ['is bad where the account is null', { data: { actor: { account: null } } }, 'invalid_response'],
    ['is bad where the query is null', { data: { actor: { account: { nrql: null } } } }, 'invalid_response'],
    ['does not know any other error', { data: GOOD, errors: errors('odd', { errorClass: 'ODD' }) }, 'invalid_response'],
    ['has an error that is a text', { data: GOOD, errors: ['odd'] }, 'invalid_response'],
    ['has errors that are an object', { data: GOOD, errors: { message: 'odd' } }, 'invalid_response'],
    [
      'has the most serious of several errors',
      { errors: [...errors('x', { errorClass: 'TIMEOUT' }), ...errors('x', { error_code: 'BAD_API_KEY' })] },
      'auth',
    ],
    [
      'has an error deep in a query, which counts as one of the query',
      { data: GOOD, errors: errors('x', { errorClass: 'TIMEOUT' }, [...ROOT, 'otherResult']) },
      'timeout',
    ],
  ])('%s', (_, body, meaning) => {
    expect(judge(body, 200, { root: ROOT })?.meaning).toBe(meaning);
  });

  it.each<[string, Record<string, unknown>, boolean]>([
    ['without data and errors', { message: 'Forbidden' }, true],
    ['whose data are null', { data: null }, false],
    ['whose actor is null', { data: { actor: null } }, false],
  ])('%s comes from New Relic or from something else', (_, body, isForeign) => {
    const { failure } = judge(body, 200, { root: ROOT })!;
    expect(failure.message.includes('instead of New Relic')).toBe(isForeign);
  });

  it('is compared with patterns that each have a source', () => {
    expect(TABLE.filter(({ source }) => source.length < 10)).toEqual([]);
  });

  it('appears with its error class, which says more than its message', () => {
    const body = { errors: errors('An error occurred', { errorClass: 'TIMEOUT' }) };
    expect(judge(body, 200, { root: ROOT })?.failure.message).toBe(
      'status 200 with an error: TIMEOUT: An error occurred',
    );
  });

  it('is searched for errors up to the hundredth', () => {
    const many = Array.from({ length: 100 }, () => 0);
    const judged = (list: unknown[]) => judge({ data: GOOD, errors: list }, 200, { root: ROOT });
    const denied = errors('x', { errorClass: 'ACCESS_DENIED' });
    expect(judged([...many.slice(1), ...denied])?.meaning).toBe('forbidden');
    expect(judged([...many, ...denied])?.meaning).toBe('invalid_response');
  });

  const SEARCH = ['actor', 'entitySearch'];
  const LISTED = { root: SEARCH, list: ['results', 'entities'] };
  const listed = { actor: { entitySearch: { count: 1, results: { entities: [{ apmSummary: null }] } } } };
  const below = [...SEARCH, 'results', 'entities', 0, 'apmSummary'];

  it.each<[string, unknown, string | undefined]>([
    ['a field below, which fails only itself', errors('x', { errorClass: 'TIMEOUT' }, below), undefined],
    ['a field that the key may not see', errors('Access denied', { errorClass: 'ACCESS_DENIED' }, below), undefined],
    ['the search that the key may not make', errors('x', { errorClass: 'ACCESS_DENIED' }, SEARCH), 'forbidden'],
    ['the search itself', errors('x', { errorClass: 'TIMEOUT' }, SEARCH), 'timeout'],
    ['nothing that it names', errors('x', { errorClass: 'SERVER_ERROR' }), 'server'],
    ['an overload, which is the account’s', errors('x', { errorClass: 'TOO_MANY_REQUESTS' }, below), 'rate_limited'],
    ['another alias', errors('x', undefined, ['actor', 'other', 'x']), 'invalid_response'],
    [
      'a field below with an overload, beside one of no class that concerns nothing',
      [...errors('x', { errorClass: 'TOO_MANY_REQUESTS' }, below), ...errors('foo')],
      'rate_limited',
    ],
    [
      'a field below that the key may not see, beside two that concern nothing',
      [
        ...errors('x', { errorClass: 'ACCESS_DENIED' }, below),
        ...errors('foo'),
        ...errors('x', { errorClass: 'TIMEOUT' }),
      ],
      'timeout',
    ],
  ])('of entities may have an error for %s', (_, list, reason) => {
    expect(judge({ data: listed, errors: list }, 200, LISTED)?.failure.reason).toBe(reason);
  });

  it.each<[string, Record<string, unknown>, string, string | undefined]>([
    ['a timeout', { results: null }, 'TIMEOUT', 'timeout'],
    ['an error of the server', { results: null }, 'SERVER_ERROR', 'server'],
    ['a refusal', { results: { entities: null } }, 'ACCESS_DENIED', 'forbidden'],
    ['a timeout, beside the entities', { results: { entities: [] } }, 'TIMEOUT', 'timeout'],
  ])('without its entities fails for the reason of the error: %s', (_, entitySearch, errorClass, reason) => {
    const body = {
      data: { actor: { entitySearch } },
      errors: errors('x', { errorClass }, [...SEARCH, 'results']),
    };
    expect(judge(body, 200, LISTED)?.failure.reason).toBe(reason);
  });

  it.each([
    ['the results are null', { results: null }],
    ['the entities are null', { results: { entities: null } }],
  ])('whose list is null fails for the reason of the error further down: %s', (_, entitySearch) => {
    const body = { data: { actor: { entitySearch } }, errors: errors('x', { errorClass: 'TIMEOUT' }, below) };
    expect(judge(body, 200, LISTED)?.failure.reason).toBe('timeout');
  });

  it('never shows text in the form of a key', () => {
    const message = 'bad key NRAK-0123456789ABCDEFGHIJ and NRAK-OLDOLDOLDOLD';
    const body = { errors: [{ message, extensions: { api_key: 'NRAK-OLDOLDOLDOLD' } }] };
    const verdict = judge(body, 200, { root: ROOT });
    expect(verdict?.failure.message).not.toMatch(/0123456789|OLDOLD/);
  });

  it('with another status gives a reason beyond the status only for a bad key', () => {
    const badKey = { errors: [{ message: 'x', extensions: { error_code: 'BAD_API_KEY' } }] };
    expect([400, 500, 403].map((status) => findBadKey(badKey, status)?.reason)).toEqual(['auth', 'auth', undefined]);
    expect(findBadKey({ errors: [{ message: 'BAD_API_KEY' }] }, 400)).toBeUndefined();
    expect(findBadKey(undefined, 500)).toBeUndefined();
    expect(findBadKey({ errors: [{ message: 'x' }] }, 403)).toBeUndefined();
  });
});

describe('the unparsed text of a response', () => {
  it.each([
    ['a list of errors', '{"errors":[{"message":"x"}]}'],
    ['one error', '{"error":{"title":"x"}}'],
    ['a member whose name is escaped', '{"data":null,"\\u0065rrors":[{"message":"x"}]}'],
    ['a member whose name is escaped further in', '{"data":null,"erro\\u0072s":[{"message":"x"}]}'],
  ])('may report an error where it has %s', (_, text) => {
    const body = JSON.parse(text) as Record<string, unknown>;
    expect(judge(body, 200, { root: ROOT })).toBeDefined();
    expect(mayReportError(text)).toBe(true);
  });

  it('reports no error without such a member', () => {
    expect(mayReportError(JSON.stringify({ data: GOOD }))).toBe(false);
  });
});
