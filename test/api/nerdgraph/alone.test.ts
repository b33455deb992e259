import { describe, expect, it } from 'vitest';
import { Alone } from '../../../src/api/nerdgraph/batching.ts';

describe('what once broke a query that others shared', () => {
  it('is asked alone until it has answered well 30 times', () => {
    const alone = new Alone();
    expect(alone.has(7)).toBe(false);
    alone.broke(7);
    for (let answer = 0; answer < 30; answer += 1) {
      expect(alone.has(7)).toBe(true);
      alone.answered(7);
    }
    expect(alone.has(7)).toBe(false);
  });

  it('begins anew when it breaks a query again', () => {
    const alone = new Alone();
    alone.broke(7);
    for (let answer = 0; answer < 29; answer += 1) alone.answered(7);
    alone.broke(7);
    for (let answer = 0; answer < 29; answer += 1) alone.answered(7);
    expect(alone.has(7)).toBe(true);
    alone.answered(7);
    expect(alone.has(7)).toBe(false);
  });

  it('is forgotten with the application, and the others are not', () => {
    const alone = new Alone();
    for (const id of [7, 8]) alone.broke(id);
    alone.keepOnly(new Set([8, 9]));
    expect([7, 8, 9].map((id) => alone.has(id))).toEqual([false, true, false]);
  });
});

describe('queries of which no part is answered', () => {
  it('are divided far at first and at every fourth attempt, in another order each time, until one is answered', () => {
    const alone = new Alone();
    const seen: [boolean, number][] = [];
    for (let attempt = 0; attempt < 9; attempt += 1) {
      seen.push([alone.isThorough, alone.round]);
      alone.tried(0);
    }
    expect(seen.map(([isThorough]) => isThorough)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8].map((each) => each % 4 === 0));
    expect(seen.map(([, round]) => round)).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 2]);
    alone.tried(1);
    expect([alone.isThorough, alone.round]).toEqual([true, 0]);
  });
});
