import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { windowAt } from '../../src/collect/inventory/window.ts';
import {
  dueAt,
  effectiveInterval,
  movedDueAt,
  nextRegularAttempt,
  planCalls,
  retryAt,
  concurrencySlowdown,
} from '../../src/collect/schedule/due.ts';
import { endsBefore } from '../../src/collect/inventory/task.ts';
import type { Group } from '../../src/reads/reads.ts';
import { collectionConfig } from './support/config.ts';
import { World } from './support/world.ts';

const timeOf = (text: string): number => Date.parse(text);
const seconds = (text: string): number => timeOf(text) / 1000;

describe('the window', () => {
  it.each([
    ['2026-01-01T00:10:00.000Z', 120_000, '2026-01-01T00:08:00Z'],
    ['2026-01-01T00:10:59.999Z', 120_000, '2026-01-01T00:08:00Z'],
    ['2026-01-01T00:11:00.000Z', 120_000, '2026-01-01T00:09:00Z'],
    ['2026-01-01T00:10:29.999Z', 90_000, '2026-01-01T00:08:00Z'],
    ['2026-01-01T00:10:30.000Z', 90_000, '2026-01-01T00:09:00Z'],
    ['2026-01-01T00:10:30.000Z', 0, '2026-01-01T00:10:00Z'],
  ])('at %s with a delay of %i ms ends at %s', (now, delay, end) => {
    expect(windowAt(timeOf(now), { window: 1_800_000, delay })).toEqual({
      from: seconds(end) - 1800,
      to: seconds(end),
    });
  });

  it('ends at least the delay ago, and less than a minute earlier', () => {
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

/** A value read some time after its window became readable, by the monotonic clock. */
const START = 1_000_000;
const held = (after: number) => ({ readableAt: START, readAt: START + after });

describe('a window with a delay of its own', () => {
  it('ends at the latest whole minute before its delay, wherever the common window ends', () => {
    const delay = fc.integer({ min: 0, max: 1_440 }).map((minutes) => minutes * 60_000);
    fc.assert(
      fc.property(
        delay,
        fc.integer({ min: 0, max: 600_000 }),
        fc.integer({ min: 0, max: 4e12 }),
        (delayOfTask, common, now) => {
          const { to } = windowAt(now, { window: 60_000, delay: common });
          const end = to - endsBefore(delayOfTask, common);
          // The delay counts from the moment when the common window becomes readable.
          expect(end).toBe(windowAt(to * 1000 + common, { window: 60_000, delay: delayOfTask }).to);
        },
      ),
    );
  });

  it('equals the common window where no delay is configured', () => {
    expect(endsBefore(undefined, 90_000)).toBe(0);
  });
});

describe('the due time of a held value', () => {
  it.each([
    ['with an interval of a minute is the next window, however late the read', 60_000, 1, 50_000, 60_000],
    ['with five minutes is the fifth window', 300_000, 1, 50_000, 300_000],
    ['with 90 seconds follows the clock', 90_000, 1, 10_000, 100_000],
    ['with 10 seconds is the next window', 10_000, 1, 10_000, 60_000],
    ['with 10 seconds and a late read follows the clock after the next window', 10_000, 1, 55_000, 65_000],
    ['with a minute slowed three times follows the clock', 60_000, 3, 10_000, 190_000],
    ['with 10 seconds slowed twice is twice the minute between windows', 10_000, 2, 5_000, 125_000],
  ])('%s', (_, interval, slowdown, readAfter, dueAfter) => {
    expect(dueAt(held(readAfter), interval, slowdown) - START).toBe(dueAfter);
  });

  it('is not stretched where the budget carries the interval', () => {
    expect(effectiveInterval(10_000, 1)).toBe(10_000);
    expect(effectiveInterval(10_000, 1.5)).toBe(90_000);
    expect(effectiveInterval(300_000, 1.5)).toBe(450_000);
  });
});

describe('the due time after a change of the effective interval', () => {
  const NOW = 600_000;
  const moved = (due: number, from: number, to: number, laterBy = 0) =>
    movedDueAt(NOW, { dueAt: due, interval: from }, { dueAt: due - from + to, interval: to, laterBy });

  it.each([
    ['stays in the past if the value is already due', NOW - 1, 60_000, 600_000, NOW - 1],
    ['stays in the past if the value is already due, also with a shorter interval', NOW - 1, 600_000, 60_000, NOW - 1],
    ['counts a longer interval from the last read', NOW + 10_000, 60_000, 90_000, NOW + 40_000],
    ['leaves the same share of a shorter interval', NOW + 300_000, 600_000, 60_000, NOW + 30_000],
  ])('%s', (_, due, from, to, expected) => {
    expect(moved(due, from, to)).toBe(expected);
  });

  it('stays with the same interval, whatever the due time by that interval would be', () => {
    const before = { dueAt: NOW + 10_000, interval: 60_000 };
    expect(movedDueAt(NOW, before, { dueAt: NOW + 50_000, interval: 60_000, laterBy: 0 })).toBe(NOW + 10_000);
  });

  it('moves with the delay, but not to before now', () => {
    expect(moved(NOW + 10_000, 60_000, 60_000, 60_000)).toBe(NOW + 70_000);
    expect(moved(NOW + 10_000, 60_000, 60_000, -60_000)).toBe(NOW);
    expect(moved(NOW - 10_000, 60_000, 60_000, 60_000)).toBe(NOW - 10_000);
  });

  it('never moves to before now, and is at most one of the intervals away, for any changes', () => {
    const intervals = fc.array(fc.integer({ min: 1_000, max: 7_200_000 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 7_200_000 }), intervals, fc.nat(600_000), (first, later, step) => {
        const last = { dueAt: first, interval: first };
        let now = 0;
        for (const interval of later) {
          now += step;
          const before = last.dueAt;
          last.dueAt = movedDueAt(now, last, { dueAt: interval, interval, laterBy: 0 });
          last.interval = interval;
          if (before <= now) expect(last.dueAt).toBe(before);
          else expect(last.dueAt).toBeGreaterThanOrEqual(now);
          expect(last.dueAt).toBeLessThanOrEqual(Math.max(first, ...later));
        }
      }),
    );
  });
});

describe('the state of a held value', () => {
  function account() {
    const world = World.create(1);
    const [first] = world.collector.collectors();
    if (first === undefined) throw new Error('no account');
    return { world, schedule: first.schedule, list: first.inventory.applicationList };
  }
  const { max_age: maxAge } = collectionConfig();

  /** The state at times that are counted from the due time. */
  async function state(asOf: number, now = asOf) {
    const { world, schedule, list } = account();
    await world.scrape();
    const due = list.lastRead?.dueAt ?? NaN;
    return schedule.stateOf(list, { asOf: due + asOf, now: due + now });
  }

  it('is fresh until it is due, then stale for max_age, then missing', async () => {
    expect(await state(-1)).toBe('fresh');
    expect(await state(0)).toBe('stale');
    expect(await state(maxAge)).toBe('stale');
    expect(await state(maxAge + 1)).toBe('missing');
  });

  it('is fresh by the start of the scrape, and too old by its end', async () => {
    expect(await state(-1, 5_000)).toBe('fresh');
    expect(await state(maxAge - 1_000, maxAge + 1_000)).toBe('missing');
  });

  it('is late only after a scrape asked for the due value and ended without it', async () => {
    const { world, list } = account();
    const isLate = () => world.status.tasks.find(({ group }) => group === 'applications')?.isLate;
    await world.scrape();
    await world.clock.advance((list.lastRead?.dueAt ?? NaN) - world.clock.monotonic() + 1_000);
    expect([world.status.tasks[0]?.state, isLate()]).toEqual(['stale', false]);
    world.reader.fault = () => ({ reason: 'server' });
    await world.scrape();
    expect([world.status.tasks[0]?.state, isLate()]).toEqual(['stale', true]);
  });

  it('is missing without a value', () => {
    const { schedule, list } = account();
    expect(schedule.stateOf(list, { asOf: 0, now: 0 })).toBe('missing');
  });
});

describe('a failed read', () => {
  // Late retries come once per window, so that a scrape every minute does not miss every second one.
  it.each([
    [1, 60_000, 5_100],
    [2, 60_000, 10_100],
    [4, 60_000, 40_100],
    [5, 60_000, 60_000],
    [400, 60_000, 60_000],
    [1, 2_000, 2_100],
    [9, 7_000, 7_100],
    [6, 21_600_000, 160_100],
    [9, 21_600_000, 300_000],
  ])('after %i failures with an interval of %i ms is retried after %i ms', (failures, interval, after) => {
    expect(retryAt(failures, held(100), interval)).toBe(START + after);
  });

  it('is retried within an interval of the attempt', () => {
    expect(nextRegularAttempt(held(30_000), 60_000)).toBe(START + 60_000);
    expect(nextRegularAttempt(held(-30_000), 60_000)).toBe(START + 30_000);
  });
});

const { intervals } = collectionConfig();
const intervalOf = (group: Group): number =>
  intervals[group === 'custom_metrics' || group === 'golden_metrics' || group === 'queries' ? 'metric_names' : group];

const carried = (perMinute: number, slowed = 1) => ({
  perMinute,
  concurrencySlowdown: slowed,
  concurrencyCapacity: undefined,
});

describe('the plan', () => {
  it('counts the calls per minute of each group at its interval', () => {
    const calls = new Map<Group, number>([
      ['applications', 1],
      ['application_metrics', 100],
      ['hosts', 100],
      ['host_metrics', 400],
    ]);
    const plan = planCalls(calls, intervalOf, carried(600));
    expect(plan.groups.map(({ group, callsPerMinute }) => [group, callsPerMinute])).toEqual([
      ['applications', 1],
      ['application_metrics', 100],
      ['hosts', 20],
      ['host_metrics', 400],
    ]);
    expect(plan.callsPerMinute).toBe(521);
    expect(plan.slowdown).toBe(1);
  });

  it('slows every group by the same factor when the budget cannot carry them', () => {
    const plan = planCalls(
      new Map([
        ['application_metrics', 900],
        ['hosts', 1500],
      ] as const),
      intervalOf,
      carried(600),
    );
    expect(plan.slowdown).toBe(2);
    expect(plan.groups.map(({ effectiveInterval }) => effectiveInterval)).toEqual([120_000, 600_000]);
  });

  it('slows every group by the limit of calls at once where that is stricter', () => {
    const calls = new Map([['application_metrics', 900]] as const);
    expect(planCalls(calls, intervalOf, carried(600, 3)).slowdown).toBe(3);
    expect(planCalls(calls, intervalOf, carried(600, 1.2)).slowdown).toBe(1.5);
  });

  it('counts an interval below a minute as a minute, because nothing is read twice in a window', () => {
    expect(planCalls(new Map([['applications', 3]] as const), () => 1_000, carried(600)).callsPerMinute).toBe(3);
  });

  it('never plans more calls than the budget', () => {
    const calls = fc.dictionary(fc.constantFrom<Group>('applications', 'hosts', 'host_metrics'), fc.nat(5_000));
    fc.assert(
      fc.property(calls, fc.integer({ min: 1, max: 1_000 }), (groups, budget) => {
        const plan = planCalls(new Map(Object.entries(groups) as [Group, number][]), intervalOf, carried(budget));
        const rate = plan.groups.reduce(
          (sum, group) => sum + (group.callsPerRefresh * 60_000) / Math.max(60_000, group.effectiveInterval),
          0,
        );
        expect(rate).toBeLessThanOrEqual(budget + 1e-6);
      }),
    );
  });
});

describe('the slowdown by the limit of calls at once', () => {
  it.each([
    ['is 1 where the capacity suffices', 1, 0.99, 1],
    ['is 1 where nothing is needed', 1, 0, 1],
    ['follows a growing need, with some headroom', 1, 2.5, 2.75],
    ['follows the need further', 2.75, 3, 3.3],
    ['stays while slightly less is needed', 2.75, 2.2, 2.75],
    ['falls once clearly less is needed', 2.75, 2, 2.2],
    ['ends where the capacity suffices again', 1.2, 0.5, 1],
  ])('%s', (_, before, needed, after) => {
    expect(concurrencySlowdown(before, needed)).toBeCloseTo(after);
  });

  it('stays the same while the measured capacity varies', () => {
    let factor = 1;
    const seen = new Set<number>();
    for (const needed of [2, 2.1, 1.95, 2.15, 2.05, 1.9, 2.2]) {
      factor = concurrencySlowdown(factor, needed);
      seen.add(factor);
    }
    expect([...seen]).toEqual([2.2]);
  });

  it('never lets the plan exceed the capacity of the account', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 50, noNaN: true })), (needs) => {
        let factor = 1;
        for (const needed of needs) {
          factor = concurrencySlowdown(factor, needed);
          expect(factor).toBeGreaterThanOrEqual(Math.max(1, needed));
        }
      }),
    );
  });
});
