import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planRestChunks } from '../../../src/api/rest/restSeries.ts';

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
const NOW = 1_791_979_230;
const minute = Math.floor(NOW / MINUTE) * MINUTE;

const ranges = fc
  .record({
    ago: fc.integer({ min: 3, max: 100 * 24 * 60 }),
    length: fc.integer({ min: 1, max: 30 * 24 * 60 }),
    window: fc.integer({ min: 1, max: 2_880 }),
  })
  .map(({ ago, length, window }) => {
    const from = minute - ago * MINUTE;
    return { range: { from, to: Math.min(minute - 2 * MINUTE, from + length * MINUTE) }, window: window * MINUTE };
  });

describe('planRestChunks', () => {
  it('reads the last hours by the minute, from one window before the range', () => {
    const range = { from: minute - 4 * HOUR, to: minute - 2 * MINUTE };
    expect(planRestChunks(range, 1800, NOW)).toEqual([
      { from: range.from - 1800, readFrom: range.from - 1800, to: range.from - 1800 + 3 * HOUR, granule: 60 },
      { from: range.from - 1800 + 3 * HOUR, readFrom: range.from - 1800 + 3 * HOUR, to: range.to, granule: 60 },
    ]);
  });

  it('reads by the minute from the first whole minute that is not older than 8 days less an hour', () => {
    const oldest = Math.ceil((NOW - 8 * DAY + HOUR) / MINUTE) * MINUTE;
    const granules = (from: number) =>
      planRestChunks({ from, to: from + DAY }, MINUTE, NOW).map(({ granule }) => granule);
    expect(new Set(granules(oldest + MINUTE))).toEqual(new Set([MINUTE]));
    expect(new Set(granules(oldest))).toEqual(new Set([HOUR, MINUTE]));
  });

  it('reads one old day by the hour, in a range long enough to be answered by the hour', () => {
    const from = Math.floor((minute - 20 * DAY) / HOUR) * HOUR;
    const [chunk, ...others] = planRestChunks({ from, to: from + DAY }, 1800, NOW);
    expect(others).toEqual([]);
    expect(chunk).toEqual({ from, to: from + DAY, readFrom: from + DAY - 97 * HOUR, granule: HOUR });
  });

  it('reads the hours before the range that a window of several hours needs', () => {
    const from = Math.floor((minute - 20 * DAY) / HOUR) * HOUR;
    expect(planRestChunks({ from, to: from + DAY }, 6 * HOUR, NOW)[0]!.from).toBe(from - 5 * HOUR);
  });

  it('has nothing to read where no whole hour ends in an old range', () => {
    const from = Math.floor((minute - 20 * DAY) / HOUR) * HOUR + 600;
    expect(planRestChunks({ from, to: from + 1200 }, 1800, NOW)).toEqual([]);
  });

  it('asks only for ranges that are answered with the granule it counts on', () => {
    fc.assert(
      fc.property(ranges, ({ range, window }) => {
        for (const { from, readFrom, to, granule } of planRestChunks(range, window, NOW)) {
          expect(readFrom <= from && from < to).toBe(true);
          expect([readFrom % granule, to % granule]).toEqual([0, 0]);
          if (granule === MINUTE) {
            expect(to - readFrom).toBeLessThanOrEqual(3 * HOUR);
            expect(NOW - readFrom).toBeLessThanOrEqual(8 * DAY - HOUR);
          } else {
            expect(granule).toBe(HOUR);
            expect(to - readFrom).toBeGreaterThan(4 * DAY);
            expect(to - readFrom).toBeLessThanOrEqual(7 * DAY);
          }
        }
      }),
    );
  });

  it('leaves no gap: every sample from the first to the last has its whole window in one resolution', () => {
    fc.assert(
      fc.property(ranges, ({ range, window }) => {
        const chunks = planRestChunks(range, window, NOW);
        const minutes = chunks.filter(({ granule }) => granule === MINUTE);
        const hours = chunks.filter(({ granule }) => granule === HOUR);
        for (const run of [minutes, hours]) {
          for (const [index, chunk] of run.slice(1).entries()) expect(chunk.from).toBe(run[index]!.to);
        }
        const firstMinute = minutes[0];
        const lastHour = hours.at(-1);
        if (firstMinute !== undefined) expect(minutes.at(-1)!.to).toBe(range.to);
        if (firstMinute !== undefined && lastHour !== undefined) expect(firstMinute.from).toBe(lastHour.to - window);
        if (firstMinute !== undefined && lastHour === undefined) expect(firstMinute.from).toBe(range.from - window);
        if (hours[0] !== undefined) expect(hours[0].from).toBeLessThanOrEqual(range.from);
        if (lastHour !== undefined && firstMinute === undefined) expect(range.to - lastHour.to).toBeLessThan(HOUR);
      }),
    );
  });
});
