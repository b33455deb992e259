import { expect, it } from 'vitest';
import { AccountHealth } from '../../src/api/accountHealth.ts';

it('an account counts as failing after three unanswered reads in a row, until a call is answered', () => {
  const health = new AccountHealth();
  const reads = (count: number): boolean[] =>
    Array.from({ length: count }, () => (health.recordUnansweredRead(), health.isFailing));
  expect(reads(2)).toEqual([false, false]);
  health.recordAnswer();
  expect(reads(4)).toEqual([false, false, true, true]);
  health.recordAnswer();
  expect(health.isFailing).toBe(false);
});

it('the failures of one key do not count for another key', () => {
  const health = new AccountHealth();
  for (let read = 0; read < 3; read += 1) health.recordUnansweredRead();
  health.reset();
  expect(health.isFailing).toBe(false);
});
