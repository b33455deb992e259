import { expect, test } from 'vitest';
import { skippedName } from './support/skipMark.ts';
import { summarizeSkips } from './support/skipReporter.ts';

test('skipped tests are counted by the reason that their suite names, and none goes uncounted', () => {
  const missing = skippedName('rules', 'promtool was not found\n(tried [PATH])');
  expect(missing).not.toContain('\n');
  const skipped = [
    { name: `${missing} > accepts the rules` },
    { name: `${missing} > holds every case` },
    { name: `${skippedName('units', 'systemd-analyze was not found')} > accepts the service` },
    { name: 'a suite > a test', note: 'this system lets everybody open every port' },
    { name: 'a suite that says nothing > a test' },
  ];
  expect(summarizeSkips(skipped)).toEqual([
    'skipped: 2 tests, promtool was not found (tried [PATH))',
    'skipped: 1 test, systemd-analyze was not found',
    'skipped: 1 test, this system lets everybody open every port',
    'skipped: 1 test, without a reason in their names',
  ]);
});
