import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Judged } from '../../../src/tools/facts/evidence.ts';
import { judgeFactor, judgeLate, judgeRaw, judgeWindow, type Minute } from '../../../src/tools/facts/judges.ts';
import { RESULT_JUDGES } from '../../../src/tools/facts/queryProbes.ts';
import type { TimeRange } from '../../../src/api/upstreamReader.ts';
import type { Json } from '../../../src/api/http/validation.ts';

/** The verdict, or the reason why there is none. */
const said = (judged: Judged): string => ('why' in judged ? judged.why : judged.verdict);

/** Traffic that changes from minute to minute. */
const WILD: readonly Minute[] = Array.from({ length: 36 }, (_, index) => {
  const calls = 100 + ((index * 37) % 83) * 9;
  return { calls, seconds: (calls * (50 + ((index * 53) % 61))) / 1000 };
});
const CALM: readonly Minute[] = WILD.map(() => ({ calls: 300, seconds: 30 }));

function summaryOf(minutes: readonly Minute[], length: number, earlier = 0) {
  const part = minutes.slice(minutes.length - earlier - length, minutes.length - earlier);
  const calls = part.reduce((sum, minute) => sum + minute.calls, 0);
  const time = part.reduce((sum, minute) => sum + minute.seconds, 0);
  return {
    requestRate: Number((calls / length / 60).toPrecision(3)),
    responseTime: Number((time / calls).toPrecision(3)),
  };
}

describe('the window of a summary', () => {
  test('is the length that it was made of, wherever in the last five minutes it ends, in any unit', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(3, 4, 10, 30),
        fc.integer({ min: 0, max: 5 }),
        fc.constantFrom(1, 1 / 60, 1000),
        (length, earlier, unit) => {
          const { requestRate, responseTime } = summaryOf(WILD, length, earlier);
          const subject = { minutes: WILD, requestRate: requestRate * unit, responseTime: responseTime / unit };
          const judged = judgeWindow([subject], [length]);
          expect(judged).toMatchObject({ verdict: 'as assumed', seen: [{ word: `${length} minutes` }, {}] });
        },
      ),
    );
  });

  it.each([
    ['of four minutes', [{ minutes: WILD, ...summaryOf(WILD, 4) }], 'as assumed'],
    ['of ten minutes', [{ minutes: WILD, ...summaryOf(WILD, 10) }], 'differs'],
    ['of traffic without change', [{ minutes: CALM, ...summaryOf(CALM, 10) }], 'traffic hardly changes'],
    ['of no length', [{ minutes: WILD, requestRate: 5, responseTime: 1 }], 'no window fits'],
    ['of nothing', [], 'no traffic'],
  ])('%s is judged against 3 or 4 minutes', (_, subjects, verdict) => {
    expect(said(judgeWindow(subjects, [3, 4]))).toBe(verdict);
  });

  it('is told, and has to fit every application', () => {
    const of = (length: number) => ({ minutes: WILD, ...summaryOf(WILD, length) });
    const seen = [{ of: 'form', word: '10 minutes' }, { of: 'best fit' }];
    expect(judgeWindow([of(10), of(10)], [3, 4])).toMatchObject({ verdict: 'differs', seen });
    expect(said(judgeWindow([of(10), of(4)], [3, 4]))).toBe('no window fits');
  });
});

describe('the unit of a value', () => {
  const UNITS = { 1: 'fraction', 100: 'percent' };

  it.each([
    [1.2, 'fraction', 'as assumed'],
    [120, 'percent', 'differs'],
    [0.012, 'other', 'differs'],
    [1e9, 'other', 'differs'],
  ])('of %d where 1 is expected is a %s', (seen, word, verdict) => {
    const judged = judgeFactor([{ seen, expected: 1 }], UNITS, 'no errors');
    expect(judged).toMatchObject({ verdict, seen: [{ word }, {}] });
  });

  it('is not judged over nothing', () => {
    expect(said(judgeFactor([{ seen: 0, expected: 0 }], UNITS, 'no errors'))).toBe('no errors');
  });
});

const memory = (seen: number, expected: number, minutes: number) =>
  judgeFactor([{ seen, expected }], { 1: 'mean of the minutes', [minutes]: 'sum of the minutes' }, 'no host', 1.05);
const late = (delay: number, ...read: Parameters<typeof judgeLate>[0]) => judgeLate(read, delay);

