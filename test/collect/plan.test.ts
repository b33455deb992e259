import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Costs } from '../../src/collect/costs.ts';
import { planCalls } from '../../src/collect/plan.ts';
import { Unit } from '../../src/collect/unit.ts';
import type { Group } from '../../src/metrics/groups.ts';
import { collectionConfig } from './support/config.ts';

const { intervals } = collectionConfig();
const intervalOf = (group: Group): number => intervals[group === 'custom_metrics' ? 'metric_names' : group];

describe('the plan', () => {
  it('counts the calls per minute of each group at its interval', () => {
    const calls = new Map<Group, number>([
      ['applications', 1],
      ['application_metrics', 100],
      ['hosts', 100],
      ['host_metrics', 400],
    ]);
    const plan = planCalls(calls, intervalOf, 600);
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
      600,
    );
    expect(plan.stretch).toBe(2);
    expect(plan.groups.map(({ effectiveInterval }) => effectiveInterval)).toEqual([120_000, 600_000]);
  });

  it('counts an interval below a minute as a minute, because nothing is read twice in a window', () => {
    expect(planCalls(new Map([['applications', 3]] as const), () => 1_000, 600).callsPerMinute).toBe(3);
  });

  it('never plans more calls than the budget', () => {
    const calls = fc.dictionary(fc.constantFrom<Group>('applications', 'hosts', 'host_metrics'), fc.nat(5_000));
    fc.assert(
      fc.property(calls, fc.integer({ min: 1, max: 1_000 }), (groups, budget) => {
        const plan = planCalls(new Map(Object.entries(groups) as [Group, number][]), intervalOf, budget);
        const rate = plan.groups.reduce(
          (sum, group) => sum + (group.callsPerRefresh * 60_000) / Math.max(60_000, group.effectiveInterval),
          0,
        );
        expect(rate).toBeLessThanOrEqual(budget + 1e-6);
      }),
    );
  });
});

describe('the costs', () => {
  const unit = (group: Group): Unit =>
    new Unit(
      group,
      {},
      0,
      () => Promise.resolve(),
      () => undefined,
    );

  it('follow units that come, turn out to take more calls, and go', () => {
    const costs = new Costs();
    const [one, two] = [unit('hosts'), unit('hosts')];
    costs.add(one);
    costs.add(two);
    costs.learn(one, 4);
    expect(costs.calls.get('hosts')).toBe(5);
    costs.remove(one);
    one.gone = true;
    costs.learn(one, 9);
    expect(costs.calls.get('hosts')).toBe(1);
    costs.remove(two);
    expect(costs.calls.has('hosts')).toBe(false);
  });
});
