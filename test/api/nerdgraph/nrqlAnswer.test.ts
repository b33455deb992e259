import { describe, expect, it } from 'vitest';
import { checkAnswer, MOST_BUCKET_ROWS } from '../../../src/api/nerdgraph/nrqlAnswer.ts';
import { Truncated } from '../../../src/api/nerdgraph/transport.ts';
import { RANGE } from './nerdGraphReading.ts';

const FACETS = ['appId', 'metricTimesliceName'];
const metadata = { facets: FACETS, timeWindow: { begin: RANGE.from * 1000, end: RANGE.to * 1000 } };

/** Rows of so many facets, each in so many buckets, and nothing that says what was left out. */
const rowsOf = (facets: number, buckets: number, isListed = true): unknown[] =>
  Array.from({ length: facets * buckets }, (_, index) => {
    const [appId, metricTimesliceName] = [String(index % facets), 'Apdex'];
    return isListed ? { facet: [appId, metricTimesliceName] } : { appId, metricTimesliceName };
  });

describe('an answer with rows of buckets', () => {
  it.each<[string, unknown[], boolean]>([
    ['with fewer facets than the service gives is whole', rowsOf(4_999, 2), false],
    ['with as many facets as the service gives may lack others', rowsOf(5_000, 2), true],
    ['with facets under the names of attributes, as many as the service gives,', rowsOf(5_000, 1, false), true],
    ['with few facets is whole', rowsOf(20, 366), false],
    ['with as many rows as the service gives may lack others', rowsOf(500, MOST_BUCKET_ROWS / 500), true],
  ])('%s', (_, results, isTruncated) => {
    const check = () => checkAnswer({ results, metadata }, { range: RANGE, facets: FACETS, bucketed: true });
    if (isTruncated) expect(check).toThrow(Truncated);
    else expect(check().rows).toHaveLength(results.length);
  });
});
