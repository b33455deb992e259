import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fillCalls } from '../../src/api/batches.ts';
import type { Batch, BatchRead, TimeRange } from '../../src/api/reader.ts';

const RANGE: TimeRange = { from: 0, to: 60 };

/** Reads numbers; a call carries as many as add up to `most`, and the first one always. */
function carrying(most: number): BatchRead<number, never> {
  return {
    open: (range) => {
      expect(range).toBe(RANGE);
      let sum: number | undefined;
      return {
        // Another subject of size 0 always fits.
        full: false,
        add: (size) => {
          if (sum !== undefined && sum + size > most) return false;
          sum = (sum ?? 0) + size;
          return true;
        },
        get calls() {
          return sum ?? 0;
        },
      } satisfies Batch<number>;
    },
    read: () => Promise.reject(new Error('nothing is read here')),
  };
}

function filledBy(
  most: number,
  sizes: readonly number[],
): { readonly sizes: readonly number[]; readonly sum: number }[] {
  const filled: { readonly sizes: readonly number[]; readonly sum: number }[] = [];
  fillCalls(carrying(most), sizes, RANGE, ({ calls }, start, end) => {
    filled.push({ sizes: sizes.slice(start, end), sum: calls });
  });
  return filled;
}

describe('filling calls', () => {
  it.each([
    ['no call for nothing', [], []],
    ['one call for what fits into it', [1, 2, 2], [[1, 2, 2]]],
    ['another call for what does not fit', [3, 2, 1, 5], [[3, 2], [1], [5]]],
    ['a call of its own for what is too large for any', [1, 9, 1], [[1], [9], [1]]],
  ])('makes %s', (_, sizes, expected) => {
    expect(filledBy(5, sizes).map((call) => call.sizes)).toEqual(expected);
  });

  it('puts each subject into one call, in their order, and tells of a call with what it carries', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 12 })), fc.integer({ min: 1, max: 10 }), (sizes, most) => {
        const filled = filledBy(most, sizes);
        expect(filled.flatMap((call) => call.sizes)).toEqual(sizes);
        for (const [place, call] of filled.entries()) {
          expect(call.sum).toBe(call.sizes.reduce((sum, size) => sum + size, 0));
          const next = filled[place + 1]?.sizes[0];
          if (next !== undefined) expect(call.sum + next).toBeGreaterThan(most);
        }
      }),
    );
  });
});
