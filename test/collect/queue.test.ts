import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Heap, DueQueue } from '../../src/collect/queue.ts';
import { Entity, type Kind } from '../../src/collect/entity.ts';
import type { Group } from '../../src/metrics/sample.ts';

const INTERVALS: Partial<Record<Group, number>> = { hosts: 300_000 };
const NOW = 10_000_000;

/** An entity that holds something and has been due for `overdue` ms. */
function due(kind: Kind, overdue: number, failures = 0): Entity {
  const entity = new Entity(kind, {}, NOW - 1_000_000);
  entity.begin(NOW - overdue);
  entity.succeed({ windowEnd: 0, windowStart: 0, readAt: NOW - overdue, shownAt: 0 });
  for (let failed = 0; failed < failures; failed += 1) entity.fail('failed', NOW - overdue);
  entity.waitUntil(NOW - overdue);
  return entity;
}

function unread(kind: Kind, seenFor: number): Entity {
  return new Entity(kind, {}, NOW - seenFor);
}

/** A host that was never read, of an application of that id. */
function unreadHost(applicationId: number, seenFor: number, kind: Kind = 'host_metrics'): Entity {
  return new Entity(kind, { applicationId, hostKey: '1' }, NOW - seenFor);
}

function queue(...entities: Entity[]): DueQueue {
  return queueOf(entities, new Set());
}

/** Doubtful are the hosts of the applications of these ids. */
function queueOf(entities: readonly Entity[], unanswered: ReadonlySet<number | undefined>): DueQueue {
  const result = new DueQueue({
    dueAt: (entity) => entity.held?.readAt ?? -Infinity,
    intervalOf: (group) => INTERVALS[group] ?? 60_000,
    effectiveIntervalOf: (group) => 2 * (INTERVALS[group] ?? 60_000),
    isDoubtful: ({ subject }) => unanswered.has(subject.applicationId),
  });
  for (const entity of entities) result.add(entity);
  return result;
}

function order(from: DueQueue): Entity[] {
  const taken: Entity[] = [];
  for (let entity = from.take(NOW, true); entity !== undefined; entity = from.take(NOW, true)) taken.push(entity);
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
    const kinds: Kind[] = [
      'applications',
      'key_transactions',
      'application_rolling',
      'key_transaction_rolling',
      'metric_names',
      'custom_names',
      'application_metrics',
      'hosts',
      'host_rolling',
      'host_metrics',
      'instances',
    ];
    const entities = kinds.toReversed().map((kind) => due(kind, 0));
    expect(order(queue(...entities)).map(({ kind }) => kind)).toEqual(kinds);
    const first = kinds.toReversed().map((kind) => unread(kind, 0));
    expect(order(queue(...first)).map(({ kind }) => kind)).toEqual(kinds);
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

  it('gives along with one those of its kind that are due, as long as there is room', () => {
    const [first, second, third] = [due('hosts', 9_000), due('hosts', 5_000), unread('hosts', 100)];
    const [soon, other] = [due('hosts', -1_000), due('instances', 20_000)];
    const all = queue(first, second, third, soon, other);
    const taken = all.take(NOW, true);
    expect(taken).toBe(other);
    const carried: Entity[] = [];
    expect(all.take(NOW, true)).toBe(first);
    expect(all.takeWith(first, NOW, (entity) => carried.push(entity) > 0)).toBe(true);
    expect(carried).toEqual([second, third]);
    expect(order(all)).toEqual([soon]);
  });

  it('leaves those for which there is no room, and never mixes what failed with what is healthy', () => {
    const [healthy, more, failed, alike] = [
      due('hosts', 9_000),
      due('hosts', 5_000),
      due('hosts', 9_000, 1),
      due('hosts', 8_000, 2),
    ];
    const all = queue(healthy, more, failed, alike);
    expect(all.take(NOW, true)).toBe(healthy);
    expect(all.takeWith(healthy, NOW, () => false)).toBe(false);
    expect(all.take(NOW, true)).toBe(more);
    expect(all.take(NOW, true)).toBe(failed);
    const carried: Entity[] = [];
    all.takeWith(failed, NOW, (entity) => carried.push(entity) > 0);
    expect(carried).toEqual([alike]);
  });

  it('takes doubtful hosts behind the others that were never read, and before the kinds that come later', () => {
    const [doubtful, other, instances] = [unreadHost(1, 9_000), unreadHost(2, 1_000), unread('instances', 9_000)];
    expect(order(queueOf([doubtful, instances, other], new Set([1])))).toEqual([other, doubtful, instances]);
  });

  it('takes hosts as they came once their application is answered', () => {
    const unanswered = new Set([1, 3]);
    const [hanging, answered, other] = [unreadHost(3, 9_000), unreadHost(1, 8_000), unreadHost(2, 1_000)];
    const all = queueOf([hanging, answered, other], unanswered);
    unanswered.delete(1);
    all.reconsider();
    expect(order(all)).toEqual([answered, other, hanging]);
  });

  it('leaves what failed and doubtful hosts where nothing risky may be taken', () => {
    const [failed, starved] = [due('applications', 1_000, 1), due('hosts', 1_000_000, 1)];
    const [doubtful, rolling] = [unreadHost(1, 9_000), unreadHost(1, 9_000, 'host_rolling')];
    const [held, soon, never] = [due('hosts', 9_000), due('instances', -1_000), unread('instances', 1_000)];
    const all = queueOf([failed, starved, doubtful, rolling, held, soon, never], new Set([1]));
    expect([all.size, all.sizeWithoutRisky]).toEqual([7, 3]);
    expect([failed, starved, doubtful, rolling, held, soon, never].map((entity) => all.isRisky(entity))).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    expect([0, 1, 2, 3].map(() => all.take(NOW, false))).toEqual([held, never, soon, undefined]);
    expect([all.size, all.sizeWithoutRisky]).toEqual([4, 0]);
    expect(order(all)).toEqual([starved, rolling, doubtful, failed]);
  });

  it('never mixes doubtful hosts with others', () => {
    const [doubtful, alike] = [unreadHost(1, 9_000), unreadHost(1, 8_000)];
    const [other, held, last] = [unreadHost(2, 1_000), due('host_metrics', 9_000), due('host_metrics', 0)];
    const all = queueOf([doubtful, alike, other, held], new Set([1]));
    const carried: Entity[] = [];
    const carry = (entity: Entity): boolean => carried.push(entity) > 0;
    expect(all.take(NOW, true)).toBe(held);
    all.takeWith(held, NOW, carry);
    expect(carried).toEqual([other]);
    expect(all.take(NOW, true)).toBe(doubtful);
    all.add(last);
    all.takeWith(doubtful, NOW, carry);
    expect(carried).toEqual([other, alike]);
  });

  it('passes over entities that are gone', () => {
    const [gone, kept] = [due('hosts', 9_000), due('hosts', 1_000)];
    gone.retire();
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
