import { describe, expect, it } from 'vitest';
import { FailureMemory, type Suspect } from '../../../src/api/http/failureMemory.ts';
import { UpstreamError } from '../../../src/api/upstreamError.ts';

const KIND = 'application metrics';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function start() {
  let now = 0;
  return { failures: new FailureMemory(() => now), pass: (ms: number) => (now += ms) };
}

const failure = new UpstreamError('no', { reason: 'server' });
const SUSPECT = { kind: KIND, id: 7 };

/** Makes a call for a subject alone, which fails; false: it was not made. */
function failAlone(failures: FailureMemory, suspect: Suspect): boolean {
  const alone = failures.beginAlone(suspect);
  if (alone instanceof UpstreamError) return false;
  failures.endAlone(alone, failure);
  return true;
}

describe('what once broke a query that others shared', () => {
  it('is asked alone until it has answered well 30 times, and begins anew when it breaks a query again', () => {
    const { failures } = start();
    expect(failures.isSuspect(KIND, 7)).toBe(false);
    for (let round = 0; round < 2; round += 1) {
      failures.recordFailure(SUSPECT, failure);
      for (let response = 0; response < 30; response += 1) {
        expect(failures.isSuspect(KIND, 7)).toBe(true);
        failures.recordSuccess(SUSPECT);
      }
      expect(failures.isSuspect(KIND, 7)).toBe(false);
    }
  });

  it('is one host of an application, or the application, in one kind of query', () => {
    const { failures } = start();
    failures.recordFailure({ kind: KIND, id: 7, part: 'a' }, failure);
    const has = [failures.isSuspect(KIND, 7), failures.isSuspect(KIND, 7, 'b'), failures.isSuspect('hosts', 7, 'a')];
    expect([failures.isSuspect(KIND, 7, 'a'), ...has]).toEqual([true, false, false, false]);
  });

  it('is not asked any more after four failures in a minute, whatever was asked of it', () => {
    const { failures, pass } = start();
    failures.recordFailure(SUSPECT, failure);
    for (const kind of [KIND, 'hosts', KIND]) expect(failAlone(failures, { kind, id: 7 })).toBe(true);
    pass(MINUTE / 2);
    expect(failAlone(failures, { ...SUSPECT, part: 'a' })).toBe(true);
    expect(failAlone(failures, SUSPECT)).toBe(false);
    expect(failAlone(failures, { kind: KIND, id: 8 })).toBe(true);
    pass(MINUTE / 2);
    expect(failAlone(failures, SUSPECT)).toBe(true);
  });

  it('is asked by at most four calls at once, of which each may fail', () => {
    const { failures } = start();
    failures.recordFailure(SUSPECT, failure);
    const calls = Array.from({ length: 5 }, () => failures.beginAlone(SUSPECT));
    expect(calls.map((call) => call === failure)).toEqual([false, false, false, false, true]);
    for (const call of calls) if (!(call instanceof UpstreamError)) failures.endAlone(call, undefined);
    expect(failures.beginAlone(SUSPECT)).not.toBe(failure);
  });

  it('is read with all others again once it is acquitted', () => {
    const { failures } = start();
    failures.recordFailure(SUSPECT, failure);
    failures.acquit(SUSPECT);
    expect(failures.isSuspect(KIND, 7)).toBe(false);
  });

  it('is forgotten an hour after it was asked for last', () => {
    const { failures, pass } = start();
    failures.recordFailure(SUSPECT, failure);
    pass(HOUR);
    failAlone(failures, SUSPECT);
    pass(HOUR);
    failures.forgetOld();
    expect(failures.isSuspect(KIND, 7)).toBe(true);
    pass(1);
    failures.forgetOld();
    expect(failures.isSuspect(KIND, 7)).toBe(false);
  });
});

describe('an item that is left out', () => {
  it('is read again once its time is over, and is then forgotten', () => {
    const { failures, pass } = start();
    failures.omit(KIND, 7, 6 * HOUR);
    expect([failures.isOmitted(KIND, 7), failures.isOmitted(KIND, 8), failures.isOmitted('hosts', 7)]).toEqual([
      true,
      false,
      false,
    ]);
    pass(6 * HOUR);
    expect(failures.isOmitted(KIND, 7)).toBe(false);
    pass(HOUR);
    failures.forgetOld();
    expect(failures.hasOmissions).toBe(true);
    pass(1);
    failures.forgetOld();
    expect(failures.hasOmissions).toBe(false);
  });

  it('because it has no data is left out twice as long each time, up to the longest time, until it has some', () => {
    const { failures, pass } = start();
    const waits = [];
    for (let round = 0; round < 9; round += 1) {
      if (round === 7) failures.readmit(7, KIND);
      failures.omitWithoutData(KIND, 7, HOUR);
      let minutes = 0;
      for (; failures.isOmitted(KIND, 7); minutes += 1) pass(MINUTE);
      expect([failures.isReturning(KIND, 7), failures.isReturning('hosts', 7)]).toEqual([true, false]);
      waits.push(minutes);
    }
    expect(waits).toEqual([5, 10, 20, 40, 60, 60, 60, 5, 10]);
  });
});

describe('subjects without data', () => {
  it('return at most three a minute, and each within the longest time', () => {
    const { failures, pass } = start();
    for (let id = 0; id < 100; id += 1) failures.omitWithoutData(id % 2 === 0 ? KIND : 'hosts', id, HOUR);
    const returned: number[] = [];
    for (let minute = 0; minute < 60; minute += 1) {
      pass(MINUTE);
      const isBack = (id: number): boolean => failures.isReturning(id % 2 === 0 ? KIND : 'hosts', id);
      returned.push(Array.from({ length: 100 }, (_, id) => id).filter(isBack).length);
    }
    const more = returned.map((count, minute) => count - (returned[minute - 1] ?? 0));
    expect(more.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(Math.max(...more)).toBe(3);
    expect(returned.at(-1)).toBe(100);
  });

  it('return after the longest time, where that leaves them no distance', () => {
    const { failures, pass } = start();
    for (let id = 0; id < 100; id += 1) failures.omitWithoutData(KIND, id, 10 * MINUTE);
    pass(10 * MINUTE);
    expect(Array.from({ length: 100 }, (_, id) => id).every((id) => failures.isReturning(KIND, id))).toBe(true);
  });
});

describe('an account whose calls fail', () => {
  it('has an open circuit after three in a row with one key, until a call is answered', () => {
    const { failures } = start();
    for (const isOpen of [false, false, true]) {
      failures.recordCall('key', false);
      expect(failures.isCircuitOpen('key')).toBe(isOpen);
    }
    expect(failures.isCircuitOpen('another')).toBe(false);
    failures.recordCall('another', false);
    expect([failures.isCircuitOpen('key'), failures.isCircuitOpen('another')]).toEqual([false, false]);
    for (let call = 0; call < 2; call += 1) failures.recordCall('another', false);
    expect(failures.isCircuitOpen('another')).toBe(true);
    failures.recordCall('another', true);
    expect(failures.isCircuitOpen('another')).toBe(false);
  });
});
