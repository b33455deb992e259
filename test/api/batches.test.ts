import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countCalls, inCalls, type NextCall } from '../../src/api/upstreamReader.ts';

const RANGE = { from: 0, to: 60 };

/** A call carries numbers that add up to `most`, and the first one always; it takes as many calls as they add up to. */
function carrying(most: number) {
  return {
    nextCall: (sizes: readonly number[]): NextCall => {
      let count = 1;
      let calls = sizes[0] ?? 0;
      while (count < sizes.length && calls + (sizes[count] ?? 0) <= most) calls += sizes[count++] ?? 0;
      return { count, calls };
    },
  };
}

describe('calls for subjects', () => {
  it.each([
    ['none for nothing', [], []],
    ['one for what fits into it', [1, 2, 2], [[1, 2, 2]]],
    ['another for what does not fit', [3, 2, 1, 5], [[3, 2], [1], [5]]],
    ['one of its own for what is too large for any', [1, 9, 1], [[1], [9], [1]]],
  ])('are %s', (_, sizes, expected) => {
    expect(inCalls(carrying(5), sizes, RANGE).map(({ subjects }) => subjects)).toEqual(expected);
  });

  it('hold each subject once, in their order, and are counted as they are planned', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 12 })), fc.integer({ min: 1, max: 10 }), (sizes, most) => {
        const planned = inCalls(carrying(most), sizes, RANGE);
        expect(planned.flatMap(({ subjects }) => subjects)).toEqual(sizes);
        expect(countCalls(carrying(most), sizes, RANGE)).toBe(sizes.reduce((sum, size) => sum + size, 0));
        for (const { subjects, calls } of planned) expect(calls).toBe(subjects.reduce((sum, size) => sum + size, 0));
      }),
    );
  });
});