const counts = (...values: readonly number[]): readonly Json[] => values.map((c) => ({ c }));
const ANSWERED = { rows: [], result: {}, window: undefined, range: { from: 60, to: 3660 }, largest: [], query: {} };
const judged = (judge: keyof typeof RESULT_JUDGES, rows: readonly Json[], result: Json = {}, fields: string[] = []) =>
  RESULT_JUDGES[judge]({ ...ANSWERED, rows, result, query: { fields } });
const limitMax = (length: number, c: number) =>
  judged('LIMIT MAX', Array<Json>(length).fill({}), { otherResult: { c } });
const judgedWindow = (window: TimeRange | undefined) =>
  RESULT_JUDGES.window({ ...ANSWERED, window, query: { maxShift: 300 } });
const judgedFields = (n: number, f0: number) => judged('fields', [{ n, f0 }], {}, ['openTime']);

const CASES: readonly (readonly [what: string, judged: Judged, verdict: string])[] = [
  ['raw values', judgeRaw([1.2345, 22.34, 3], 400), 'as assumed'],
  ['raw values that are rounded', judgeRaw([1.23, 22.3, 3], 22.33), 'differs'],
  ['raw values that have three digits before rounding', judgeRaw([1.23, 22.3, 3], 22.3), 'traffic hardly changes'],
  ['raw zeros', judgeRaw([0, 0, 0], 0), 'no traffic'],
  ['the mean of the minutes', memory(200, 199, 3), 'as assumed'],
  ['the sum of the minutes', memory(600, 199, 3), 'differs'],
  ['a little more than the mean of the minutes', memory(210, 199, 3), 'differs'],
  ['no memory', memory(0, 0, 0), 'no host'],
  ['a window as requested', judgedWindow({ from: 60, to: 3660 }), 'as assumed'],
  ['a window that is cut a little', judgedWindow({ from: 0, to: 3600 }), 'as assumed'],
  ['a window that is cut a lot', judgedWindow({ from: -2000, to: 3600 }), 'differs'],
  ['a window that is not told', judgedWindow(undefined), 'differs'],
  ['5,000 rows', limitMax(5000, 7), 'as assumed'],
  ['fewer rows and others', limitMax(4899, 7), 'differs'],
  ['more rows', limitMax(5001, 0), 'differs'],
  ['few rows', limitMax(40, 0), 'too few rows'],
  ['others in otherResult', judged('otherResult', counts(5, 4, 3, 2, 1), { otherResult: { c: 9 } }), 'as assumed'],
  ['nothing in otherResult', judged('otherResult', counts(5, 4, 3, 2, 1), { otherResult: { c: 0 } }), 'differs'],
  ['no otherResult', judged('otherResult', counts(5, 4, 3, 2, 1), { otherResult: null }), 'differs'],
  ['no more rows than the limit', judged('otherResult', counts(5), { otherResult: { c: 0 } }), 'too few rows'],
  ['rows that fall', judged('order', counts(5, 5, 4, 3, 3)), 'as assumed'],
  ['rows that rise', judged('order', counts(3, 4, 5, 5, 5)), 'differs'],
  ['rows that are all equal', judged('order', counts(5, 5, 5, 5, 5)), 'too few rows'],
  ['a minute that is complete in time', late(2, [2, 99.5], [5, 100]), 'as assumed'],
  ['a minute that is complete too late', late(2, [2, 80], [5, 100]), 'differs'],
  ['a minute that is complete within a long delay', late(3, [2, 80], [3, 100], [5, 100]), 'as assumed'],
  ['a minute that was read once', late(2, [2, 80]), 'needs --wait'],
  ['a minute without calls', late(2, [2, 0], [5, 0]), 'no traffic'],
  ['all fields', judgedFields(3, 1), 'as assumed'],
  ['a field that is missing', judgedFields(30, 0), 'differs'],
  ['a field that few events lack', judgedFields(3, 0), 'too few events'],
  ['no event', judgedFields(0, 0), 'too few events'],
];

test.each(CASES)('%s are judged', (_, judged, verdict) => {
  expect(said(judged)).toBe(verdict);
});

test('the delay that would do is told where a minute is complete too late', () => {
  const delays = [late(2, [2, 50], [3, 50], [5, 100], [10, 100]), late(2, [2, 20], [3, 30], [5, 50], [10, 100])];
  expect(delays.map(({ seen }) => seen.at(-1))).toEqual(['5m', '10m'].map((text) => ({ of: 'delay', word: text })));
});
