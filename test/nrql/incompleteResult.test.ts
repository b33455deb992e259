import { describe, expect, it } from 'vitest';
import { INCOMPLETE, incompleteWords, messagesIn } from '../../src/nrql/incompleteResult.ts';

const SUBQUERY = 'Subquery may have reached the maximum result member limit, which may cause an incomplete result.';

/** Messages by which New Relic says that the result itself is not whole: `rows` where only its rows or facets are too many. */
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
];

const OTHER: readonly string[] = [
  'count(*) of Metric data is now the sum of counts: use datapointCount() for the number of data points',
  'The time range was adjusted to whole minutes',
  'uniqueCount() is approximate above 256 values',
  'The attribute duration is deprecated',
  'This feature is in limited preview',
  'LIMIT MAX is 5000',
  'Query results are cached',
  'cardinality(metric.name) needs RAW to be exact',
  '',
];

describe('a message beside good rows', () => {
  it.each(SAID)('says that the result is not whole: %s', (message, about) => {
    expect(incompleteWords([message], false)).toBe(message);
    expect(incompleteWords([message], true)).toBe(about === 'rows' ? undefined : message);
  });

  it.each(OTHER)('says nothing of that: %s', (message) => {
    expect(incompleteWords([message], false)).toBeUndefined();
  });

  it('is found behind others', () => {
    expect(incompleteWords([...OTHER, SUBQUERY], false)).toBe(SUBQUERY);
    expect(incompleteWords(['Results limited to 5000 rows', SUBQUERY], true)).toBe(SUBQUERY);
  });

  it('is compared with rows that each have a source', () => {
    expect(INCOMPLETE.filter(({ source }) => source.length < 10)).toEqual([]);
  });

  it('is one plain line, and anything that is no text is none', () => {
    const result = { metadata: { messages: ['two\n lines\u0007', 7, null, '  ', 'x'.repeat(20_000)] } };
    expect(messagesIn(result)).toEqual(['two lines', 'x'.repeat(10_000)]);
    for (const each of [{}, { metadata: null }, { metadata: { messages: 'x' } }]) expect(messagesIn(each)).toEqual([]);
  });

  it('is compared in time that its length does not multiply', () => {
    const long = Array.from({ length: 20 }, () => 'result partial facets limit '.repeat(400).slice(0, 10_000));
    const started = performance.now();
    incompleteWords([...long, 'results '.repeat(1_250), 'facets '.repeat(1_400)], true);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
