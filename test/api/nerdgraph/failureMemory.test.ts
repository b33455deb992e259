import { describe, expect, it } from 'vitest';
import { FailureMemory } from '../../../src/api/nerdgraph/failureMemory.ts';
import { UpstreamError } from '../../../src/api/upstreamError.ts';

const READ = 'application_metrics';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const BUDGET = 600;

function start() {
  let now = 0;
  return { failures: new FailureMemory(() => now), pass: (ms: number) => (now += ms) };
}

const failure = new UpstreamError('no', { reason: 'server' });
const KEY = { read: READ, id: 7 };

describe('a subject that is read alone after failures', () => {
  it('returns to batches after one good read, and after three if it breaks a batch again within an hour', () => {
    const { failures, pass } = start();
    for (const [minutes, reads] of [
      [0, 1],
      [59, 3],
      [61, 1],
    ] as const) {
      pass(minutes * MINUTE);
      failures.setApart(KEY, failure);
      for (let read = 0; read < reads; read += 1) {
        expect(failures.isApart(READ, 7)).toBe(true);
        failures.recordGoodRead(KEY);
      }
      expect(failures.isApart(READ, 7)).toBe(false);
    }
  });

  it('needs three good reads in a row', () => {
    const { failures } = start();
    failures.setApart(KEY, failure);
    failures.setApart(KEY, failure);
    for (const isGood of [true, true, false, true, true]) {
      if (isGood) failures.recordGoodRead(KEY);
      else failures.recordFailureAlone(KEY, failure);
      expect(failures.isApart(READ, 7)).toBe(true);
    }
    failures.recordGoodRead(KEY);
    expect(failures.isApart(READ, 7)).toBe(false);
  });

  it('is one host of an application, or one application, for one kind of data', () => {
    const { failures } = start();
    failures.setApart({ ...KEY, host: 'a' }, failure);
    const others = [failures.isApart(READ, 7), failures.isApart(READ, 7, 'b'), failures.isApart('hosts', 7, 'a')];
    expect([failures.isApart(READ, 7, 'a'), ...others]).toEqual([true, false, false, false]);
    expect([failures.hasApartHost(READ, 7), failures.hasApartHost('hosts', 7)]).toEqual([true, false]);
  });

  it('is read alone at most four times a minute, for all kinds of data together', () => {
    const { failures, pass } = start();
    failures.setApart(KEY, failure);
    for (const read of [READ, 'hosts', READ, 'hosts'])
      expect(failures.beginCallAlone({ read, id: 7 }, BUDGET)).toBe(true);
    pass(MINUTE - 1);
    expect(failures.beginCallAlone(KEY, BUDGET)).toBe(false);
    expect(failures.beginCallAlone({ read: READ, id: 8 }, BUDGET)).toBe(true);
    pass(1);
    expect(failures.beginCallAlone(KEY, BUDGET)).toBe(true);
  });

  it('leaves nine tenths of the budget to other subjects', () => {
    const { failures } = start();
    for (const [budget, calls] of [
      [600, 60],
      [50, 5],
      [3, 1],
    ] as const) {
      const { failures: fresh } = start();
      const ids = Array.from({ length: 100 }, (_, id) => id);
      expect(ids.filter((id) => fresh.beginCallAlone({ read: READ, id }, budget))).toHaveLength(calls);
    }
    expect(failures.isEmpty).toBe(true);
  });

  it('is forgotten an hour after its last read', () => {
    const { failures, pass } = start();
    failures.setApart(KEY, failure);
    pass(HOUR);
    failures.beginCallAlone(KEY, BUDGET);
    pass(HOUR);
    failures.forgetOld();
    expect(failures.isApart(READ, 7)).toBe(true);
    pass(1);
    failures.forgetOld();
    expect(failures.isApart(READ, 7)).toBe(false);
  });
});

describe('a batch that fails temporarily', () => {
  it('is split after two such failures in a row of any of its subjects', () => {
    const { failures } = start();
    failures.recordPassing(READ, [1, 2]);
    failures.recordPassing(READ, [2, 3]);
    expect([[1, 3], [3, 2], [2]].map((ids) => failures.isPassingAgain(READ, ids))).toEqual([false, true, true]);
    expect(failures.isPassingAgain('hosts', [2])).toBe(false);
    failures.clearPassing(READ, [2]);
    expect(failures.isPassingAgain(READ, [2])).toBe(false);
  });
});

describe('subjects that a split did not reach', () => {
  it('come first in the next split, once, and the last of them first', () => {
    const { failures } = start();
    for (const id of [7, 8, 9]) failures.recordUnread(READ, id);
    expect(failures.takeUnread('hosts', [7, 8, 9])).toEqual([]);
    expect(failures.takeUnread(READ, [6, 7, 9])).toEqual([9, 7]);
    expect(failures.takeUnread(READ, [6, 7, 8, 9])).toEqual([8]);
  });
});
