import { describe, expect, it } from 'vitest';
import { KeyMask } from '../../../src/api/http/keyMask.ts';
import { badKeyOf, judge, mayReportError, TABLE } from '../../../src/api/nerdgraph/failures.ts';

const MASK = new KeyMask('NRAK-0123456789ABCDEFGHIJ');
const ROOT = ['actor', 'account', 'nrql'];
const GOOD = { actor: { account: { nrql: { results: [] } } } };

const LIMIT = { errorCode: 'NRDB:1106924' };

const errors = (message: string, extensions?: unknown, path?: unknown): unknown[] => [{ message, extensions, path }];

describe('the body of an answer', () => {
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
    ['tells a bad key by its code', { errors: errors('x', { error_code: 'BAD_API_KEY' }) }, 'auth'],
    ['tells a bad key by its class', { errors: errors('x', { errorClass: 'BAD_API_KEY' }) }, 'auth'],
    ['tells access denied by its class', { errors: errors('x', { errorClass: 'ACCESS_DENIED' }) }, 'forbidden'],
    ['tells what is forbidden by its class', { errors: errors('x', { errorClass: 'FORBIDDEN' }) }, 'forbidden'],
    ['tells access denied by its words', { errors: errors('Access denied.') }, 'forbidden'],
    [
      'tells what is not authorized by its words',
      { errors: errors('You are not authorized to query account 7') },
      'forbidden',
    ],
    [
      'tells a missing right, which comes as an error of the server',
      {
        errors: errors('You do not have permission to do this', {
          errorClass: 'SERVER_ERROR',
          classification: 'DataFetchingException',
        }),
      },
      'forbidden',
    ],
    [
      'tells an error of the server that fetches data from a missing right',
      { errors: errors('An error occurred', { errorClass: 'SERVER_ERROR', classification: 'DataFetchingException' }) },
      'server',
    ],
    ['tells an overload by its class', { errors: errors('x', { errorClass: 'TOO_MANY_REQUESTS' }) }, 'rate_limited'],
    ['tells an overload by the code of the database', { errors: errors('x', LIMIT) }, 'rate_limited'],
    [
      'tells an overload by the code of the database, whatever the class',
      { errors: errors('x', { ...LIMIT, errorClass: 'SERVER_ERROR' }) },
      'rate_limited',
    ],
    ['tells an overload by that code in the message', { errors: errors('NRDB:1106924: limit') }, 'rate_limited'],
    ['tells the query limit by its words', { errors: errors('You have exceeded the query limit') }, 'rate_limited'],
    ['tells too many queries at once', { errors: errors('Too many concurrent queries') }, 'rate_limited'],
    ['tells too many requests', { errors: errors('Exceeded maximum number of requests per minute') }, 'rate_limited'],
    [
      'believes the class more than the words',
      { errors: errors('The query limit of the account is reached', { errorClass: 'SERVER_ERROR' }) },
      'server',
    ],
    ['tells a query that is too long', { errors: errors('Query limit of 10000 characters exceeded') }, 'too_big'],
    [
      'tells a query that is too complex',
      { errors: errors('The query may fail due to complexity', { errorClass: 'INVALID_INPUT' }) },
      'too_big',
    ],
    [
      'tells what is too big',
      { errors: errors('that query is a little too big. If using TIMESERIES, try fewer buckets') },
      'too_big',
    ],
    ['tells a limit of buckets', { errors: errors('TIMESERIES query supports a maximum of 366 buckets') }, 'other'],
    ['tells a syntax error near LIMIT', { errors: errors('Syntax error in query near LIMIT') }, 'other'],
    ['tells a timeout by its class', { errors: errors('x', { errorClass: 'TIMEOUT' }) }, 'timeout'],
    ['tells a timeout by the code of the database', { errors: errors('x', { errorCode: 'NRDB:1101002' }) }, 'timeout'],
    ['tells a timeout by its words', { errors: errors('NRDB query duration exceeded the set timeout') }, 'timeout'],
    ['tells a server error', { errors: errors('x', { errorClass: 'SERVER_ERROR' }) }, 'server'],
    ['tells an internal server error', { errors: errors('x', { errorClass: 'INTERNAL_SERVER_ERROR' }) }, 'server'],
    [
      'tells a heavy load, which passes',
      { errors: errors("Your query either timed out or we're under heavy load") },
      'transient',
    ],
    [
      'tells what went wrong for a moment',
      { errors: errors('Something went wrong while executing your query', { errorClass: 'INVALID_INPUT' }) },
      'transient',
    ],
    [
      'tells a circuit that is open',
      { errors: errors('NerdGraphGetAuthorizedAccountsCommand short-circuited and fallback failed') },
      'transient',
    ],
    ['tells a field that failed', { errors: errors('An error occurred resolving this field') }, 'transient'],
    [
      'tells that nothing matched',
      { errors: errors('No application was matched (did you specify appId, appName or entity.guid?)') },
      'unmatched',
    ],
    ['tells a complaint about the query', { errors: errors('NRQL Syntax error: invalid query') }, 'other'],
    ['tells invalid input', { errors: errors('no', { errorClass: 'INVALID_INPUT' }) }, 'other'],
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
    const verdict = judge(body, 200, MASK, { root: ROOT, list: undefined });
    expect(verdict?.meaning).toBe(meaning);
    expect(verdict?.failure.overload !== undefined).toBe(meaning === 'rate_limited');
    expect(verdict?.failure.retriable ?? false).toBe(['timeout', 'server', 'transient'].includes(meaning ?? ''));
    expect(verdict?.failure.isTransient ?? false).toBe(meaning === 'transient');
  });

  it('is judged by rows that each have a source', () => {
    expect(TABLE.filter(({ source }) => source.length < 10)).toEqual([]);
  });

  it('is shown with the class of its error, which says more than its words', () => {
    const body = { errors: errors('An error occurred', { errorClass: 'TIMEOUT' }) };
    expect(judge(body, 200, MASK, { root: ROOT, list: undefined })?.failure.message).toBe(
      'status 200 with an error: TIMEOUT: An error occurred',
    );
  });

  it('is looked at as far as the hundredth of its errors', () => {
    const many = Array.from({ length: 100 }, () => 0);
    const judged = (list: unknown[]) => judge({ data: GOOD, errors: list }, 200, MASK, { root: ROOT, list: undefined });
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
    [
      'a field below that the key may not see',
      errors('Access denied', { errorClass: 'ACCESS_DENIED' }, below),
      undefined,
    ],
    ['the search that the key may not make', errors('x', { errorClass: 'ACCESS_DENIED' }, SEARCH), 'forbidden'],
    ['the search itself', errors('x', { errorClass: 'TIMEOUT' }, SEARCH), 'timeout'],
    ['nothing that it names', errors('x', { errorClass: 'SERVER_ERROR' }), 'server'],
    [
      'a field below with an overload, which is the account’s',
      errors('x', { errorClass: 'TOO_MANY_REQUESTS' }, below),
      'rate_limited',
    ],
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
  ])('of entities may have an error that concerns %s', (_, list, reason) => {
    expect(judge({ data: listed, errors: list }, 200, MASK, LISTED)?.failure.reason).toBe(reason);
  });

  it.each<[string, Record<string, unknown>, string, string | undefined]>([
    ['a timeout', { results: null }, 'TIMEOUT', 'timeout'],
    ['an error of the server', { results: null }, 'SERVER_ERROR', 'server'],
    ['a refusal', { results: { entities: null } }, 'ACCESS_DENIED', 'forbidden'],
    ['a timeout, beside the entities', { results: { entities: [] } }, 'TIMEOUT', 'timeout'],
  ])('that lacks its entities has failed for the reason of the error: %s', (_, entitySearch, errorClass, reason) => {
    const body = {
      data: { actor: { entitySearch } },
      errors: errors('x', { errorClass }, [...SEARCH, 'results']),
    };
    expect(judge(body, 200, MASK, LISTED)?.failure.reason).toBe(reason);
  });

  it.each([
    ['the results are null', { results: null }],
    ['the entities are null', { results: { entities: null } }],
  ])('that an error further down took the list from has failed for its reason: %s', (_, entitySearch) => {
    const body = { data: { actor: { entitySearch } }, errors: errors('x', { errorClass: 'TIMEOUT' }, below) };
    expect(judge(body, 200, MASK, LISTED)?.failure.reason).toBe('timeout');
  });

  it('never shows the key that it echoes', () => {
    const message = 'bad key NRAK-0123456789ABCDEFGHIJ and NRAK-OLDOLDOLDOLD';
    const body = { errors: [{ message, extensions: { api_key: 'NRAK-OLDOLDOLDOLD' } }] };
    const verdict = judge(body, 200, MASK, { root: ROOT, list: undefined });
    expect(verdict?.failure.message).not.toMatch(/0123456789|OLDOLD/);
  });

  it('of another status says more than the status only for a bad key', () => {
    const badKey = '{"errors":[{"message":"x","extensions":{"error_code":"BAD_API_KEY"}}]}';
    expect([400, 500, 403].map((status) => badKeyOf(badKey, status, MASK)?.reason)).toEqual([
      'auth',
      'auth',
      undefined,
    ]);
    expect(badKeyOf('{"errors":[{"message":"BAD_API_KEY"}]}', 400, MASK)).toBeUndefined();
    expect(badKeyOf('BAD_API_KEY', 500, MASK)).toBeUndefined();
    expect(badKeyOf('{"errors":[{"message":"x"}]}', 403, MASK)).toBeUndefined();
  });
});

describe('the text of an answer, before it is parsed,', () => {
  it.each([
    ['a list of errors', '{"errors":[{"message":"x"}]}'],
    ['one error', '{"error":{"title":"x"}}'],
    ['a member whose name is escaped', '{"data":null,"\\u0065rrors":[{"message":"x"}]}'],
    ['a member whose name is escaped further in', '{"data":null,"erro\\u0072s":[{"message":"x"}]}'],
  ])('may report an error where it has %s', (_, text) => {
    const body = JSON.parse(text) as Record<string, unknown>;
    expect(judge(body, 200, MASK, { root: ROOT, list: undefined })).toBeDefined();
    expect(mayReportError(text)).toBe(true);
  });

  it('reports none where it has neither', () => {
    expect(mayReportError(JSON.stringify({ data: GOOD }))).toBe(false);
  });
});
