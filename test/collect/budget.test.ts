import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Budget } from '../../src/collect/schedule/budget.ts';

const T = 1_000_000_000;

/** Makes `count` calls at `at` that take no time. */
function spend(budget: Budget, count: number, startTime: number): void {
  for (let call = 0; call < count; call += 1) {
    expect(budget.nextStart(startTime)).toBe(startTime);
    budget.start(startTime);
    budget.end(startTime);
  }
}

describe('the budget', () => {
  it('allows no more calls in a minute than its limit, and the next one when the oldest is over a minute old', () => {
    const budget = new Budget(3);
    spend(budget, 2, T);
    spend(budget, 1, T + 10_000);
    expect(budget.nextStart(T + 20_000)).toBe(T + 60_001);
    spend(budget, 2, T + 60_001);
    expect(budget.nextStart(T + 60_001)).toBe(T + 70_001);
  });

  it('keeps the number of recent calls when its limit changes', () => {
    const budget = new Budget(5);
    spend(budget, 5, T);
    budget.perMinute = 6;
    spend(budget, 1, T + 1);
    expect(budget.nextStart(T + 2)).toBe(T + 60_001);
    budget.perMinute = 2;
    expect(budget.nextStart(T + 2)).toBe(T + 60_001);
  });

  it('takes constant time for a call, however many calls came before it in the minute', () => {
    const calls = 100_000;
    const before = process.cpuUsage();
    const budget = new Budget(2 * calls);
    for (let call = 0; call < calls; call += 1) {
      budget.start(T + call / 4);
      budget.end(T + call / 4);
    }
    for (let call = 0; call < calls; call += 1) {
      const now = T + 59_999 + call / 4;
      if (budget.nextStart(now) !== now) throw new Error('not free');
    }
    expect(budget.lastMinute(T + 60_000 + calls / 4 - 1)).toBe(3);
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
  });
});

describe('an overload response', () => {
  it('pauses until the time that New Relic gives', () => {
    const budget = new Budget(600);
    budget.overloaded(T, T - 100, 30_000);
    expect(budget.nextStart(T)).toBe(T + 30_000);
    expect(budget.nextStart(T + 29_999)).toBe(T + 30_000);
    expect(budget.nextStart(T + 30_000)).toBe(T + 30_000);
  });

  it('without a time pauses for 5 seconds, doubled up to 60 while it repeats', () => {
    const budget = new Budget(600);
    let now = T;
    const pauses = Array.from({ length: 6 }, () => {
      budget.overloaded(now + 100, now, undefined);
      const pause = budget.lastPauseEnd - (now + 100);
      now += 100 + pause;
      return pause / 1000;
    });
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60]);
    budget.accepted(now);
    budget.overloaded(now + 500, now + 400, undefined);
    expect(budget.lastPauseEnd).toBe(now + 5_500);
  });

  it('is not forgotten when a call that was in flight with it succeeds', () => {
    const budget = new Budget(600);
    budget.overloaded(T, T - 100, undefined);
    budget.accepted(T - 50);
    budget.overloaded(T + 6_000, T + 5_000, undefined);
    expect(budget.lastPauseEnd).toBe(T + 16_000);
  });

  it('with a past time pauses for a second', () => {
    const budget = new Budget(600);
    budget.overloaded(T, T - 1, -60_000);
    expect(budget.lastPauseEnd).toBe(T + 1_000);
  });

  it('never pauses for more than 5 minutes, also when further responses come late', () => {
    const budget = new Budget(600);
    budget.overloaded(T, T - 100, 3_600_000);
    budget.overloaded(T + 9_000, T - 100, 3_600_000);
    expect(budget.lastPauseEnd).toBe(T + 300_000);
  });

  it('halves the rate once for calls in flight together, also when one ends after the pause', () => {
    const budget = new Budget(600);
    budget.overloaded(T, T - 100, 2_000);
    budget.overloaded(T + 1, T - 90, 1_999);
    budget.overloaded(T + 5_000, T - 80, undefined);
    expect(budget.inForce(T + 5_000)).toBe(300);
    expect(budget.nextStart(T + 5_000)).toBe(T + 5_000);
  });

  it('lets the rate recover in steps of a tenth every ten seconds after the pause', () => {
    const budget = new Budget(600);
    budget.overloaded(T, T - 100, 10_000);
    const rates = [0, 19, 20, 30, 40, 50, 60, 600].map((seconds) => budget.inForce(T + seconds * 1000));
    expect(rates).toEqual([300, 300, 360, 420, 480, 540, 600, 600]);
  });

  it.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 2],
  ])('reduces %i calls a minute to %i', (perMinute, reduced) => {
    const budget = new Budget(perMinute);
    budget.overloaded(T, T - 1, 1_000);
    expect(budget.inForce(T + 1_000)).toBe(reduced);
  });

  it('is followed by a wake-up for the next step of recovery', () => {
    const budget = new Budget(10);
    spend(budget, 5, T);
    budget.overloaded(T, T - 1, 1_000);
    expect(budget.nextStart(T + 1_000)).toBe(T + 11_000);
    expect(budget.nextStart(T + 4_000)).toBe(T + 11_000);
    expect(budget.nextStart(T + 11_000)).toBe(T + 11_000);
  });
});

/** A step of a caller that starts every allowed call: time passes, or the oldest call ends, well or not. */
const step = fc.record({
  pass: fc.integer({ min: 0, max: 30_000 }),
  end: fc.constantFrom('well', 'overload', 'overload without time', 'not yet'),
  resize: fc.option(fc.integer({ min: 1, max: 20 }), { freq: 20, nil: undefined }),
});

describe('for any sequence of times and responses', () => {
  it('New Relic never sees more calls than the budget in any 60 seconds, whether it counts starts or ends', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.array(step, { maxLength: 200 }),
        fc.nat(),
        (limit, steps, salt) => {
          const budget = new Budget(limit);
          let highest = limit;
          let now = T;
          const inFlight: number[] = [];
          const seen: number[] = [];
          for (const [index, { pass, end, resize }] of steps.entries()) {
            now += pass;
            if (resize !== undefined) budget.perMinute = resize;
            highest = Math.max(highest, resize ?? 0);
            while (budget.nextStart(now) === now) {
              budget.start(now);
              inFlight.push(now);
            }
            const startedAt = end === 'not yet' ? undefined : inFlight.shift();
            if (startedAt === undefined) continue;
            budget.end(now);
            const share = ((index * 7919 + salt) % 101) / 100;
            seen.push(startedAt + (now - startedAt) * share);
            if (end === 'overload') budget.overloaded(now, startedAt, 7_000);
            if (end === 'overload without time') budget.overloaded(now, startedAt, undefined);
          }
          seen.sort((a, b) => a - b);
          for (const [index, time] of seen.entries()) {
            const before = seen[index - highest];
            if (before !== undefined) expect(time - before).toBeGreaterThan(60_000);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
