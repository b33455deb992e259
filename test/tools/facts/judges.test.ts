import { expect, test } from 'vitest';
import type { Judged } from '../../../src/tools/facts/evidence.ts';
import * as judge from '../../../src/tools/facts/judges.ts';
import { type Answer, judgeLate } from '../../../src/tools/facts/judges.ts';
import type { TimeRange } from '../../../src/api/upstreamReader.ts';
import type { Json } from '../../../src/api/http/validation.ts';

/** The verdict, or the reason why there is none. */
const said = ({ why, verdict }: Judged): string => why ?? verdict;

const late = (delay: number, ...read: Parameters<typeof judgeLate>[0]) => judgeLate(read, delay);

const counts = (...values: readonly number[]): readonly Json[] => values.map((c) => ({ c }));
const ANSWERED = { rows: [], result: {}, window: undefined, range: { from: 60, to: 3660 }, largest: [] };
const answered = (rows: readonly Json[], result: Json = {}): Answer => ({ ...ANSWERED, rows, result });
const cut = (length: number, c: number) =>
  judge.limitMax(answered(Array<Json>(length).fill({}), { otherResult: { c } }));
const others = (rows: readonly Json[], otherResult: Json | null) => judge.otherResult(answered(rows, { otherResult }));
const windowed = (window: TimeRange | undefined) => judge.judgeWindow(300, { ...ANSWERED, window });
const fields = (n: number, f0: number) => judge.judgeFields(['openTime'], 10, { rows: [{ n, f0 }] });
const named = (...values: readonly (readonly [facet: string, s: number, n: number])[]) =>
  answered(values.map(([facet, s, n]) => ({ facet, s, n })));
const ALL = [
  ['a', 9, 1],
  ['b', 5, 5],
  ['c', 1, 9],
] as const;
const counted = (c: number, n: number, k: number) => judge.countOfMetrics(answered([{ c, n, k }]));

const CASES: readonly (readonly [what: string, judged: Judged, verdict: string])[] = [
  ['a window as requested', windowed({ from: 60, to: 3660 }), 'as assumed'],
  ['a window that begins and ends a minute earlier', windowed({ from: 0, to: 3600 }), 'as assumed'],
  ['a window that begins much earlier', windowed({ from: -2000, to: 3600 }), 'differs'],
  ['a response without a window', windowed(undefined), 'differs'],
  ['5,000 rows', cut(5000, 7), 'as assumed'],
  ['fewer rows and a count in otherResult', cut(4899, 7), 'differs'],
  ['more rows', cut(5001, 0), 'differs'],
  ['rows far below the limit', cut(40, 0), 'too few rows'],
  ['a count in otherResult', others(counts(5, 4, 3, 2, 1), { c: 9 }), 'as assumed'],
  ['a zero in otherResult', others(counts(5, 4, 3, 2, 1), { c: 0 }), 'differs'],
  ['a response without otherResult', others(counts(5, 4, 3, 2, 1), null), 'differs'],
  ['no more rows than the limit', others(counts(5), { c: 0 }), 'too few rows'],
  ['a minute that is complete in time', late(2, [2, 99.5], [5, 100]), 'as assumed'],
  ['a minute that is complete too late', late(2, [2, 80], [5, 100]), 'differs'],
  ['a minute that is complete within a long delay', late(3, [2, 80], [3, 100], [5, 100]), 'as assumed'],
  ['a minute with one reading', late(2, [2, 80]), 'needs --wait'],
  ['a minute without calls', late(2, [2, 0], [5, 0]), 'no traffic'],
  ['events with all fields', fields(3, 1), 'as assumed'],
  ['a field that many events lack', fields(30, 0), 'differs'],
  ['a field that few events lack', fields(3, 0), 'too few events'],
  ['a response without events', fields(0, 0), 'too few events'],
  ['facets with the most records', judge.judgeLimit('by records', named(ALL[2]), named(...ALL)), 'as assumed'],
  ['facets with the greatest sums', judge.judgeLimit('by records', named(ALL[0]), named(...ALL)), 'differs'],
  [
    'facets with neither the most records nor the greatest sums',
    judge.judgeLimit('by records', named(ALL[1]), named(...ALL)),
    'differs',
  ],
  ['a response with all facets', judge.judgeLimit('by records', named(...ALL), named(...ALL)), 'too few rows'],
  [
    'facets with the most records and the greatest sums',
    judge.judgeLimit('by records', named(['d', 9, 9]), named(['d', 9, 9], ALL[1])),
    'traffic hardly changes',
  ],
  [
    'facets with the greatest sums under ORDER BY',
    judge.judgeLimit('by sum', named(ALL[0]), named(...ALL)),
    'as assumed',
  ],
  ['other facets under ORDER BY', judge.judgeLimit('by sum', named(ALL[2]), named(...ALL)), 'differs'],
  ['unknown facets under ORDER BY', judge.judgeLimit('by sum', named(['e', 9, 9]), named(...ALL)), 'differs'],
  ['the sum of counts', counted(50, 5, 50), 'as assumed'],
  ['the number of points', counted(5, 5, 50), 'differs'],
  ['points of one value each', counted(5, 5, 5), 'traffic hardly changes'],
  ['a response without points', counted(0, 0, 0), 'no traffic'],
];

test.each(CASES)('judges %s', (_, decided, verdict) => {
  expect(said(decided)).toBe(verdict);
});

test('a minute that is complete too late gives the sufficient delay', () => {
  const delays = [late(2, [2, 50], [3, 50], [5, 100], [10, 100]), late(2, [2, 20], [3, 30], [5, 50], [10, 100])];
  expect(delays.map(({ seen }) => seen.at(-1))).toEqual(['5m', '10m'].map((text) => ({ of: 'delay', word: text })));
});
