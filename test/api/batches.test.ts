import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeAll, type BatchRead } from '../../src/api/upstreamReader.ts';

const RANGE = { from: 0, to: 60 };

interface Sized {
  readonly size: number;
}

const sized = (sizes: readonly number[]): readonly Sized[] => sizes.map((size) => ({ size }));

/** A call carries subjects whose sizes add up to `most`, and the first one always; it takes as many calls as they add up to. */
function carrying(most: number): BatchRead<Sized, number> {
  return {
    take<T extends Sized>(subjects: Iterable<T>) {
      const taken: T[] = [];
      let calls = 0;
      for (const subject of subjects) {
        if (taken.length > 0 && calls + subject.size > most) break;
        taken.push(subject);
        calls += subject.size;
      }
      return { subjects: taken, calls };
    },
    read: (subjects) => Promise.resolve(subjects.map(({ size }) => ({ value: size }))),
  };
}

describe('calls for subjects', () => {
  it.each([
    ['none for nothing', [], []],
    ['one for what fits into it', [1, 2, 2], [[1, 2, 2]]],
    ['another for what does not fit', [3, 2, 1, 5], [[3, 2], [1], [5]]],
    ['one of its own for what is too large for any', [1, 9, 1], [[1], [9], [1]]],
  ])('are %s', (_, sizes, expected) => {
    const planned = Array.from(takeAll(carrying(5), sized(sizes), RANGE), ({ subjects }) => subjects);
    expect(planned).toEqual(expected.map(sized));
  });

  it('hold each subject once, in their order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 12 })), fc.integer({ min: 1, max: 10 }), (sizes, most) => {
        const all = sized(sizes);
        const planned = [...takeAll(carrying(most), all, RANGE)];
        expect(planned.flatMap(({ subjects }) => subjects)).toEqual(all);
        for (const { subjects, calls } of planned) {
          expect(calls).toBe(subjects.reduce((sum, { size }) => sum + size, 0));
        }
      }),
    );
  });
});
