import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { windowAt } from '../../src/collect/due.ts';

const at = (text: string): number => Date.parse(text);
const seconds = (text: string): number => at(text) / 1000;

describe('the window', () => {
  it.each([
    ['2026-01-01T00:10:00.000Z', 120_000, '2026-01-01T00:08:00Z'],
    ['2026-01-01T00:10:59.999Z', 120_000, '2026-01-01T00:08:00Z'],
    ['2026-01-01T00:11:00.000Z', 120_000, '2026-01-01T00:09:00Z'],
    ['2026-01-01T00:10:29.999Z', 90_000, '2026-01-01T00:08:00Z'],
    ['2026-01-01T00:10:30.000Z', 90_000, '2026-01-01T00:09:00Z'],
    ['2026-01-01T00:10:30.000Z', 0, '2026-01-01T00:10:00Z'],
  ])('at %s with a delay of %i ms ends at %s', (now, delay, end) => {
    expect(windowAt(at(now), { window: 1_800_000, delay })).toEqual({
      from: seconds(end) - 1800,
      to: seconds(end),
    });
  });

  it('never ends later than the delay ago, nor a minute earlier than that', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), fc.integer({ min: 0, max: 600_000 }), (now, delay) => {
        const { to } = windowAt(now, { window: 60_000, delay });
        expect(to % 60).toBeCloseTo(0);
        expect(now - delay - to * 1000).toBeGreaterThanOrEqual(0);
        expect(now - delay - to * 1000).toBeLessThan(60_000);
      }),
    );
  });
});
