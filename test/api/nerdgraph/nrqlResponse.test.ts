import { describe, expect, it } from 'vitest';
import { readCompleteRows, checkWindow, readResponse as allRowsOf } from '../../../src/api/nerdgraph/nrql.ts';
import { RANGE } from './nerdGraphReading.ts';

const FACETS = ['appId', 'metricTimesliceName'];
const metadata = { facets: FACETS, timeWindow: { begin: RANGE.from * 1000, end: RANGE.to * 1000 } };

/** Rows of a number of facets with a number of buckets each, without a sign that rows are missing. */
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

describe('the facet names in a result', () => {
  it.each([
    ['are the written names', ['region', 'plan'], ['region', 'plan']],
    ['lack only a name that is not text', ['region', 7], ['region', '']],
    ['are empty where they are not a list', 'region', []],
  ])('%s', (_, facets, expected) => {
    expect(allRowsOf({ results: [], metadata: { facets } }).facets).toEqual(expected);
  });
});

describe('the answered window', () => {
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
    ['is accepted if it equals the requested window', from, to, RANGE],
    ['is rounded to whole minutes if its end is inclusive', from, to - 0.001, RANGE],
    ['is accepted if both ends are five minutes early', from - 300, to - 300, { from: from - 300, to: to - 300 }],
    ['is refused if it ends earlier', from - 360, to - 360, ANOTHER],
    ['is refused if it ends later', from, to + 60, ANOTHER],
    ['is accepted with four fifths of the requested length', from + 360, to, { from: from + 360, to }],
    ['is refused with less than four fifths', from + 420, to, ANOTHER],
    ['is accepted if it is up to a quarter longer', from - 420, to, { from: from - 420, to }],
    ['is refused if it is more than a quarter longer', from - 480, to, ANOTHER],
  ])('%s', (_, begin, end, expected) => {
    expect(near(begin, end)).toEqual(expected);
  });

  it('is accepted for a range of a day if it ends ten minutes early, which is the step of such ranges', () => {
    const day = { from: to - 86_400, to };
    expect(near(day.from - 600, to - 600, day)).toEqual({ from: day.from - 600, to: to - 600 });
    expect([near(day.from - 660, to - 660, day), near(day.from, to + 60, day)]).toEqual([ANOTHER, ANOTHER]);
    const shorter = { from: day.from + 60, to };
    expect(near(shorter.from - 360, to - 360, shorter)).toBe(ANOTHER);
  });
});
