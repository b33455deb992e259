import { expect, it } from 'vitest';
import { addressAttemptMs } from '../../../src/api/http/upstreamConnections.ts';

it.each([
  [1, 1_000],
  [5_000, 1_000],
  [10_000, 1_000],
  [15_555, 1_556],
  [30_000, 3_000],
  [300_000, 3_000],
])('each address of a host gets a tenth of %d ms, between 1 and 3 s', (requestTimeout, expected) => {
  expect(addressAttemptMs(requestTimeout)).toBe(expected);
});
