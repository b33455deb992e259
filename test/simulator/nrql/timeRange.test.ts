import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timeRange } from '../../../src/simulator/nrql/rowTally.ts';

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 4, 20, 14, 7, 31);
const LAST = Math.floor(NOW / MINUTE);

describe('the time range of a query', () => {
  it('has the minutes from SINCE to before UNTIL', () => {
    const range = timeRange((LAST - 5) * MINUTE, (LAST - 2) * MINUTE, undefined, NOW);
    expect([range.fromMinute, range.toMinute]).toEqual([LAST - 5, LAST - 2]);
    const later = timeRange((LAST - 5) * MINUTE + 1, (LAST - 2) * MINUTE + 1, undefined, NOW);
    expect([later.fromMinute, later.toMinute]).toEqual([LAST - 4, LAST - 1]);
  });

  it('has no minute that is not over', () => {
    expect(timeRange((LAST - 1) * MINUTE, (LAST + 9) * MINUTE, undefined, NOW).toMinute).toBe(LAST);
  });

  it('has buckets that end with the range, the first one shorter', () => {
    const until = (LAST - 2) * MINUTE;
    const { buckets } = timeRange(until - 7 * MINUTE, until, 3, NOW);
    expect(buckets.map(({ begin, end }) => [(until - begin) / MINUTE, (until - end) / MINUTE])).toEqual([
      [7, 6],
      [6, 3],
      [3, 0],
    ]);
  });

  it('puts each minute into the bucket that holds its beginning', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 20 }), (minutes, size) => {
        const until = (LAST - 2) * MINUTE;
        const range = timeRange(until - minutes * MINUTE, until, size, NOW);
        for (let minute = range.fromMinute; minute < range.toMinute; minute += 1) {
          const { begin, end } = range.buckets[range.bucketOf(minute)]!;
          expect(begin <= minute * MINUTE && minute * MINUTE < end).toBe(true);
        }
      }),
    );
  });

  it('finds hours only when it begins more than eight days ago', () => {
    const hour = Math.floor((LAST - 9 * 1440) / 60) * 60;
    const within = timeRange((hour + 10) * MINUTE, (hour + 50) * MINUTE, 1, NOW);
    expect(within.fromMinute >= within.toMinute).toBe(true);
    const around = timeRange(hour * MINUTE, (hour + 90) * MINUTE, 30, NOW);
    expect([around.fromMinute, around.toMinute]).toEqual([hour, hour + 120]);
    expect([hour, hour + 59, hour + 60, hour + 119].map((minute) => around.bucketOf(minute))).toEqual([0, 0, 2, 2]);
  });

  it('has nothing older than three months', () => {
    const since = (LAST - 100 * 1440) * MINUTE;
    expect(timeRange(since, since + 60 * MINUTE, undefined, NOW).fromMinute).toBe(LAST - 93 * 1440);
  });
});
