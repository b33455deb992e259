import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { remedies } from '../../src/tools/plan.ts';
import { planCalls } from '../../src/collect/due.ts';
import type { Plan } from '../../src/collect/due.ts';
import { parseDuration } from '../../src/config/duration.ts';
import type { Group } from '../../src/reads/reads.ts';

const MINUTE = 60_000;

const planOf = (calls: Readonly<Partial<Record<Group, number>>>, budget: number, slow?: [string, number]): Plan =>
  planCalls(new Map(Object.entries(calls) as [Group, number][]), (group) => (group === slow?.[0] ? slow[1] : MINUTE), {
    perMinute: budget,
    concurrencySlowdown: 1,
    concurrencyCapacity: undefined,
  });

describe('what to change when a plan does not fit', () => {
  it('is nothing when it fits', () => {
    expect(remedies(planOf({ applications: 1, application_metrics: 599 }, 600), 'rest')).toEqual([]);
  });

  it('is a larger budget where the account allows one, or a longer interval of a group that makes up for it', () => {
    expect(remedies(planOf({ applications: 1, application_metrics: 100, host_metrics: 700 }, 600), 'rest')).toEqual([
      'each of these would make it fit: limits.requests_per_minute: 801; collection.intervals.host_metrics: 2m',
    ]);
  });

  it('is no budget above what the service allows an account through its interface', () => {
    const plan = planOf({ application_metrics: 400, host_metrics: 2_000 }, 600);
    const interval = 'collection.intervals.host_metrics: 10m';
    expect(remedies(plan, 'rest')).toEqual([`each of these would make it fit: ${interval}`]);
    expect(remedies(plan, 'nerdgraph')).toEqual([
      `each of these would make it fit: limits.requests_per_minute: 2400; ${interval}`,
    ]);
  });

  it('is every interval where no single setting is enough', () => {
    expect(remedies(planOf({ application_metrics: 5_000, host_metrics: 5_000 }, 600), 'rest')).toEqual([
      'each of these would make it fit: collection.intervals: each of them 17 times as long',
    ]);
  });

  it('makes the plan fit, whichever setting is taken', () => {
    const calls = fc.record({
      applications: fc.integer({ min: 1, max: 50 }),
      application_metrics: fc.integer({ min: 1, max: 1_500 }),
      host_metrics: fc.integer({ min: 1, max: 5_000 }),
    });
    fc.assert(
      fc.property(calls, fc.integer({ min: 1, max: 1_000 }), (ofGroups, budget) => {
        const [advice = ''] = remedies(planOf(ofGroups, budget), 'rest');
        const more = /requests_per_minute: (\d+)/.exec(advice)?.[1];
        if (more !== undefined) expect(planOf(ofGroups, Number(more)).slowdown).toBe(1);
        for (const [, group = '', interval = ''] of advice.matchAll(/intervals\.(\w+): (\w+)/g)) {
          expect(planOf(ofGroups, budget, [group, parseDuration(interval) ?? 0]).slowdown).toBe(1);
        }
      }),
    );
  });
});
