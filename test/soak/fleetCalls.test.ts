import { test } from 'vitest';
import { expectCalls } from '../e2e/support/fleetCalls.ts';

test('1,000 applications with 5 hosts each are fresh every minute in at most 60 calls, and at first in 90', () =>
  expectCalls({ applications: 1_000, hosts: 5, first: 90, steady: 60 }));
