import { describe, expect, it } from 'vitest';
import { readCompleteRows, checkWindow, readResponse as allRowsOf } from '../../../src/api/nerdgraph/nrql.ts';
import { RANGE } from './nerdGraphReading.ts';

const FACETS = ['appId', 'metricTimesliceName'];
const metadata = { facets: FACETS, timeWindow: { begin: RANGE.from * 1000, end: RANGE.to * 1000 } };

/** Rows of a number of facets, each in a number of buckets, without a sign that any was left out. */
const rowsOf = (facets: number, buckets: number, isListed = true): unknown[] =>
  Array.from({ length: facets * buckets }, (_, index) => {
    const [appId, metricTimesliceName] = [String(index % facets), 'Apdex'];
    return isListed ? { facet: [appId, metricTimesliceName] } : { appId, metricTimesliceName };
  });

describe('a result with rows of buckets', () => {
  it.each<[string, unknown[], boolean]>([
    ['with fewer facets than the service gives is whole', rowsOf(4_999, 2), false],
    ['with as many facets as the service gives may lack others', rowsOf(5_000, 2), true],
    ['with facets under the names of attributes, as many as the service gives,', rowsOf(5_000, 1, false), true],
    ['with few facets is whole', rowsOf(20, 366), false],
    ['with as many rows as the service gives may lack others', rowsOf(500, 100), true],
  ])('%s', (_, results, isTruncated) => {
    const response = readCompleteRows({ results, metadata }, FACETS, true);
    expect('rows' in response ? response.rows.length : undefined).toBe(isTruncated ? undefined : results.length);
  });
});

describe('the facets that a result names', () => {
  it.each([
    ['are as they are written', ['region', 'plan'], ['region', 'plan']],
    ['lack only the name that is no text', ['region', 7], ['region', '']],
    ['are none where they are no list', 'region', []],
  ])('%s', (_, facets, expected) => {
    expect(allRowsOf({ results: [], metadata: { facets } }).facets).toEqual(expected);
  });
});

describe('the window that was answered', () => {
  const near = (begin: number, end: number, range = RANGE): unknown => {
    const timeWindow = { begin: begin * 1000, end: end * 1000 };
    const response = allRowsOf({ results: [], metadata: { facets: FACETS, timeWindow } });
    try {
      return checkWindow(response.window, range);
    } catch (error) {
      return (error as Error).message;
    }
  };
  const { from, to } = RANGE;
  const ANOTHER = 'the response is for another time than requested';

  it.each<[string, number, number, unknown]>([
    ['is taken where it is the one that was asked for', from, to, RANGE],
    ['is on whole minutes, where its end is given inclusive', from, to - 0.001, RANGE],
    ['is taken where both ends are five minutes early', from - 300, to - 300, { from: from - 300, to: to - 300 }],
    ['is refused where it ends earlier than that', from - 360, to - 360, ANOTHER],
    ['is refused where it ends later', from, to + 60, ANOTHER],
    ['is taken where four fifths of it are there', from + 360, to, { from: from + 360, to }],
    ['is refused where less of it is there', from + 420, to, ANOTHER],
    ['is taken where it is up to a quarter longer', from - 420, to, { from: from - 420, to }],
    ['is refused where it is longer than that', from - 480, to, ANOTHER],
  ])('%s', (_, begin, end, expected) => {
    expect(near(begin, end)).toEqual(expected);
  });

  it('is taken for a range of a day where it ends ten minutes early, which is the step of such ranges', () => {
    const day = { from: to - 86_400, to };
    expect(near(day.from - 600, to - 600, day)).toEqual({ from: day.from - 600, to: to - 600 });
    expect([near(day.from - 660, to - 660, day), near(day.from, to + 60, day)]).toEqual([ANOTHER, ANOTHER]);
    const shorter = { from: day.from + 60, to };
    expect(near(shorter.from - 360, to - 360, shorter)).toBe(ANOTHER);
  });
});
