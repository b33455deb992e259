import { expect, it } from 'vitest';
import { RequestLog } from '../../src/simulator/simulatorState.ts';

it('finds the busiest minute wherever it begins', () => {
  const log = new RequestLog();
  for (const elapsed of [0, 1, 2, 59_999, 60_000, 60_001, 200_000]) {
    const call = { method: 'GET', path: '/', query: '', kind: undefined, applicationId: undefined, accept: undefined };
    log.begin({ ...call, at: 0, elapsed, userAgent: undefined, keyHeader: undefined, keyValid: true })(200);
  }
  expect(log.busiest()).toBe(4);
  expect(log.busiest(3)).toBe(3);
  expect(log.count('other')).toBe(7);
});
