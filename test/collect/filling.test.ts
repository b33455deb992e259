import { describe, expect, it } from 'vitest';
import { Entity } from '../../src/collect/entity.ts';
import type { EntityRead } from '../../src/collect/kinds.ts';
import { Refresh, Refreshes } from '../../src/collect/refreshes.ts';
import { Scheduler } from '../../src/collect/scheduler.ts';
import { FakeReader } from './support/fakeReader.ts';
import { settled, VirtualClock } from './support/virtualClock.ts';
import { EVERYTHING, REST } from './support/world.ts';

/** A refresh that is being filled, and whether a scrape that waits for it has been let go: with true when it was over. */
function filling(canEnd: () => boolean) {
  const clock = new VirtualClock();
  const refreshes = new Refreshes(clock, () => undefined);
  const refresh = new Refresh(EVERYTHING, 0, { reader: new FakeReader(clock, REST), customMetrics: [] });
  refreshes.open(refresh);
  refresh.beginFilling();
  const answered: boolean[] = [];
  void refreshes.wait(refresh, Infinity, canEnd).then((over) => answered.push(over));
  return { refreshes, refresh, answered };
}

function entity(applicationId: number): Entity {
  return new Entity('application_metrics', { applicationId }, 0);
}

describe('a refresh that is being filled', () => {
  it('is not over, though it waits for nothing yet', async () => {
    const { refreshes, refresh, answered } = filling(() => true);
    refreshes.closeIfDone(refresh);
    refreshes.notify();
    await settled();
    expect(answered).toEqual([]);
    refresh.endFilling();
    refreshes.closeIfDone(refresh);
    refreshes.notify();
    await settled();
    expect(answered).toEqual([true]);
  });

  it('is not given up before it is known what it waits for', async () => {
    const { refreshes, refresh, answered } = filling(() => false);
    await settled();
    expect(answered).toEqual([]);
    refresh.add(entity(1));
    refresh.endFilling();
    refreshes.notify();
    await settled();
    expect(answered).toEqual([false]);
  });

  it('goes on with what others have read meanwhile, and counts no failure of what it does not wait for', () => {
    const { refreshes, refresh } = filling(() => true);
    expect(refreshes.ended(entity(1), true)).toEqual([refresh]);
    expect(refresh.failures).toBe(0);
    refresh.endFilling();
    expect(refreshes.ended(entity(1), true)).toEqual([]);
  });

  it('is filled as long as one of several fillings goes on', () => {
    const { refresh } = filling(() => true);
    refresh.beginFilling();
    refresh.endFilling();
    expect(refresh.filling).toBe(true);
    refresh.endFilling();
    expect(refresh.filling).toBe(false);
  });
});

/** A scheduler whose calls never end and carry `perCall` entities; what each was made for. */
function scheduling(perCall: number, atOnce: number) {
  const calls: (number | undefined)[][] = [];
  const read: EntityRead = {
    nextCall: (entities) => ({ count: Math.min(entities.length, perCall), calls: 1 }),
    callsFor: (entities) => Math.ceil(entities.length / perCall),
    read: (entities) => {
      calls.push(entities.map(({ subject }) => subject.applicationId));
      return new Promise(() => undefined);
    },
  };
  const limits = { requests_per_minute: 100, max_concurrent_requests: atOnce, request_timeout: 1_000 };
  const scheduler = new Scheduler(limits, new VirtualClock(), {
    dueAt: () => -Infinity,
    intervalOf: () => 60_000,
    effectiveIntervalOf: () => 60_000,
    isDoubtful: () => false,
    window: () => ({ from: 0, to: 60, readableAt: 0 }),
    read: () => read,
    companions: () => [],
    mayStart: () => true,
    retryAt: () => 0,
    queued: () => undefined,
    ended: () => undefined,
  });
  return { scheduler, calls };
}

describe('a queue that is held', () => {
  it('has nothing read before all who hold it let go, and then fills calls with all of it', async () => {
    const { scheduler, calls } = scheduling(5, 5);
    const releases = [scheduler.hold(), scheduler.hold()];
    scheduler.enqueue(entity(1));
    scheduler.pump();
    releases[0]?.();
    await settled();
    expect(calls).toEqual([]);
    scheduler.enqueue(entity(2));
    releases[1]?.();
    await settled();
    expect(calls).toEqual([[1, 2]]);
  });
});

describe('calls for which there are places', () => {
  it('start eight at a time, so that other work gets its turn, and all of them start', async () => {
    const { scheduler, calls } = scheduling(1, 20);
    for (let id = 1; id <= 30; id += 1) scheduler.enqueue(entity(id));
    scheduler.pump();
    expect(calls).toHaveLength(8);
    await settled();
    expect(calls.flat()).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });
});
