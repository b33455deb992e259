import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Heap } from '../../src/collect/heap.ts';
import { DueQueue } from '../../src/collect/queue.ts';
import { Unit } from '../../src/collect/unit.ts';
import type { Group } from '../../src/metrics/groups.ts';

const INTERVALS: Partial<Record<Group, number>> = { hosts: 300_000 };
const NOW = 10_000_000;

/** A unit that holds something and has been due for `overdue` ms. */
function due(group: Group, overdue: number, failures = 0): Unit {
  const unit = new Unit(
    group,
    {},
    NOW - 1_000_000,
    () => Promise.resolve(),
    () => undefined,
  );
  unit.held = { windowEnd: 0, fetchedAt: NOW - overdue, value: undefined };
  unit.failures = failures;
  unit.retryAt = NOW - overdue;
  return unit;
}

function unread(group: Group, seenFor: number): Unit {
  return new Unit(
    group,
    {},
    NOW - seenFor,
    () => Promise.resolve(),
    () => undefined,
  );
}

function queue(...units: Unit[]): DueQueue {
  const result = new DueQueue({
    dueAt: (unit) => unit.held?.fetchedAt ?? -Infinity,
    intervalOf: (group) => INTERVALS[group] ?? 60_000,
    effectiveIntervalOf: (group) => 2 * (INTERVALS[group] ?? 60_000),
  });
  for (const unit of units) result.add(unit);
  return result;
}

function order(from: DueQueue): Unit[] {
  const taken: Unit[] = [];
  for (let unit = from.take(NOW); unit !== undefined; unit = from.take(NOW)) taken.push(unit);
  return taken;
}

describe('the queue', () => {
  it('takes the most overdue first, measured by the interval of its group', () => {
    const hosts = due('hosts', 100_000);
    const metrics = due('host_metrics', 30_000);
    expect(order(queue(hosts, metrics))).toEqual([metrics, hosts]);
    const later = due('hosts', 200_000);
    expect(order(queue(metrics, later))).toEqual([later, metrics]);
  });

  it('takes ties in the order lists, key transactions, application metrics, hosts, host metrics', () => {
    const groups: Group[] = [
      'applications',
      'key_transactions',
      'metric_names',
      'custom_metrics',
      'application_metrics',
      'hosts',
      'host_metrics',
      'instances',
    ];
    const units = groups.toReversed().map((group) => due(group, 0));
    expect(order(queue(...units)).map(({ group }) => group)).toEqual(groups);
    const first = groups.toReversed().map((group) => unread(group, 0));
    expect(order(queue(...first)).map(({ group }) => group)).toEqual(groups);
  });

  it('takes the oldest first within a group, and equal ones as they came', () => {
    const [young, old, alike] = [due('hosts', 1_000), due('hosts', 9_000), due('hosts', 1_000)];
    expect(order(queue(young, old, alike))).toEqual([old, young, alike]);
  });

  it('takes what failed after all healthy work that is due, and before what is not due yet', () => {
    const failed = due('applications', 50_000, 1);
    const healthy = due('instances', 0);
    const soon = due('instances', -10_000);
    expect(order(queue(failed, soon, healthy))).toEqual([healthy, failed, soon]);
  });

  it('takes of what failed the one that may be tried again the longest, so that none keeps the others waiting', () => {
    const list = due('applications', 5_000, 1);
    const transactions = due('key_transactions', 10_000, 1);
    expect(order(queue(list, transactions))).toEqual([transactions, list]);
    const later = due('key_transactions', 5_000, 1);
    expect(order(queue(later, list))).toEqual([list, later]);
  });

  it('does not starve what failed: after an interval of waiting it competes with healthy work', () => {
    const failed = due('applications', 120_000 + 31_000, 7);
    const healthy = due('instances', 30_000);
    const older = due('host_metrics', 32_000);
    expect(order(queue(healthy, failed, older))).toEqual([older, failed, healthy]);
  });

  it('passes over units that are gone', () => {
    const [gone, kept] = [due('hosts', 9_000), due('hosts', 1_000)];
    gone.gone = true;
    expect(order(queue(gone, kept))).toEqual([kept]);
  });
});

describe('the heap', () => {
  it('gives what a stable sort gives', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 5 })), (keys) => {
        const heap = new Heap<number>();
        keys.forEach((key, index) => heap.push(key, index));
        const expected = keys.map((_, index) => index).sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0));
        expect(keys.map(() => heap.pop())).toEqual(expected);
        expect(heap.pop()).toBeUndefined();
      }),
    );
  });
});
