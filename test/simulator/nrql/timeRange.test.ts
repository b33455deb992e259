import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timeRange } from '../../../simulator/nrql/rowTally.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 4, 20, 14, 7, 31);
const UNTIL = Math.floor(NOW / MINUTE) * MINUTE - 2 * MINUTE;

const range = (since: number | undefined, until: number | undefined, bucketMinutes?: number) =>
  timeRange({ since, until, bucketMinutes }, NOW, () => 1);

describe('the time range of a query', () => {
  it('is the hour before UNTIL by default, and ends now by default', () => {
    expect(range(undefined, undefined)).toMatchObject({ since: NOW - HOUR, until: NOW });
    expect(range(undefined, UNTIL)).toMatchObject({ since: UNTIL - HOUR, until: UNTIL });
    expect(range(UNTIL - 5, UNTIL).buckets).toEqual([{ begin: UNTIL - 5, end: UNTIL }]);
  });

  it('puts each moment into the bucket that contains it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 20, max: 300 }),
        fc.integer({ min: 1, max: 20 }),
        fc.nat(),
        (minutes, size, offset) => {
          const { buckets, bucketOf } = range(UNTIL - minutes * MINUTE, UNTIL, size);
          const time = UNTIL - 1 - (offset % (minutes * MINUTE));
          const { begin, end } = buckets[bucketOf(time)]!;
          expect(begin <= time && time < end && end - begin === size * MINUTE).toBe(true);
        },
      ),
    );
  });
});
