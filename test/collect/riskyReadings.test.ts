import { describe, expect, it } from 'vitest';
import { RiskyReadings } from '../../src/collect/scheduler.ts';

/** How many more may begin with so many calls at once; they do begin. */
function begun(risky: RiskyReadings, places: number): number {
  let count = 0;
  for (; count <= places && risky.mayBegin(places); count += 1) risky.begin();
  return count;
}

describe('readings of what may hang', () => {
  it.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [8, 4],
    [25, 12],
  ])('take of %d calls at once at most %d', (places, most) => {
    expect(begun(new RiskyReadings(), places)).toBe(most);
  });

  it('begin again when one has ended, whichever way', () => {
    const risky = new RiskyReadings();
    begun(risky, 8);
    risky.end(false);
    expect(begun(risky, 8)).toBe(1);
  });

  it('may be one more for each in a row that ended well, until one fails', () => {
    const risky = new RiskyReadings();
    begun(risky, 8);
    risky.end(true);
    expect(begun(risky, 8)).toBe(2);
    risky.end(true);
    expect(begun(risky, 8)).toBe(2);
    // Six are under way: of those only the last four leave room again.
    risky.end(false);
    expect(begun(risky, 8)).toBe(0);
    risky.end(false);
    expect(begun(risky, 8)).toBe(0);
    risky.end(false);
    expect(begun(risky, 8)).toBe(1);
  });
});
