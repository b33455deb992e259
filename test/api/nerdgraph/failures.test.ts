import { describe, expect, it } from 'vitest';
import { KeyMask } from '../../../src/api/http/keyMask.ts';
import { badKeyOf, failureOf, mayReportError } from '../../../src/api/nerdgraph/failures.ts';

const MASK = new KeyMask('NRAK-0123456789ABCDEFGHIJ');
const ROOT = ['actor', 'account', 'nrql'];
const GOOD = { actor: { account: { nrql: { results: [] } } } };

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
    ['tells what is not authorized by its words', { errors: errors('You are not authorized to do this') }, 'forbidden'],
    ['tells an overload by its class', { errors: errors('x', { errorClass: 'TOO_MANY_REQUESTS' }) }, 'rate_limited'],
    [
      'tells the query limit by its words',
      { errors: errors('You have exceeded the query limit of your account') },
      'rate_limited',
    ],
    ['tells the rate limit by its words', { errors: errors('NRQL queries rate limit exceeded') }, 'rate_limited'],
    [
      'tells a limit of queries per minute',
      { errors: errors('The limit of NRQL queries per minute was reached') },
      'rate_limited',
    ],
    ['tells a query count limit', { errors: errors('Rejected: query count limit exceeded') }, 'rate_limited'],
    [
      'tells a query per minute limit',
      { errors: errors('Account reached its query per minute limit') },
      'rate_limited',
    ],
    ['tells a limit of the size of one query', { errors: errors('query size limit exceeded') }, 'too big'],
    [
      'tells the query limit by its words although the class says something else',
      { errors: errors('The query limit of the account is reached', { errorClass: 'SERVER_ERROR' }) },
      'rate_limited',
    ],
    [
      'tells a server error that speaks of length',
      { errors: errors('too long', { errorClass: 'SERVER_ERROR' }) },
      'server',
    ],
    ['tells a limit of buckets', { errors: errors('Exceeded the limit of 366 buckets for this query') }, 'other'],
    ['tells a limit of facets', { errors: errors('Your query exceeded the limit of 5,000 facets') }, 'other'],
    ['tells a syntax error near LIMIT', { errors: errors('Syntax error in query near LIMIT') }, 'other'],
    ['tells a timeout by its class', { errors: errors('x', { errorClass: 'TIMEOUT' }) }, 'timeout'],
    ['tells a timeout by its words', { errors: errors('NRDB query duration exceeded the set timeout') }, 'timeout'],
    ['tells a server error', { errors: errors('x', { errorClass: 'SERVER_ERROR' }) }, 'server'],
    ['tells an internal server error', { errors: errors('x', { errorClass: 'INTERNAL_SERVER_ERROR' }) }, 'server'],
    [
      'tells what is too big',
      { errors: errors('that query is a little too big. If using TIMESERIES, try fewer buckets') },
      'too big',
    ],
    [
      'tells what is too long',
      { errors: errors('query length exceeds the maximum', { errorClass: 'INVALID_INPUT' }) },
      'too big',
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
  ])('%s', (_, body, reason) => {
    const failure = failureOf(body, 200, MASK, ROOT, undefined);
    expect(failure?.constructor.name === 'TooBig' ? 'too big' : failure?.reason).toBe(reason);
    expect(failure?.overload !== undefined).toBe(reason === 'rate_limited');
    expect(failure?.retriable ?? false).toBe(reason === 'timeout' || reason === 'server');
  });

  const SEARCH = ['actor', 'entitySearch'];
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
  ])('of entities may have an error that concerns %s', (_, list, reason) => {
    expect(failureOf({ data: listed, errors: list }, 200, MASK, SEARCH, ['results', 'entities'])?.reason).toBe(reason);
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
    expect(failureOf(body, 200, MASK, SEARCH, ['results', 'entities'])?.reason).toBe(reason);
  });

  it('never shows the key that it echoes', () => {
    const message = 'bad key NRAK-0123456789ABCDEFGHIJ and NRAK-OLDOLDOLDOLD';
    const failure = failureOf(
      { errors: [{ message, extensions: { api_key: 'NRAK-OLDOLDOLDOLD' } }] },
      200,
      MASK,
      ROOT,
      undefined,
    );
    expect(failure?.message).not.toMatch(/0123456789|OLDOLD/);
  });

  it('of another status says more than the status only for a bad key', () => {
    expect(badKeyOf('{"errors":[{"message":"x","extensions":{"error_code":"BAD_API_KEY"}}]}', 400, MASK)?.reason).toBe(
      'auth',
    );
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
    expect(failureOf(JSON.parse(text) as Record<string, unknown>, 200, MASK, ROOT, undefined)).toBeDefined();
    expect(mayReportError(text)).toBe(true);
  });

  it('reports none where it has neither', () => {
    expect(mayReportError(JSON.stringify({ data: GOOD }))).toBe(false);
  });
});
