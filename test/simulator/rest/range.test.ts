import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultEnd, granuleOf, resolveRange } from '../../../simulator/rest/restMetrics.ts';
import { formatTimestamp, parseTimestamp } from '../../../simulator/rest/restCall.ts';
import { MINUTE } from '../../../simulator/world/worldEntities.ts';

const NOW = Date.UTC(2026, 4, 20, 14, 7, 31);
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function range(ago: number, length: number, more: { period?: number | undefined; summarize?: boolean } = {}) {
  const to = Math.floor(NOW / MINUTE) * MINUTE - ago;
  return resolveRange({ from: to - length, to, period: more.period, summarize: more.summarize ?? false }, NOW);
}

describe('the timeslices of a range', () => {
  it.each([
    [3 * HOUR, 180, 1],
    [6 * HOUR, 180, 2],
    [14 * HOUR, 168, 5],
    [DAY, 144, 10],
    [4 * DAY, 192, 30],
    [7 * DAY, 168, 60],
    [21 * DAY, 168, 180],
    [42 * DAY, 168, 360],
    [63 * DAY, 126, 720],
    [90 * DAY, 30, 4320],
  ])('have the granularity of the length of the range: %i ms', (length, points, granule) => {
    expect(granuleOf(length / MINUTE)).toBe(granule);
    const { spans } = range(0, length);
    expect(spans).toHaveLength(points);
    for (const span of spans) expect(span.to - span.from).toBe(granule);
  });

  it('keep an aligned minute range as it is', () => {
    const { from, to, spans } = range(2 * MINUTE, 30 * MINUTE, { summarize: true });
    expect(spans).toEqual([{ from: from / MINUTE, to: to / MINUTE }]);
  });

  it('round a longer range to its granularity, and keep the end', () => {
    const { to, spans } = range(0, 23 * HOUR + 35 * MINUTE, { summarize: true });
    expect(spans).toEqual([{ from: to / MINUTE - 23 * 60 - 30, to: to / MINUTE }]);
  });

  it('round to hours a range that starts more than eight days ago, as the published examples', () => {
    const { to, spans } = range(9 * DAY, 24 * HOUR + 31 * MINUTE, { summarize: true });
    expect(spans).toEqual([{ from: to / MINUTE - 24 * 60, to: to / MINUTE }]);
  });

  it('are ten equal timeslices when the range starts more than eight days ago', () => {
    const { spans } = range(9 * DAY, 5 * HOUR);
    expect(spans.map(({ from, to }) => to - from)).toEqual(Array<number>(10).fill(30));
  });

  it.each([
    [30, 30],
    [60, 30],
    [120, 15],
    [420, 4],
    [3600, 1],
  ])('follow a period of %i s when it is coarser than a minute', (period, points) => {
    expect(range(0, 30 * MINUTE, { period }).spans).toHaveLength(points);
  });

  it('are thirty without from and to, and end one and a half to four minutes ago', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), (now) => {
        const open = { from: undefined, to: undefined, period: undefined };
        const { from, to, spans } = resolveRange({ ...open, summarize: true }, now);
        expect([from, to]).toEqual([now - 30 * MINUTE, now]);
        const [span] = spans;
        expect(span!.to - span!.from).toBe(30);
        const lag = now - defaultEnd(now) * MINUTE;
        expect(lag).toBeGreaterThanOrEqual(1.5 * MINUTE);
        expect(lag).toBeLessThan(4 * MINUTE);
      }),
    );
  });

  it('follow each other without a gap, whatever the range', () => {
    const ranges = fc.record({
      ago: fc.nat(100 * 1440),
      length: fc.integer({ min: 1, max: 100 * 1440 }),
      period: fc.option(fc.integer({ min: 1, max: 1e6 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(ranges, ({ ago, length, period }) => {
        const { spans } = range(ago * MINUTE, length * MINUTE, { period });
        const [whole] = range(ago * MINUTE, length * MINUTE, { period, summarize: true }).spans;
        expect([spans[0]!.from, spans.at(-1)!.to]).toEqual([whole!.from, whole!.to]);
        spans.slice(1).forEach((span, index) => expect(span.from).toBe(spans[index]!.to));
      }),
    );
  });
});

describe('a timestamp', () => {
  it.each([
    ['2026-05-20T14:00:00Z', Date.UTC(2026, 4, 20, 14)],
    ['2026-05-20T14:00:00+00:00', Date.UTC(2026, 4, 20, 14)],
    ['2026-05-20T14:00:00-02:00', Date.UTC(2026, 4, 20, 16)],
    ['2026-05-20T14:00:00+0530', Date.UTC(2026, 4, 20, 8, 30)],
    ['2026-05-20T14:00', Date.UTC(2026, 4, 20, 14)],
    ['2026-05-20T14:00:00 00:00', undefined],
    ['2026-13-20T14:00:00Z', undefined],
    ['yesterday', undefined],
  ])('is accepted with any offset, or refused: %s', (text, time) => {
    expect(parseTimestamp(text)).toBe(time);
  });

  it('is written in UTC to the second', () => {
    expect(formatTimestamp(NOW + 999)).toBe('2026-05-20T14:07:31+00:00');
  });
});
