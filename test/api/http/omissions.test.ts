import { describe, expect, it } from 'vitest';
import { Omissions } from '../../../src/api/http/omissions.ts';

const KIND = 'application metrics';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function start() {
  let now = 0;
  return { omissions: new Omissions(() => now), pass: (ms: number) => (now += ms) };
}

describe('an item that is left out', () => {
  it('is read again after its time, and then forgotten', () => {
    const { omissions, pass } = start();
    omissions.omit(KIND, 7, 6 * HOUR);
    expect([omissions.isOmitted(KIND, 7), omissions.isOmitted(KIND, 8), omissions.isOmitted('hosts', 7)]).toEqual([
      true,
      false,
      false,
    ]);
    pass(6 * HOUR);
    expect(omissions.isOmitted(KIND, 7)).toBe(false);
    pass(HOUR);
    omissions.forgetOld();
    expect(!omissions.isEmpty).toBe(true);
    pass(1);
    omissions.forgetOld();
    expect(!omissions.isEmpty).toBe(false);
  });

  it('for lack of data is left out twice as long each time, up to a maximum, until it has data', () => {
    const { omissions, pass } = start();
    const waits = [];
    for (let round = 0; round < 9; round += 1) {
      if (round === 7) omissions.readmit(7, KIND);
      omissions.omitWithoutData(KIND, 7, HOUR);
      let minutes = 0;
      for (; omissions.isOmitted(KIND, 7); minutes += 1) pass(MINUTE);
      expect([omissions.isReturning(KIND, 7), omissions.isReturning('hosts', 7)]).toEqual([true, false]);
      waits.push(minutes);
    }
    expect(waits).toEqual([5, 10, 20, 40, 60, 60, 60, 5, 10]);
  });
});

describe('subjects without data', () => {
  it('return at most three a minute, and each within the maximum time', () => {
    const { omissions, pass } = start();
    for (let id = 0; id < 100; id += 1) omissions.omitWithoutData(id % 2 === 0 ? KIND : 'hosts', id, HOUR);
    const returned: number[] = [];
    for (let minute = 0; minute < 60; minute += 1) {
      pass(MINUTE);
      const isBack = (id: number): boolean => omissions.isReturning(id % 2 === 0 ? KIND : 'hosts', id);
      returned.push(Array.from({ length: 100 }, (_, id) => id).filter(isBack).length);
    }
    const more = returned.map((count, minute) => count - (returned[minute - 1] ?? 0));
    expect(more.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(Math.max(...more)).toBe(3);
    expect(returned.at(-1)).toBe(100);
  });

  it('return after the maximum time, also all at once', () => {
    const { omissions, pass } = start();
    for (let id = 0; id < 100; id += 1) omissions.omitWithoutData(KIND, id, 10 * MINUTE);
    pass(10 * MINUTE);
    expect(Array.from({ length: 100 }, (_, id) => id).every((id) => omissions.isReturning(KIND, id))).toBe(true);
  });
});
