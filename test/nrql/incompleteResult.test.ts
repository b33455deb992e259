import { describe, expect, it } from 'vitest';
import { INCOMPLETE, findIncompleteMessage, readMessages } from '../../src/nrql/incompleteResult.ts';

const SUBQUERY = 'Subquery may have reached the maximum result member limit, which may cause an incomplete result.';

/** Messages that tell of an incomplete result: `rows` where only its rows or facets are too many. */
const SAID: readonly (readonly [message: string, about: 'rows' | 'data'])[] = [
  [SUBQUERY, 'data'],
  [SUBQUERY.toUpperCase(), 'data'],
  [
    'Metric http.requests has exceeded its cardinality limit since 04:10. Please see the docs for more information',
    'data',
  ],
  ['Your account has reached the cardinality budget: use the Cardinality Management UI', 'data'],
  ['Results may be incomplete', 'data'],
  ['Only partial results are available', 'data'],
  ['The query was limited to data of the last 8 days', 'data'],
  ['The result has been truncated', 'data'],
  ['Incomplete data: a shard did not answer', 'data'],
  ['Results limited to 5000 rows', 'rows'],
  ['The number of facets exceeds the limit', 'rows'],
  ['Too many facets: only the first 5000 are returned', 'rows'],
  ['Result truncated: 2000 facets were omitted', 'rows'],
  ['Results are limited. Data might be missing', 'data'],
  ['Results are limited to 100 rows. Some data could not be read', 'data'],
  ['Some data could not be read: not all shards responded', 'data'],
  ['Not all of the data was searched', 'data'],
  ["Two shards didn't respond", 'data'],
  ['Query timed out before completing; showing what was found so far', 'data'],
  ['The subquery timed out', 'data'],
  ['Result of "SELECT count(*)" is truncated. The response may therefore be incomplete', 'data'],
  ['Limited results: only the first 2000', 'rows'],
  ['Result set too large; only 2000 of 5000 records returned', 'rows'],
  ['Only 5,000 out of 12,000 are returned', 'rows'],
  ['The facet limit was exceeded', 'rows'],
  ['Results for "no.partial" are not cached; they were truncated after 5,000 facets', 'rows'],
];

const OTHER: readonly string[] = [
  'count(*) of Metric data is now the sum of counts: use datapointCount() for the number of data points',
  'The time range was adjusted to whole minutes',
  'uniqueCount() is approximate above 256 values',
  'The attribute duration is deprecated',
  'This feature is in limited preview',
  'LIMIT MAX is 5000',
  'Query results are cached',
  'The attribute "partial" of the data is deprecated',
  "Data of 'truncated' results: the attribute is deprecated",
  'The attribute `limited results` is deprecated',
  'Results for metric "truncated.requests" come from data that was aggregated',
  'Results for metric data.partial results.truncated come from data that was aggregated',
  'Metric "cardinality limit" was rolled up',
  'The response time attribute is limited to 3 digits',
  'Results are limited to 3 decimal places',
  'Incomplete response times are rounded',
  'No partial results were returned',
  'No rows were omitted',
  'Results do not contain partial data',
  "The result isn't truncated",
  'The query has not timed out',
  'The number of facets does not exceed the limit',
  'Results are complete: the last bucket may hold partial minutes',
  'the last bucket may hold partial minutes',
  'Data for missing attributes is null',
  'Not all data types can be summed',
  'cardinality(metric.name) needs RAW to be exact',
  '',
];

describe('a message of New Relic beside good rows', () => {
  it.each(SAID)('shows that the result is incomplete: %s', (message, about) => {
    expect(findIncompleteMessage([message], false)).toBe(message);
    expect(findIncompleteMessage([message], true)).toBe(about === 'rows' ? undefined : message);
  });

  it.each(OTHER)('does not show that the result is incomplete: %s', (message) => {
    expect(findIncompleteMessage([message], false)).toBeUndefined();
  });

  it('shows an incomplete result although other messages come before it', () => {
    expect(findIncompleteMessage([...OTHER, SUBQUERY], false)).toBe(SUBQUERY);
    expect(findIncompleteMessage(['Results limited to 5000 rows', SUBQUERY], true)).toBe(SUBQUERY);
  });

  it('is compared with patterns of at least ten characters', () => {
    expect(INCOMPLETE.filter(({ source }) => source.length < 10)).toEqual([]);
  });

  it('becomes one plain line, and a value that is not text is ignored', () => {
    const result = { metadata: { messages: ['two\n lines\u0007', 7, null, '  ', 'x'.repeat(20_000)] } };
    expect(readMessages(result)).toEqual(['two lines', 'x'.repeat(10_000)]);
    for (const each of [{}, { metadata: null }, { metadata: { messages: 'x' } }])
      expect(readMessages(each)).toEqual([]);
  });

  it('is compared in time proportional to its length', () => {
    const long = Array.from({ length: 20 }, () => 'result partial facets limit '.repeat(400).slice(0, 10_000));
    const started = performance.now();
    findIncompleteMessage([...long, 'results '.repeat(1_250), 'facets '.repeat(1_400)], true);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
