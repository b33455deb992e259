import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeAll, type BatchRead } from '../../src/api/upstreamReader.ts';

const RANGE = { from: 0, to: 60 };

interface Sized {
  readonly size: number;
}

const sized = (sizes: readonly number[]): readonly Sized[] => sizes.map((size) => ({ size }));

/** Carries subjects up to a total size of `most`, and always the first one. The calls are the sum of the sizes. */
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

describe('batches of subjects', () => {
  it.each([
    ['none without subjects', [], []],
    ['one for subjects that fit into one call', [1, 2, 2], [[1, 2, 2]]],
    ['another one for subjects that do not fit', [3, 2, 1, 5], [[3, 2], [1], [5]]],
    ['a separate one for a subject that is too large for any call', [1, 9, 1], [[1], [9], [1]]],
  ])('are %s', (_, sizes, expected) => {
    const planned = Array.from(takeAll(carrying(5), sized(sizes), RANGE), ({ subjects }) => subjects);
    expect(planned).toEqual(expected.map(sized));
  });

  it('hold each subject once, in the given order', () => {
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
