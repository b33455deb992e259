import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planCalls, slowedBy } from '../../src/collect/due.ts';
import type { Group } from '../../src/metrics/sample.ts';
import { collectionConfig } from './support/config.ts';

const { intervals } = collectionConfig();
const intervalOf = (group: Group): number =>
  intervals[group === 'custom_metrics' || group === 'queries' ? 'metric_names' : group];

const carried = (perMinute: number, slowed = 1) => ({ perMinute, slowed, byPlaces: undefined });

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
    expect(plan.stretch).toBe(1);
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
    expect(plan.stretch).toBe(2);
    expect(plan.groups.map(({ effectiveInterval }) => effectiveInterval)).toEqual([120_000, 600_000]);
  });

  it('slows every group by what the calls at once ask for, where that is more', () => {
    const calls = new Map([['application_metrics', 900]] as const);
    expect(planCalls(calls, intervalOf, carried(600, 3)).stretch).toBe(3);
    expect(planCalls(calls, intervalOf, carried(600, 1.2)).stretch).toBe(1.5);
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

describe('the factor by which calls at once slow an account', () => {
  it('is 1 where they carry what is needed', () => {
    expect(slowedBy(1, 0.99)).toBe(1);
    expect(slowedBy(1, 0)).toBe(1);
  });

  it('follows a need that grows, with some room', () => {
    expect(slowedBy(1, 2.5)).toBeCloseTo(2.75);
    expect(slowedBy(2.75, 3)).toBeCloseTo(3.3);
  });

  it('does not go up and down with what is measured', () => {
    let factor = 1;
    const seen = new Set<number>();
    for (const needed of [2, 2.1, 1.95, 2.15, 2.05, 1.9, 2.2]) {
      factor = slowedBy(factor, needed);
      seen.add(factor);
    }
    expect([...seen]).toEqual([2.2]);
  });

  it('is given up once clearly less is needed', () => {
    expect(slowedBy(2.75, 2.2)).toBe(2.75);
    expect(slowedBy(2.75, 2)).toBeCloseTo(2.2);
    expect(slowedBy(1.2, 0.5)).toBe(1);
  });

  it('never lets an account be asked for more than it can carry', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 50, noNaN: true })), (needs) => {
        let factor = 1;
        for (const needed of needs) {
          factor = slowedBy(factor, needed);
          expect(factor).toBeGreaterThanOrEqual(Math.max(1, needed));
        }
      }),
    );
  });
});
