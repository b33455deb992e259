import { test } from 'vitest';
import { expectCalls } from './support/fleetCalls.ts';

// A thousand applications: test/soak.
test('30 applications with 10 hosts each are fresh every minute in at most 10 calls, and at first in 12', () =>
  expectCalls({ applications: 30, hosts: 10, first: 12, steady: 10 }));
